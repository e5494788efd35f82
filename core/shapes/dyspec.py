"""DySpec's tree: the next node goes into the slot that is likeliest to be reached and tried.

A slot is a place for one more child of a node. Its value is the product of q along the path to that
node, times the mass of q that the node's earlier children left. It is known before the slot's token
is, which keeps the method exact: nothing is decided by a token that is not offered. Values never
rise from one filled slot to the next.

Two variants. The heap fills the best slot of all until the budget is used up, and scores a node
when a slot below it is the best. The threshold variant goes layer by layer, scores a layer in one
forward, and fills every slot of a value of at least C.

Tokens are drawn without replacement, and a token is looked at once its slot was chosen, never
before (`core.shapes.ahead`). At temperature 0 the likeliest tokens stand for the drawn ones, and
values come from the drafter's law at temperature 1. Where the support of q is used up a node gets
no more children. Knows no target and no rule.

Xiong et al.: DySpec, arXiv 2410.11744.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from core.dice import Dice
from core.extras import DySpecExtras
from core.host import floats
from core.parts import shape
from core.reduce import six_digits
from core.shapes.ahead import DrawnAhead
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.trace import Stop
from core.tree import Sampling

MAX_NODES = 256  # drafted in one round
_MOST_OPEN = 32  # slots left open that the record keeps


@dataclass(frozen=True, slots=True)
class DySpec(Steady):
    """`budget`: most nodes of a draft. `threshold`: least value of a slot that is filled, layer by
    layer; None: the heap variant.
    """

    budget: int
    threshold: float | None = None
    branches = True

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.DISTINCT

    def begin(self, greedy: bool) -> Grower:
        return _Filling(self.budget, self.threshold, greedy)


class _Slot(NamedTuple):
    """A place for child number `rank` of `node`; sorted by what is filled first."""

    layer: int  # depth of the child in the threshold variant, else 0
    unlikely: float  # minus its value
    number: int  # among equals the older one is filled first
    node: int
    rank: int

    @property
    def value(self) -> float:
        return -self.unlikely


@dataclass(slots=True)
class _Filling:
    """One draft under way. Columns count the nodes of the tree, the root first."""

    budget: int
    threshold: float | None
    greedy: bool
    depths: list[int] = field(default_factory=lambda: [0])
    reached: list[float] = field(default_factory=lambda: [1.0])  # product of q along the path
    filled: list[_Slot] = field(default_factory=lambda: list[_Slot]())
    forward: list[int] = field(default_factory=lambda: list[int]())
    open: list[_Slot] = field(default_factory=lambda: list[_Slot]())  # a heap
    below: list[_Slot] = field(default_factory=lambda: list[_Slot]())  # the threshold
    drawn: DrawnAhead = field(init=False)
    forwards: int = 0
    slots: int = 0

    def __post_init__(self) -> None:
        self.drawn = DrawnAhead(self.greedy)

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        if not self.forwards:
            self._offer(0, 0, 1.0, grown.limit)
        self.forwards += 1
        self.drawn.draw(grown.frontier, self._room, grown, dice)
        parents, tokens = list[int](), list[int]()
        while self.open and self._room:
            if self.open[0].node not in self.drawn:
                return Growth(parents, tokens, expand=self._unscored())
            slot = heappop(self.open)
            drawn = self.drawn.child(slot.node, slot.rank, self._room, grown, dice)
            if drawn is not None:
                token, q = drawn
                parents.append(slot.node)
                tokens.append(token)
                self._fill(slot, q, grown.limit)
        return Growth(parents, tokens)

    def finish(self, grown: Grown) -> Finished:
        left = sorted((*self.open, *self.below), key=lambda slot: (slot.unlikely, slot.number))
        return Finished(
            scores=[None, *(slot.value for slot in self.filled)],
            stop=self._stop(left),
            extras=(self._extras(left[:_MOST_OPEN]),),
        )

    @property
    def _room(self) -> int:
        """Nodes that may still be drafted."""
        return self.budget - len(self.filled)

    def _unscored(self) -> list[int]:
        """Return the nodes to score next: the best slot's, or those of its whole layer."""
        if self.threshold is None:
            return [self.open[0].node]
        return sorted({slot.node for slot in self.open})

    def _fill(self, slot: _Slot, q: float, limit: int) -> None:
        """Note a new node, and open the slot beside it and the one below it."""
        node, parent = len(self.depths), slot.node
        self.filled.append(slot)
        self.forward.append(self.forwards)
        self.depths.append(self.depths[parent] + 1)
        self.reached.append(self.reached[parent] * q)
        left = self.reached[parent] * self.drawn.left(parent, slot.rank + 1)
        # rounding must not make a value rise
        self._offer(parent, slot.rank + 1, min(left, slot.value), limit)
        self._offer(node, 0, min(self.reached[node], slot.value), limit)

    def _offer(self, node: int, rank: int, value: float, limit: int) -> None:
        """Open a slot, unless it is too deep or nothing is left for it."""
        depth = self.depths[node] + 1
        if depth > limit or value <= 0:
            return
        self.slots += 1
        layer = 0 if self.threshold is None else depth
        slot = _Slot(layer, -value, self.slots, node, rank)
        if self.threshold is None or value >= self.threshold:
            heappush(self.open, slot)
        else:
            self.below.append(slot)

    def _stop(self, left: Sequence[_Slot]) -> Stop:
        """Say why nothing more is drafted."""
        if not self._room:
            return Stop(reason="budget")
        if self.below:
            return Stop(reason="below_threshold", value=left[0].value, threshold=self.threshold)
        return Stop(reason="length")

    def _extras(self, left: Sequence[_Slot]) -> DySpecExtras:
        return DySpecExtras(
            budget=self.budget,
            threshold=self.threshold,
            node=list(range(1, len(self.depths))),
            parent=[slot.node for slot in self.filled],
            rank=[slot.rank for slot in self.filled],
            value=_rounded([slot.value for slot in self.filled]),
            forward=self.forward,
            open_parent=[slot.node for slot in left],
            open_rank=[slot.rank for slot in left],
            open_value=_rounded([slot.value for slot in left]),
        )


def _rounded(values: Sequence[float]) -> list[float]:
    return floats(six_digits(np.array(values, dtype=np.float64)))


PARTS = (
    shape(
        "dyspec",
        "DySpec, heap",
        "Fills the open slot that is likeliest to be reached and tried, until the budget is used.",
        "Xiong et al. 2024",
        DySpec,
    ),
    shape(
        "dyspec_threshold",
        "DySpec, threshold",
        "Fills, layer by layer, every slot likelier to be tried than one over the budget.",
        "Xiong et al. 2024",
        lambda budget: DySpec(budget, 1 / budget),
    ),
)
