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

from core.dice import Dice
from core.host import int_rows
from core.reduce import top_tokens
from core.shapes.base import Grown, Growth
from core.tree import Sampling

MAX_NODES = 256  # drafted in one round; more than any published tree


def node_count(widths: Sequence[int]) -> int:
    """Return how many nodes a tree of these widths drafts."""
    return sum(prod(widths[: level + 1]) for level in range(len(widths)))


@dataclass(frozen=True, slots=True)
class Levels:
    """`widths`: children of every node, level by level; each at least 1."""

    widths: tuple[int, ...]

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.DISTINCT

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        depth = grown.tree.depths[grown.frontier[-1]]
        if depth >= min(len(self.widths), grown.limit):
            return Growth()
        rows = [grown.rows[node] for node in grown.frontier]
        width = min(self.widths[depth], grown.q.shape[1])
        if greedy:
            drawn = top_tokens(grown.logits[rows], width)
        else:
            drawn = dice.at(depth).draw(grown.q[rows], width, replace=False)
        pairs = [
            (parent, token)
            for parent, tokens in zip(grown.frontier, int_rows(drawn), strict=True)
            for token in tokens
            if token >= 0  # the support can be smaller than the width
        ]
        last = depth + 1 >= min(len(self.widths), grown.limit)
        return Growth(
            parents=[parent for parent, _ in pairs],
            tokens=[token for _, token in pairs],
            expand=() if last else range(len(pairs)),
        )
