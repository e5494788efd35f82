"""The device's half of recording: whole laws (N, V) in, a few small tensors out, brought to the
host in one transfer.

Knows nothing of the trace's blocks; `record.py` builds them from these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.host import Floats
from core.laws import RAW, Law, widen
from core.models.base import Scores
from core.trace import FEW, TOP
from core.tree import Draft
from core.verify.base import Context, Outcome, Table

_BLOCK = 64
_EXACT_POWER = 22  # 10**22 is the largest power of ten that a float holds exactly

_SMALL = 2e-6  # masses have six digits, so that their sums differ from one by about this

_NEVER = -1e30  # a logit that stands for probability 0, without being infinite

Named = dict[str, Tensor]
Fetched = dict[str, Floats]


def reduce_round(
    draft: Draft, scores: Scores, table: Table, outcome: Outcome, context: Context, eos: int | None
) -> Named:
    """Reduce one round. N nodes, M rows of q, K kept tokens per law, E laws of what ended a node.

    `target` (5, N): entropy, h3, p_max, top2_gap, p_eos of the raw law; `own_p` (3, N - 1): p, raw
    p and raw rank of each node's token given its parent; `tokens` (N, K); `p` (2, N, K): law in use
    and raw at these tokens. Where the drafter has laws: `draft` (5, M): entropy, overlap, KL(q||p),
    KL(p||q), rank in q of the target's favourite; `own_q` (2, N - 1); `q` (2, M, K). `end_tokens`,
    `end_mass` (E, TOP): residual laws of the rejected nodes in order, then the law of the final
    token.
    """
    target = _Side.of(scores.logits, table.p, context.law)
    best = target.best
    aside = _not_visited(draft, outcome)
    tokens = torch.cat([_fewer(best, aside), _offered(draft, outcome, best)], dim=1)
    out: Named = {"target": _target(target, eos)}
    parents = torch.tensor(draft.tree.parents[1:], dtype=torch.long, device=best.device)
    own = torch.tensor(draft.tree.tokens[1:], dtype=torch.long, device=best.device)
    rows = target.raw[:-1] if draft.tree.is_chain else target.raw[parents]  # a chain needs no copy
    out["own_p"] = torch.stack([*target.at(parents, own), _ranks(rows, own)])
    if draft.q is not None and draft.logits is not None:
        device = best.device  # a second model may live elsewhere
        law = draft.law or context.law
        named = draft.logits.to(device).clamp(min=_NEVER)  # a trimmed head names a part only
        drafter = _Side.of(named, draft.q.to(device), law)
        order = draft.scored
        listed = _fewer(drafter.best, [row for row, node in enumerate(order) if node in aside])
        tokens = _with_favourites(tokens, listed, order)
        there = [draft.row_of(node) for node in range(1, len(draft.tree))]
        same = context.law if law == context.law else None
        out["draft"] = _compare(drafter, target.rows(order), tokens[order, 0], same)
        out["own_q"] = torch.stack(
            drafter.at(torch.tensor(there, dtype=torch.long, device=best.device), own)
        )
        out["q"] = torch.stack(drafter.gather(tokens[order]))
    out["tokens"] = tokens
    out["p"] = torch.stack(target.gather(tokens))
    ends = _ends(table, outcome)
    if ends:
        stacked = torch.stack(list(ends))
        out["end_tokens"] = top_tokens(stacked, TOP)
        out["end_mass"] = stacked.gather(1, out["end_tokens"])
    return out


def top_tokens(rows: Tensor, count: int) -> Tensor:
    """Return the ids (N, count) of the largest entries of each row (N, V), largest first.

    The `count` largest lie in the `count` blocks with the largest maxima: one cheap pass instead of
    a selection over V.
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


