"""Shapes of drafts for tests: children drawn with and without replacement, the likeliest, any tree.

Written apart from the shapes that the methods use, so that the two can disagree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.shapes.base import Grower, Grown, Growth, Steady, Whole
from core.tree import DraftTree, Sampling


class Plain(Steady, ABC):
    """Base of policies that are one function: `grow(grown, dice, greedy)`."""

    branches = True

    def begin(self, greedy: bool) -> Grower:
        return Asking(self, greedy)

    @abstractmethod
    def sampling(self, greedy: bool) -> Sampling:
        """Say how children come about."""

    @abstractmethod
    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        """Return the next level; asked anew after every scoring."""


@dataclass(frozen=True)
class Asking(Whole):
    """Asks a policy anew at each level."""

    policy: Plain
    greedy: bool

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        return self.policy.grow(grown, dice, self.greedy)


@dataclass(frozen=True)
class Replaced(Plain):
    """A tree policy: `widths[d]` children per node, drawn with replacement."""

    widths: tuple[int, ...]

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.INDEPENDENT

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        return dice.draw(laws, width)

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        depth = grown.tree.depths[grown.frontier[-1]]
        if depth >= min(len(self.widths), grown.limit):
            return Growth()
        laws = torch.stack([grown.q[grown.rows[node]] for node in grown.frontier])
        drawn = self.choose(laws, self.widths[depth], dice.at(depth)).tolist()
        pairs = [
            (n, t) for n, row in zip(grown.frontier, drawn, strict=True) for t in row if t >= 0
        ]
        deeper, first = depth + 1 < min(len(self.widths), grown.limit), len(grown.tree)
        return Growth(
            parents=[parent for parent, _ in pairs],
            tokens=[token for _, token in pairs],
            expand=range(first, first + len(pairs)) if deeper else (),
        )


class Distinct(Replaced):
    """The same, drawn without replacement."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        return dice.draw(laws, min(width, laws.shape[1]), replace=False)


class Likeliest(Replaced):
    """The same, the likeliest tokens of the draft law in order (lowest id on a tie)."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        return laws.sort(dim=1, descending=True, stable=True).indices[:, :width]


def random_tree(parents: Sequence[int], tokens: Sequence[int]) -> DraftTree:
    """Return a tree from raw numbers of any size: they are folded into what is legal."""
    legal = [-1, *(raw % (i + 1) for i, raw in enumerate(parents[: len(tokens) - 1]))]
    return DraftTree(tuple(tokens), tuple(legal))
