"""Trees with a fixed number of children per level: (1, 1, 1) is a chain of three, (4, 2, 2) has 4 +
8 + 16 nodes.

Above temperature 0 children are drawn without replacement, in the order in which they are to be
tried (RSD-C, Jeon et al., arXiv 2402.14160; one child per level is ordinary speculative sampling).
At temperature 0 that law's limit are the likeliest tokens in order, which are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from torch import Tensor

from core.dice import Dice
from core.host import int_rows
from core.reduce import top_tokens
from core.shapes.base import Grower, Grown, Growth, Steady, Whole, once_each
from core.tree import Sampling

MAX_NODES = 256  # drafted in one round; more than any published tree


def node_count(widths: Sequence[int]) -> int:
    """Return how many nodes a tree of these widths drafts."""
    return sum(prod(widths[: level + 1]) for level in range(len(widths)))


@dataclass(frozen=True, slots=True)
class Levels(Steady):
    """`widths`: children of every node, level by level; each at least 1.

    `kind`: how children come about above temperature 0. What is drawn twice with replacement is one
    node (`DraftTree.offers`), and grows children once.
    """

    widths: tuple[int, ...]
    kind: Sampling = Sampling.DISTINCT

    @property
    def branches(self) -> bool:
        return any(width > 1 for width in self.widths)

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else self.kind

    def begin(self, greedy: bool) -> Grower:
        return _Levels(self.widths, self.sampling(greedy))


@dataclass(frozen=True, slots=True)
class _Levels(Whole):
    widths: tuple[int, ...]
    kind: Sampling

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        depth, end = grown.depth, min(len(self.widths), grown.limit)
        if depth >= end:
            return Growth()
        rows = [grown.rows[node] for node in grown.frontier]
        tokens = int_rows(self._children(grown, rows, self.widths[depth], dice.at(depth)))
        first = len(grown.tree)
        drawn = list(zip(grown.frontier, tokens, strict=True))
        parents, merged, offers = once_each(drawn, first)
        new = range(first, first + len(merged))
        return Growth(parents, merged, offers, new if depth + 1 < end else ())

    def _children(self, grown: Grown, rows: list[int], width: int, dice: Dice) -> Tensor:
        """Return the children (R, width) of the laws `rows`; -1 where the support is used up."""
        if self.kind is Sampling.DETERMINISTIC:
            return top_tokens(grown.logits[rows], width)
        if self.kind is Sampling.INDEPENDENT:
            return dice.draw(grown.q[rows], width)
        return dice.draw(grown.q[rows], min(width, grown.q.shape[1]), replace=False)
