"""Block verification: one draft is decided as a whole, on the ratio of its joint laws.

With w_i = min(1, w_(i-1) p(x_i) / q(x_i)), a token that the target likes more than the drafter pays
for another that it likes less. Every token has a coin of its own, and the last coin that passes
decides how much stays, whatever the coins before it said. The token after the last one kept comes
from norm((w p - q)+). On average this keeps at least as much as token by token; the draft and its
cost are the same.

Sun et al.: Block Verification Accelerates Speculative Decoding, ICLR 2025, arXiv 2403.10444. Knows
a single path only. Where a token was fixed, q is one-hot. At temperature 0 it is greedy matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.extras import BlockExtras
from core.host import float_rows
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.trace import Check, Origin
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, PlainTable, check_draft


class BlockVerification:
    """The rule; it has no settings."""

    name = "Block verification"
    chain_only = True
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> BlockTable:
        """Raise ValueError for a draft that branches, or whose laws are missing."""
        check_draft(self, draft)
        p = context.law(scores.logits)
        path = _path(draft)
        tokens = torch.tensor([draft.tree.tokens[n] for n in path[1:]], dtype=torch.long)
        x = tokens[:, None].to(p.device)
        q = _draft_laws(draft, path, x, p)
        numbers = _ratios(_rows(p, path[:-1]), q, x).cpu()
        joint, left = float_rows(numbers[2:])
        given, offered = float_rows(six_digits(numbers[:2].double().numpy()))
        fixed = _fixed(draft, path)
        return BlockTable(
            draft=draft,
            path=path,
            p=p,
            q=q,
            given=given,
            offered=[None if f else law for f, law in zip(fixed, offered, strict=True)],
            joint=joint,
            left=left,
            stays=[*map(_chance, joint[:-1], left[:-1]), *joint[-1:]],
            greedy=context.law.is_greedy,
        )


@dataclass(frozen=True, slots=True)
class BlockTable(PlainTable):
    """A draft of G tokens, at the nodes `path[1:]`. Columns (G,): p(x), q(x) (None where fixed),
    w `joint`, S `left` (mass of (w p - q)+ after the token, 0 after the last), h `stays`.
    """

    draft: Draft
    path: Sequence[int]
    p: Tensor
    q: Tensor  # (G, V)
    given: Sequence[float]
    offered: Sequence[float | None]
    joint: Sequence[float]
    left: Sequence[float]
    stays: Sequence[float]
    greedy: bool

    @property
    def drawn(self) -> Sequence[float | None]:
        offered = dict(zip(self.path[1:], self.offered, strict=True))
        return [offered.get(node) for node in range(len(self.draft.tree))]

    def walk(self, dice: Dice, position: int) -> Outcome:
        checks = self._throw(dice.at("accept", position))
        kept = max((i for i, check in enumerate(checks, start=1) if check.passed), default=0)
        law = self.final_law(self.path[kept])
        final = int(dice.at("final", position + kept).draw(law[None]))
        return Outcome(tuple(self.path[1 : kept + 1]), final, self._origin(kept), tuple(checks))

    def final_law(self, node: int) -> Tensor:
        kept, p = self.path.index(node), self.p[node]
        if kept == len(self.stays):
            return p
        less = ((self.joint[kept - 1] if kept else 1.0) * p - self.q[kept]).clamp(min=0)
        left = less.sum()
        # nothing left: that more stays was certain up to rounding
        return less / left if float(left) > 0 else p

    def reasons(self, outcome: Outcome) -> dict[int, str]:
        if self.greedy:
            return {}
        kept = len(outcome.path)
        failed = ["later_stayed" if place < kept else "u>=h" for place in range(len(self.stays))]
        return {
            check.node: "u<h" if check.passed else failed[place]
            for place, check in enumerate(outcome.checks)
        }

    def extras(self, outcome: Outcome) -> tuple[BlockExtras, ...]:
        if self.greedy or not self.stays:
            return ()
        pairs = zip(self.given, self.offered, strict=True)
        ratios = [given if law is None else given / law if law else 0.0 for given, law in pairs]
        coins = zip(outcome.checks, ratios, strict=False)
        alone = [check.u < ratio for check, ratio in coins]
        columns = torch.tensor([ratios, self.joint, self.left, self.stays], dtype=torch.float64)
        ratio, joint, left, stays = float_rows(six_digits(columns.numpy()))
        return (
            BlockExtras(
                node=list(self.path[1:]),
                ratio=ratio,
                joint=joint,
                left=left,
                stays=stays,
                kept=len(outcome.path),
                kept_alone=[*alone, False].index(False),
            ),
        )

    def _throw(self, dice: Dice) -> list[Check]:
        """Throw every token's coin, up to the first w of 0: no coin can pass from there on."""
        checks: list[Check] = []
        for place, (node, chance) in enumerate(zip(self.path[1:], self.stays, strict=True)):
            # a place in this round: the next round begins at a position that this one has decided
            coin = dice.at(place)
            passed = coin.flip(chance)
            checks.append(
                Check(
                    node=node,
                    accept_probability=chance,
                    u=coin.u,
                    passed=passed,
                    p=self.given[place],
                    q=self.offered[place],
                    mass_before=None,
                )
            )
            if not self.joint[place]:
                break
        return checks

    def _origin(self, kept: int) -> Origin:
        if not self.stays:
            return "plain"
        return "bonus" if kept == len(self.stays) else "correction"


