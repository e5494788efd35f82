"""The device's half of recording: whole laws (N, V) in, a few small tensors out, brought to the host in one transfer.

Knows nothing of the trace's blocks; `record.py` builds them from these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.laws import RAW, widen
from core.models.base import Scores
from core.trace import TOP
from core.tree import Draft
from core.verify.base import Context, Outcome, Table

_BLOCK = 64
_EXACT_POWER = 22  # 10**22 is the largest power of ten that a float holds exactly

Named = dict[str, Tensor]


def reduce_round(
    draft: Draft, scores: Scores, table: Table, outcome: Outcome, context: Context, eos: int | None
) -> Named:
    """Reduce one round. N nodes, M rows of q, K kept tokens per law, E laws of what ended a node.

    `target` (5, N): entropy, h3, p_max, top2_gap, p_eos of the raw law; `own_p` (3, N - 1): p, raw p and raw rank of
    each node's token given its parent; `tokens` (N, K); `p` (2, N, K): law in use and raw at these tokens. Where the
    drafter has laws: `draft` (5, M): entropy, overlap, KL(q||p), KL(p||q), rank in q of the target's favourite;
    `own_q` (2, N - 1); `q` (2, M, K). `end_tokens`, `end_mass` (E, TOP): residual laws of the rejected nodes in order,
    then the law of the final token.
    """
    raw = widen(scores.logits)
    total = raw.logsumexp(dim=1, keepdim=True)
    law = table.p if context.law == RAW else (raw - total).exp()
    best = top_tokens(raw, TOP)
    tokens = torch.cat([best, _offered(draft, outcome, best)], dim=1)
    out: Named = {"target": _target(raw, total, law, best, eos)}
    parents = torch.tensor(draft.tree.parents[1:], dtype=torch.long, device=raw.device)
    own = torch.tensor(draft.tree.tokens[1:], dtype=torch.long, device=raw.device)
    logits = raw[parents, own]
    ranks = 1 + (raw[parents] > logits[:, None]).sum(dim=1)
    out["own_p"] = torch.stack([table.p[parents, own], law[parents, own], ranks.to(raw.dtype)])
    if draft.q is not None and draft.logits is not None:
        tokens = _draft_side(out, draft, draft.q, widen(draft.logits), table.p, tokens)
    out["tokens"] = tokens
    out["p"] = torch.stack([table.p.gather(1, tokens), law.gather(1, tokens)])
    ends = _ends(table, outcome)
    if ends:
        stacked = torch.stack(ends)
        out["end_tokens"] = top_tokens(stacked, TOP)
        out["end_mass"] = stacked.gather(1, out["end_tokens"])
    return out


def top_tokens(rows: Tensor, count: int) -> Tensor:
    """Return the ids (N, count) of the largest entries of each row (N, V), largest first.

    The `count` largest lie in the `count` blocks with the largest maxima: one cheap pass instead of a selection over V.
    """
    size = rows.shape[1]
    count = min(count, size)
    blocks = size // _BLOCK
    if blocks <= 2 * count:
        return rows.topk(count, dim=1).indices
    whole = blocks * _BLOCK
    best = rows[:, :whole].view(-1, blocks, _BLOCK).amax(dim=2).topk(count, dim=1).indices
    ids = (best[:, :, None] * _BLOCK + torch.arange(_BLOCK, device=rows.device)).flatten(1)
    tail = torch.arange(whole, size, device=rows.device).expand(rows.shape[0], -1)
    ids = torch.cat([ids, tail], dim=1)
    return ids.gather(1, rows.gather(1, ids).topk(count, dim=1).indices)


def fetch(tensors: Named) -> Named:
    """Bring all tensors to the host in one transfer, rounded to six significant digits."""
    first = next(iter(tensors.values()))
    wide = torch.float32 if first.device.type == "mps" else torch.float64
    flat = torch.cat([tensor.reshape(-1).to(wide) for tensor in tensors.values()]).cpu().double()
    parts = six_digits(flat).split([tensor.numel() for tensor in tensors.values()])
    return {name: part.view(t.shape) for (name, t), part in zip(tensors.items(), parts, strict=True)}


def _target(raw: Tensor, total: Tensor, law: Tensor, best: Tensor, eos: int | None) -> Tensor:
    top = raw.gather(1, best[:, :3])
    leading = (top - total).exp()
    gap = top[:, 0] - top[:, 1] if top.shape[1] > 1 else torch.full_like(total[:, 0], torch.inf)
    entropy = total[:, 0] - (law * raw).sum(dim=1)
    ends = law[:, eos] if eos is not None else torch.full_like(gap, torch.nan)
    return torch.stack([entropy, -torch.xlogy(leading, leading).sum(dim=1), leading[:, 0], gap, ends])


def _draft_side(
    out: Named, draft: Draft, q: Tensor, raw: Tensor, p: Tensor, tokens: Tensor
) -> Tensor:
    """Add the drafter's numbers to `out`; return the kept tokens with the drafter's favourites among them."""
    order = sorted(draft.rows, key=draft.rows.__getitem__)  # node of each row
    total = raw.logsumexp(dim=1, keepdim=True)
    mine = top_tokens(raw, TOP)
    more = tokens[:, :1].expand(-1, mine.shape[1]).clone()
    more[order] = mine
    tokens = torch.cat([tokens, more], dim=1)
    favourite = tokens[order, 0]
    out["draft"] = _compare(raw, total, q, p[order], favourite)
    out["q"] = torch.stack([q.gather(1, tokens[order]), (raw.gather(1, tokens[order]) - total).exp()])
    rows = torch.tensor([draft.rows[parent] for parent in draft.tree.parents[1:]], dtype=torch.long)
    own = torch.tensor(draft.tree.tokens[1:], dtype=torch.long, device=raw.device)
    rows = rows.to(raw.device)
    out["own_q"] = torch.stack([q[rows, own], (raw[rows, own] - total[rows, 0]).exp()])
    return tokens


def _compare(raw: Tensor, total: Tensor, q: Tensor, p: Tensor, favourite: Tensor) -> Tensor:
    """Return (5, M): entropy of the raw q, overlap, KL(q||p), KL(p||q), rank in raw q of the target's favourite."""
    entropy = total[:, 0] - ((raw - total).exp() * raw).sum(dim=1)
    log_p, log_q = p.log(), q.log()
    kl_qp = torch.where(q > 0, q * (log_q - log_p), 0.0).sum(dim=1)
    kl_pq = torch.where(p > 0, p * (log_p - log_q), 0.0).sum(dim=1)
    rank = 1 + (raw > raw.gather(1, favourite[:, None])).sum(dim=1)
    return torch.stack([entropy, torch.minimum(p, q).sum(dim=1), kl_qp, kl_pq, rank.to(raw.dtype)])


