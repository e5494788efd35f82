"""How a draft grows: a tree policy adds children level by level, a stop policy ends drafting early.

Policies see the drafter's laws and what it drew so far, never the target: that keeps every method
exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from core.dice import Dice
from core.trace import Stop
from core.tree import DraftTree, Sampling


@dataclass(frozen=True, slots=True)
class Grown:
    """The draft so far. `q` and `logits` (M, V): laws after the scored nodes, in use and raw;
    `rows`: node -> row.
    """

    tree: DraftTree
    q: Tensor
    logits: Tensor
    rows: dict[int, int]
    frontier: Sequence[int]  # nodes scored last
    limit: int  # deepest level allowed


@dataclass(frozen=True, slots=True)
class Growth:
    """Children to add, as (parent, token) columns in the order to try, and which of the new nodes
    to score next.

    `expand` counts from 0 at the first new node. Nothing to add: the draft is done.
    """

    parents: Sequence[int] = ()
    tokens: Sequence[int] = ()
    counts: Sequence[int] = ()
    expand: Sequence[int] = ()


class TreePolicy(Protocol):
    """A rule that shapes the tree."""

    def sampling(self, greedy: bool) -> Sampling:
        """Return how children come about, at temperature 0 (`greedy`) or above."""
        ...

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        """Return what to add after the nodes of the frontier."""
        ...


class StopPolicy(Protocol):
    """A rule that ends drafting. The token that trips it stays in the draft: dropping it would bend
    the law.
    """

    def __call__(self, grown: Grown) -> Stop | None:
        """Return why drafting ends before the frontier's children are drawn, or None."""
        ...