def fetch(tensors: Named) -> Fetched:
    """Bring all tensors to the host in one transfer, rounded to six significant digits."""
    first = next(iter(tensors.values()))
    wide = torch.float32 if first.device.type == "mps" else torch.float64
    flat = torch.cat([tensor.reshape(-1).to(wide) for tensor in tensors.values()]).cpu().double()
    numbers, found, begin = six_digits(flat.numpy()), Fetched(), 0
    for name, tensor in tensors.items():
        end = begin + tensor.numel()
        found[name] = numbers[begin:end].reshape(tensor.shape)
        begin = end
    return found


def first_places(tokens: Floats) -> NDArray[np.bool_]:
    """Mark (N, K) where a token of a row (N, K) stands for the first time."""
    alike = tokens[:, :, None] == tokens[:, None, :]
    return ~np.tril(alike, -1).any(axis=2)


def rest_of(mass: Floats) -> Floats:
    """Return what `mass` (..., K) leaves of one; differences below the stored precision are 0."""
    rest = 1 - mass.sum(axis=-1)
    return np.where(rest > _SMALL, rest.round(6), 0.0)


def six_digits(values: Floats) -> Floats:
    """Round to six significant digits; anything below 5e-23 becomes 0."""
    finite = np.where(np.isfinite(values), values, 0.0)
    places = 5 - np.floor(np.log10(np.abs(finite).clip(min=1e-30)))
    scale = 10.0 ** places.clip(max=_EXACT_POWER)
    return np.where(np.isfinite(values), (finite * scale).round() / scale, values)


