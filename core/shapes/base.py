"""How a draft grows: a tree policy adds children level by level, a stop policy ends drafting early.

Policies see the drafter's laws and what it drew so far, never the target: that keeps every method
exact. What may adapt is only what is known before a token is drawn; nothing that was drawn may be
thrown away for what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from core.dice import Dice
from core.extras import Extras
from core.trace import Stop
from core.tree import DraftTree, Sampling


@dataclass(frozen=True, slots=True)
class Grown:
    """The draft so far. `q` and `logits` (M, V): laws after the scored nodes, in use and raw;
    `rows`: node -> row.

    `features` {tap: (M, D)}: hidden states of the drafter, where a policy asked for them.
    """

    tree: DraftTree
    q: Tensor
    logits: Tensor
    rows: Mapping[int, int]
    frontier: Sequence[int]  # nodes scored last; to a stop rule, the new ones to be scored next
    limit: int  # deepest level allowed
    features: Mapping[int, Tensor] = field(default_factory=lambda: dict[int, Tensor]())

    @property
    def depth(self) -> int:
        """Depth of the nodes scored last."""
        return self.tree.depths[self.frontier[-1]]


@dataclass(frozen=True, slots=True)
class Growth:
    """Children to add, as (parent, token) columns in the order to try, and which nodes to score
    next.

    `offers` {parent: children in the order drawn}: where draws repeat; see `DraftTree`. `expand`
    names nodes of the grown tree that have no row yet. Nothing to score: the draft is done.
    """

    parents: Sequence[int] = ()
    tokens: Sequence[int] = ()
    offers: Mapping[int, Sequence[int]] = field(default_factory=lambda: dict[int, Sequence[int]]())
    expand: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """What a policy says once growing is over.

    `keep`: nodes to offer, ascending, each with its parent; None: all. What is not kept must have
    been chosen by a function of the past (see `core.verify`), never drawn. `reason`: why the rest
    is not offered. `scores`: the policy's own value per node of the grown tree. `mixed`: parents
    whose children came about in another way than `sampling` says.
    """

    keep: Sequence[int] | None = None
    reason: str = "budget"
    scores: Sequence[float | None] = ()
    mixed: Mapping[int, Sampling] = field(default_factory=lambda: dict[int, Sampling]())
    stop: Stop | None = None
    extras: tuple[Extras, ...] = ()


class Grower(Protocol):
    """One draft under way."""

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        """Return what to add; called after every scoring."""
        ...

    def finish(self, grown: Grown) -> Finished:
        """Return what to offer of it; called once."""
        ...


class TreePolicy(Protocol):
    """A rule that shapes the tree."""

    @property
    def branches(self) -> bool:
        """Return whether a node can have several children."""
        ...

    def sampling(self, greedy: bool) -> Sampling:
        """Return how children come about, at temperature 0 (`greedy`) or above."""
        ...

    def begin(self, greedy: bool) -> Grower:
        """Return what grows the draft of one round."""
        ...

    def observe(self, accepted: int, drafted: int) -> None:
        """Learn how many tokens of a path were accepted, of how deep a draft."""
        ...


class StopPolicy(Protocol):
    """A rule that ends drafting. The token that trips it stays in the draft: dropping it would bend
    the law.
    """

    def __call__(self, grown: Grown) -> Stop | None:
        """Return why drafting ends before the frontier is scored, or None."""
        ...

    def extras(self, grown: Grown) -> tuple[Extras, ...]:
        """Return what the record keeps of the rule's view of a finished draft."""
        ...


class Steady:
    """Base of policies that learn nothing from round to round."""

    def observe(self, accepted: int, drafted: int) -> None:
        """Nothing to learn."""


class Whole:
    """Base of growers that offer all they grew."""

    def finish(self, grown: Grown) -> Finished:
        return Finished()


class Silent:
    """Base of stop rules that leave nothing but their reason."""

    def extras(self, grown: Grown) -> tuple[Extras, ...]:
        return ()


def once_each(
    drawn: Sequence[tuple[int, Sequence[int]]], first: int
) -> tuple[list[int], list[int], dict[int, list[int]]]:
    """Merge repeated draws: from (parent, tokens in the order drawn) to the columns of a `Growth`.

    `first` is the number of the first new node. Returns parents, tokens and offers; tokens below 0
    are no tokens.
    """
    parents: list[int] = []
    tokens: list[int] = []
    offers: dict[int, list[int]] = {}
    for parent, row in drawn:
        node_of: dict[int, int] = {}
        for token in row:
            if token < 0:
                continue
            if token not in node_of:
                node_of[token] = first + len(tokens)
                parents.append(parent)
                tokens.append(token)
            offers.setdefault(parent, []).append(node_of[token])
        if len(node_of) == len(offers.get(parent, ())):
            offers.pop(parent, None)  # nothing repeats
    return parents, tokens, offers
