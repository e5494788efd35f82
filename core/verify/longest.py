"""Longest strand: every drafted token is tested against its own two laws, and the path with the
longest run of kept tokens wins. LOSSY.

The first level of the draft are roots drawn from the target's law before this round, and no root is
tested: the winner's root joins the text. Below, token x stays with probability min(1, p(x) / q(x))
of the laws at its parent; what its siblings took is not considered. Nothing kept: the first root
stays alone. No token of the target's own is drawn; the next roots come from p at the last kept node
if its path was kept to the end, else from norm((p - q)+) there.

Choosing the longest run prefers roots that are easier to continue, which bends the law of the text,
also at temperature 0. This is the rule of the released code of Lu et al., arXiv 2409.10644
(github.com/JackZeng0208/DynaSD).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import torch
from torch import Tensor

from core.dice import Dice
from core.host import float_rows, floats
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.trace import Check
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome, PlainTable, check_draft

_ROOTS = 1  # depth of the roots


class LongestStrand:
    """The rule; it has no settings."""

    name = "Longest strand"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.DISTINCT, Sampling.INDEPENDENT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> StrandTable:
        """Raise ValueError for a draft whose tokens below the roots have no law."""
        check_draft(self, draft)
        return StrandTable.of(draft, context.law(scores.logits))


@dataclass(frozen=True, slots=True)
class StrandTable(PlainTable):
    """`accept`, `target`, `drawn` per node: min(1, p(x) / q(x)), p(x), q(x); None for node 0 and
    the roots.
    """

    draft: Draft
    p: Tensor
    accept: list[float | None]
    target: list[float | None]
    drawn: list[float | None]

    @staticmethod
    def of(draft: Draft, p: Tensor) -> StrandTable:
        tree = draft.tree
        tested = _tested(tree)
        columns: list[list[float | None]] = [[None] * len(tree) for _ in range(3)]
        if tested and draft.q is not None:
            parents = [tree.parents[node] for node in tested]
            tokens = torch.tensor([tree.tokens[node] for node in tested], device=p.device)
            own = p[torch.tensor(parents, device=p.device), tokens]
            rows = torch.tensor([draft.rows[parent] for parent in parents], device=draft.q.device)
            offered = draft.q[rows, tokens.to(draft.q.device)].to(own)
            accept = torch.where(offered > 0, own / offered, 0.0).clamp(max=1)
            numbers = torch.stack([accept, own, offered]).double().cpu()  # the one transfer
            kept = [floats(numbers[0]), *float_rows(six_digits(numbers[1:].numpy()))]
            for column, values in zip(columns, kept, strict=True):
                for node, value in zip(tested, values, strict=True):
                    column[node] = value
        return StrandTable(draft, p, *columns)

    def walk(self, dice: Dice, position: int) -> Outcome:
        tree = self.draft.tree
        if len(tree) == 1:
            return self._without_draft(dice, position)
        checks = [self._test(node, dice.at("accept", position, node)) for node in _tested(tree)]
        path = _longest(tree, {check.node for check in checks if check.passed})
        return Outcome(path, None, "none", tuple(checks))

    def _without_draft(self, dice: Dice, position: int) -> Outcome:
        """Keep the law of the prompt for the first roots; where no room is left, draw from it."""
        if self.draft.stop is not None and self.draft.stop.reason == "prompt":
            return Outcome((), None, "none")
        final = dice.at("final", position).draw(self.p[:1])
        return Outcome((), int(final), "plain")

    def _test(self, node: int, coin: Dice) -> Check:
        accept = self.accept[node]
        assert accept is not None
        passed = coin.flip(accept)
        return Check(
            node=node,
            accept_probability=accept,
            u=coin.u,
            passed=passed,
            p=self.target[node],
            q=self.drawn[node],
            mass_before=1.0,
        )

    def final_law(self, node: int) -> Tensor:
        """Return the law (V,) of the next roots, once the walk ended at `node`."""
        tree, p = self.draft.tree, self.p[node]
        if tree.depths[node] <= _ROOTS or not tree.children(node) or self.draft.q is None:
            return p
        less = (p - self.draft.q[self.draft.rows[node]].to(p)).clamp(min=0)
        total = less.sum()
        return less / total if float(total) > 0 else p

    def reasons(self, outcome: Outcome) -> dict[int, str]:
        tree, passed = self.draft.tree, {c.node for c in outcome.checks if c.passed}
        found: dict[int, str] = {}
        for node in range(1, len(tree)):
            if node in outcome.path:
                found[node] = "longest_strand"
            elif tree.depths[node] == _ROOTS:
                found[node] = "other_root"
            elif node in passed:
                found[node] = "shorter_strand"
        return found


def _tested(tree: DraftTree) -> list[int]:
    return [node for node, depth in enumerate(tree.depths) if depth > _ROOTS]


def _longest(tree: DraftTree, passed: set[int]) -> tuple[int, ...]:
    """Return the root and the run of passed nodes of the best path; the first leaf wins a tie."""
    best = (tree.children(0)[0],)
    for leaf in (node for node in range(1, len(tree)) if not tree.children(node)):
        root, *below = tree.path(leaf)[1:]
        run = tuple(takewhile(passed.__contains__, below))
        if len(run) + 1 > len(best):
            best = (root, *run)
    return best


PARTS = (
    rule(
        "longest_strand",
        "Longest strand",
        "Test every token against its own two laws; the path with the longest run of kept tokens "
        "wins.",
        "Lu et al. 2024, arXiv 2409.10644",
        LongestStrand,
        lossless=False,
    ),
)