@dataclass(frozen=True, slots=True)
class _Side:
    """Laws of one model at R nodes: logits, the law in use and the raw law (R, V), `total` (R, 1)
    log of the sum of exp(logits), `best` (R, TOP) the likeliest tokens.
    """

    raw: Tensor
    used: Tensor
    law: Tensor
    total: Tensor
    best: Tensor

    @staticmethod
    def of(logits: Tensor, used: Tensor, law: Law) -> _Side:
        raw = widen(logits)
        if raw.dtype == torch.float64:  # a toy's table, which can hold zeros: 0 x log 0 is 0
            raw = raw.clamp(min=_NEVER)
        best, laws = top_tokens(raw, TOP), used if law == RAW else raw.softmax(dim=1)
        first = best[:, :1]
        return _Side(raw, used, laws, raw.gather(1, first) - laws.gather(1, first).log(), best)

    def rows(self, nodes: Sequence[int]) -> _Side:
        if list(nodes) == list(range(len(nodes))):
            end = len(nodes)
            return _Side(*(part[:end] for part in self._parts()))
        index = torch.tensor(list(nodes), device=self.raw.device)
        return _Side(*(part[index] for part in self._parts()))

    def _parts(self) -> tuple[Tensor, ...]:
        return self.raw, self.used, self.law, self.total, self.best

    def entropy(self) -> Tensor:
        """Return the entropy (R,) of the raw law in nats."""
        return self.total[:, 0] - _dot(self.law, self.raw)

    def at(self, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        return self.used[rows, tokens], self.law[rows, tokens]

    def gather(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        return self.used.gather(1, tokens), self.law.gather(1, tokens)


def _target(target: _Side, eos: int | None) -> Tensor:
    top = target.raw.gather(1, target.best[:, :3])
    leading = (top - target.total).exp()
    gap = top[:, 0] - top[:, 1] if top.shape[1] > 1 else torch.full_like(top[:, 0], torch.inf)
    ends = target.law[:, eos] if eos is not None else torch.full_like(gap, torch.nan)
    h3 = -torch.xlogy(leading, leading).sum(dim=1)
    return torch.stack([target.entropy(), h3, leading[:, 0], gap, ends])


def _not_visited(draft: Draft, outcome: Outcome) -> list[int]:
    """Return the nodes at which nothing was decided: no law there says why a token stayed."""
    parents = draft.tree.parents
    visited = {0, *outcome.path, *(parents[check.node] for check in outcome.checks)}
    return [node for node in range(len(parents)) if node not in visited]


def _fewer(best: Tensor, rows: Sequence[int]) -> Tensor:
    """Return `best` (N, TOP) with FEW tokens in some rows: the first stands for those left out."""
    if not rows or best.shape[1] <= FEW:
        return best
    listed = best.clone()
    listed[rows, FEW:] = best[rows, :1]
    return listed


def _with_favourites(tokens: Tensor, mine: Tensor, order: Sequence[int]) -> Tensor:
    """Append the drafter's favourites `mine` (M, TOP) to the kept tokens (N, K) of the nodes in
    `order`.
    """
    more = tokens[:, :1].expand(-1, mine.shape[1]).clone()
    more[list(order)] = mine
    return torch.cat([tokens, more], dim=1)


def _compare(drafter: _Side, target: _Side, favourite: Tensor, law: Law | None) -> Tensor:
    """Return (5, M): entropy of the raw q, overlap, KL(q||p), KL(p||q), rank in raw q of the
    target's favourite. `law` is None where both sides have laws of their own.
    """
    p, q = target.used, drafter.used
    kl_qp, kl_pq = _divergences(drafter, target, law)
    overlap = torch.minimum(p, q).sum(dim=1)
    return torch.stack([drafter.entropy(), overlap, kl_qp, kl_pq, _ranks(drafter.raw, favourite)])


def _divergences(drafter: _Side, target: _Side, law: Law | None) -> tuple[Tensor, Tensor]:
    """Return KL(q||p) and KL(p||q) (M,) of the laws in use; infinite without common support."""
    p, q = target.used, drafter.used
    if law is not None and law.is_greedy:
        apart = torch.where(p.argmax(dim=1) == q.argmax(dim=1), 0.0, torch.inf)
        return apart, apart
    if law is None or law.is_filtered:
        log_p, log_q = p.log(), q.log()
        return (
            torch.where(q > 0, q * (log_q - log_p), 0.0).sum(dim=1),
            torch.where(p > 0, p * (log_p - log_q), 0.0).sum(dim=1),
        )
    # log q - log p = (logits of q - logits of p) / T + a constant per row
    apart = (drafter.raw - target.raw) / law.temperature
    shift = _log_total(target, law) - _log_total(drafter, law)
    both = torch.stack([_dot(q, apart) + shift, -_dot(p, apart) - shift])
    kl_qp, kl_pq = torch.where(both > -_NEVER / 1e6, torch.inf, both)
    return kl_qp, kl_pq


def _log_total(side: _Side, law: Law) -> Tensor:
    """Return the log of the sum (R,) of the tempered law, read off at its largest entry."""
    top = side.best[:, :1]
    return (side.raw.gather(1, top) / law.temperature - side.used.gather(1, top).log())[:, 0]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Return the products (R,) of the rows of two (R, V), without an (R, V) in between."""
    return cast(Tensor, torch.linalg.vecdot(a, b))


def _ranks(rows: Tensor, tokens: Tensor) -> Tensor:
    """Return (R,): 1 + how many entries of each row (R, V) are larger than that of its token."""
    above = (rows > rows.gather(1, tokens[:, None])).view(torch.uint8)
    return 1 + above.sum(dim=1, dtype=torch.int32).to(rows.dtype)


def _offered(draft: Draft, outcome: Outcome, best: Tensor) -> Tensor:
    """Return (N, C): the tokens offered at each node, then the final one, padded with the target's
    favourite.
    """
    tree = draft.tree
    rows = [[tree.tokens[child] for child in tree.children(node)] for node in range(len(tree))]
    if outcome.final is not None:
        rows[outcome.end].append(outcome.final)
    width = max(map(len, rows))
    filled = [row + [-1] * (width - len(row)) for row in rows]
    padded = torch.tensor(filled, dtype=torch.long).view(len(tree), width).to(best.device)
    return torch.where(padded < 0, best[:, :1], padded)


def _ends(table: Table, outcome: Outcome) -> Sequence[Tensor]:
    """Return the laws (V,) that rejections left, in the order of the checks, then the law of the
    final token.
    """
    laws = [remains.law for remains in table.residuals(outcome)]
    return laws if outcome.final is None else [*laws, table.final_law(outcome.end)]