def _offered(draft: Draft, outcome: Outcome, best: Tensor) -> Tensor:
    """Return (N, C): the tokens offered at each node, then the final one, padded with the target's favourite."""
    tree = draft.tree
    rows = [[tree.tokens[child] for child in tree.children(node)] for node in range(len(tree))]
    if outcome.final is not None:
        rows[outcome.end].append(outcome.final)
    width = max(map(len, rows))
    filled = [row + [-1] * (width - len(row)) for row in rows]
    padded = torch.tensor(filled, dtype=torch.long).view(len(tree), width).to(best.device)
    return torch.where(padded < 0, best[:, :1], padded)


def _ends(table: Table, outcome: Outcome) -> Sequence[Tensor]:
    """Return the laws (V,) that rejections left, in the order of the checks, then the law of the final token."""
    found = [table.residual(check.node) for check in outcome.checks if not check.passed]
    laws = [law for _, law in filter(None, found)]
    return laws if outcome.final is None else [*laws, table.final_law(outcome.end)]


def six_digits(values: Tensor) -> Tensor:
    """Round to six significant digits; anything below 5e-23 becomes 0."""
    finite = torch.where(values.isfinite(), values, 0.0)
    places = (5 - finite.abs().clamp(min=1e-30).log10().floor()).clamp(max=_EXACT_POWER)
    scale = torch.tensor(10.0, dtype=torch.float64) ** places
    return torch.where(values.isfinite(), (finite * scale).round() / scale, values)
