"""Independent drafts, merged: K whole sequences are drawn from the drafter, and what they have in
common is one path of a tree.

Equal beginnings are scored once. A node through which c drafts run has c children drawn from one
law with replacement, in the order of the drafts: a token that two drafts share is one node, tried
twice (`DraftTree.offers`). At temperature 0 all drafts are the same one.

SpecTr (Sun et al., arXiv 2310.15141) drafts so; its batch of sequences is the same set of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.dice import Dice
from core.host import int_rows
from core.parts import shape
from core.reduce import top_tokens
from core.shapes.base import Grower, Grown, Growth, Steady, Whole, once_each
from core.tree import Sampling

LENGTH = 4  # of the drafts, where only a budget is given


@dataclass(frozen=True, slots=True)
class Sequences(Steady):
    """`drafts` sequences of `length` tokens."""

    drafts: int
    length: int

    @property
    def branches(self) -> bool:
        return self.drafts > 1

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.INDEPENDENT

    def begin(self, greedy: bool) -> Grower:
        return _Sequences(1 if greedy else self.drafts, self.length, greedy)


@dataclass(frozen=True, slots=True)
class _Sequences(Whole):
    drafts: int
    length: int
    greedy: bool

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        depth, end = grown.depth, min(self.length, grown.limit)
        if depth >= end:
            return Growth()
        chance = dice.at(depth)
        drawn = [(node, self._tokens(grown, node, chance.at(node))) for node in grown.frontier]
        first = len(grown.tree)
        parents, tokens, offers = once_each(drawn, first)
        new = range(first, first + len(tokens))
        return Growth(parents, tokens, offers, new if depth + 1 < end else ())

    def _tokens(self, grown: Grown, node: int, dice: Dice) -> Sequence[int]:
        """Return the next token of every draft that runs through `node`."""
        row = grown.rows[node]
        if self.greedy:
            return int_rows(top_tokens(grown.logits[row : row + 1], 1))[0]
        drafts = grown.tree.counts[node] if node else self.drafts
        return int_rows(dice.draw(grown.q[row : row + 1], drafts))[0]


def within(budget: int) -> Sequences:
    """Return drafts of `LENGTH` tokens, as many as fit into `budget` nodes even if none merge."""
    length = min(LENGTH, budget)
    return Sequences(max(1, budget // length), length)


PARTS = (
    shape(
        "sequences",
        "Independent drafts",
        "Draw K whole drafts from the drafter and merge what they have in common.",
        "Sun et al. 2023, arXiv 2310.15141",
        within,
    ),
)
