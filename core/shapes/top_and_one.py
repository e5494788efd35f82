"""Greedy draft sampling: the likeliest tokens without chance, and one more drawn from all others.

Hu et al., arXiv 2502.18779. Of `count` children the first `count` - 1 are the likeliest tokens of
q, in order; the last is drawn from q without them. That is how the rule tells them apart
(`core.verify.greedy_draft`). Where the likeliest are all that q can draw, none is drawn and the
children are fixed. At temperature 0, the limit, the last is the next likeliest and fixed as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.host import int_rows
from core.parts import shape
from core.reduce import top_tokens
from core.shapes.base import Finished, Grower, Grown, Growth, Steady, once_each
from core.shapes.levels import node_count
from core.tree import Sampling

COUNT = 3  # drafts in the paper's experiments


@dataclass(frozen=True, slots=True)
class TopAndOne(Steady):
    """`count` children per node, over `depth` levels; both at least 1."""

    count: int
    depth: int

    @property
    def branches(self) -> bool:
        return self.count > 1

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.TOP_AND_ONE

    def begin(self, greedy: bool) -> Grower:
        return _TopAndOne(self, self.sampling(greedy))


@dataclass(frozen=True, slots=True)
class _TopAndOne:
    shape: TopAndOne
    kind: Sampling  # of this round

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        depth, end = grown.depth, min(self.shape.depth, grown.limit)
        if depth >= end:
            return Growth()
        rows = [grown.rows[node] for node in grown.frontier]
        tokens = int_rows(self._children(grown, rows, dice.at(depth)))
        first = len(grown.tree)
        chosen = list(zip(grown.frontier, tokens, strict=True))
        parents, merged, _ = once_each(chosen, first)
        new = range(first, first + len(merged))
        return Growth(parents, merged, expand=new if depth + 1 < end else ())

    def finish(self, grown: Grown) -> Finished:
        if self.kind is Sampling.DETERMINISTIC:
            return Finished()
        tree, fixed = grown.tree, Sampling.DETERMINISTIC
        children = [len(tree.children(node)) for node in range(len(tree))]
        return Finished(
            mixed={n: fixed for n, made in enumerate(children) if 0 < made < self.shape.count}
        )

    def _children(self, grown: Grown, rows: list[int], dice: Dice) -> Tensor:
        """Return the children (R, count) of the laws `rows`; -1 where nothing is left to draw."""
        logits, count = grown.logits[rows], self.shape.count
        if self.kind is Sampling.DETERMINISTIC:
            return top_tokens(logits, count)
        if count == 1:
            return dice.draw(grown.q[rows])
        top = top_tokens(logits, count - 1)
        return torch.cat([top, dice.draw(grown.q[rows].scatter(1, top, 0.0))], dim=1)


def within(budget: int) -> TopAndOne:
    """Return the deepest tree of `COUNT` children per node that fits a budget of nodes."""
    count, depth = min(COUNT, budget), 1
    while node_count((count,) * (depth + 1)) <= budget:
        depth += 1
    return TopAndOne(count, depth)


PARTS = (
    shape(
        "top_and_one",
        "Likeliest and one drawn",
        "The likeliest tokens without chance, and one more drawn from all others.",
        "Hu et al. 2025",
        within,
    ),
)