def _chance(joint: float, left: float) -> float:
    """Return h = S / (S + 1 - w); 0/0, where w is 1 and all of it is covered, means it stays."""
    total = left + (1 - joint)
    return left / total if total > 0 else 1.0


def _path(draft: Draft) -> list[int]:
    """Return the nodes from the root to the end of the draft."""
    path = [0]
    while children := draft.tree.children(path[-1]):
        path += children
    return path


def _fixed(draft: Draft, path: Sequence[int]) -> list[bool]:
    """Return per token of the path whether it was chosen without chance."""
    return [draft.sampling_at(node) is Sampling.DETERMINISTIC for node in path[:-1]]


def _draft_laws(draft: Draft, path: Sequence[int], x: Tensor, p: Tensor) -> Tensor:
    """Return the laws (G, V) that the tokens `x` (G, 1) came from, one-hot where fixed."""
    fixed = _fixed(draft, path)
    laws = None
    if draft.q is not None and not all(fixed):
        laws = _rows(draft.q, [draft.rows[node] for node in path[:-1]]).to(p)
        if not any(fixed):
            return laws
    one_hot = p.new_zeros(len(x), p.shape[1]).scatter(1, x, 1.0)
    if laws is None:
        return one_hot
    return torch.where(torch.tensor(fixed, device=p.device)[:, None], one_hot, laws)


def _rows(laws: Tensor, rows: Sequence[int]) -> Tensor:
    """Return some rows; those that follow each other are not copied."""
    first = rows[0] if rows else 0
    chain = list(rows) == list(range(first, first + len(rows)))
    return laws[first : first + len(rows)] if chain else laws[list(rows)]


def _ratios(p: Tensor, q: Tensor, x: Tensor) -> Tensor:
    """Return (4, G) for laws (G, V) and tokens (G, 1): p(x), q(x), w, and S, 0 for the last."""
    given, offered = p.gather(1, x)[:, 0], q.gather(1, x)[:, 0]
    ratio = torch.where(offered > 0, given / offered, 0.0)
    joint, left = torch.empty_like(ratio), torch.zeros_like(ratio)
    paid = ratio.new_ones(())
    for place in range(len(ratio)):
        paid = torch.where(paid > 0, paid * ratio[place], paid).clamp(max=1)  # ratio can be inf
        joint[place] = paid
    left[:-1] = (joint[:-1, None] * p[1:] - q[1:]).clamp(min=0).sum(dim=1)
    return torch.stack([given, offered, joint, left])


PARTS = (
    rule(
        "block",
        "Block verification",
        "Decide a whole draft on its joint ratio: a token that the target likes more pays for one "
        "that it likes less.",
        "Sun et al. 2024, arXiv 2403.10444",
        BlockVerification,
    ),
)
