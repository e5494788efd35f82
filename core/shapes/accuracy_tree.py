"""Medusa's tree: made ahead from how often each candidate of each head is right.

The value of a node is the product of the accuracies along its path, as if the heads were right or
wrong independently of each other. From the root on the most valuable node that is open is added; it
opens its next sibling and its first child. The sum of the values is how many drafted tokens of a
round are expected to stay.

Candidates are the heads' likeliest tokens at every temperature, so that the tree is the same one.
Cai et al., arXiv 2401.10774. Where nobody measured the heads, the tree is the published one for
Vicuna-7B in its depths: 10, 28, 23 and 2 nodes, filled by the accuracy that its heads are known
for. A small budget takes the most valuable of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from math import prod
from typing import Literal

import torch

from core.dice import Dice
from core.extras import AccuracyTreeExtras
from core.heads.accuracy import RANKS, Accuracy
from core.host import int_rows
from core.parts import shape
from core.reduce import top_tokens
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.shapes.static import Path
from core.tree import Sampling

MOST_NODES = 256
LEVELS = (10, 28, 23, 2)  # nodes by depth of the published tree
_FIRST = (0.560, 0.316, 0.201, 0.147)  # how often the favourites of Vicuna-7B's heads are right
_FALL = (2.174, 1.485, 1.153, 0.979)  # power of the rank; the first five are right as published

Origin = Literal["measured", "published"]
Table = Sequence[Sequence[float]]


def published() -> list[list[float]]:
    """Return the accuracy by head and candidate that the published tree is filled by."""
    return [
        [first / (rank + 1) ** fall for rank in range(RANKS)]
        for first, fall in zip(_FIRST, _FALL, strict=True)
    ]


def value(path: Path, accuracy: Table) -> float:
    """Return the product of the accuracies along a path."""
    return prod(accuracy[depth][rank] for depth, rank in enumerate(path))


def grown(accuracy: Table, nodes: int) -> list[Path]:
    """Return the paths of the `nodes` most valuable nodes, in the order in which they are added.

    Candidates that were never right are left out, but for the very first.
    """
    waiting: list[tuple[float, int, Path]] = [(0.0, 1, (0,))]
    found: list[Path] = []
    while waiting and len(found) < nodes:
        _, depth, path = heappop(waiting)
        found.append(path)
        sibling = (*path[:-1], path[-1] + 1)
        opened = [sibling] if sibling[-1] < len(accuracy[depth - 1]) else []
        opened += [(*path, 0)] if depth < len(accuracy) else []
        for each in opened:
            if worth := value(each, accuracy):
                heappush(waiting, (-worth, len(each), each))
    return found


def generic(heads: int, nodes: int) -> list[Path]:
    """Return the paths of the published tree for so many heads, the most valuable first."""
    accuracy = published()
    level: list[Path] = [()]
    found: list[Path] = []
    for count in LEVELS[:heads]:
        below = [(*path, rank) for path in level for rank in range(RANKS)]
        level = sorted(below, key=lambda path: (-value(path, accuracy), path))[:count]
        found += level
    return sorted(found, key=lambda path: (-value(path, accuracy), len(path), path))[:nodes]


@dataclass(frozen=True)
class AccuracyTree(Steady):
    """`paths` in the order added; `accuracy` by head and candidate, `counted` places at least."""

    paths: tuple[Path, ...]
    accuracy: Table
    origin: Origin = "published"
    counted: int = 0

    @staticmethod
    def of(accuracy: Accuracy | None, heads: int, nodes: int) -> AccuracyTree:
        """Return the tree of `nodes` nodes for heads of this accuracy; None: nobody measured it."""
        if accuracy is None:
            return AccuracyTree(tuple(generic(heads, nodes)), published()[:heads])
        table = accuracy.table
        return AccuracyTree(tuple(grown(table, nodes)), table, "measured", min(accuracy.tried))

    @property
    def branches(self) -> bool:
        return any(path[-1] for path in self.paths)

    @cached_property
    def widths(self) -> Mapping[Path, int]:
        """Children per path, the root's included."""
        return Counter(path[:-1] for path in self.paths)

    @cached_property
    def extras(self) -> AccuracyTreeExtras:
        place = {(): 0} | {path: node for node, path in enumerate(self.paths, start=1)}
        return AccuracyTreeExtras(
            origin=self.origin,
            counted=self.counted,
            accuracy=_rounded(self.accuracy),
            tree_parent=[place[path[:-1]] for path in self.paths],
            tree_rank=[path[-1] for path in self.paths],
            value=[self.worth[path] for path in self.paths],
        )

    @cached_property
    def worth(self) -> Mapping[Path, float]:
        """Value of every node."""
        values = [[value(path, self.accuracy) for path in self.paths]]
        return dict(zip(self.paths, _rounded(values)[0], strict=True))

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC

    def begin(self, greedy: bool) -> Grower:
        return _Filling(self)


@dataclass(slots=True)
class _Filling:
    """`path`: ranks of every node drafted so far."""

    policy: AccuracyTree
    path: dict[int, Path] = field(default_factory=lambda: {0: ()})

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        parents: list[int] = []
        tokens: list[int] = []
        first, widths = len(grown.tree), self.policy.widths
        for node, rank, token in self._candidates(grown):
            self.path[first + len(tokens)] = (*self.path[node], rank)
            parents.append(node)
            tokens.append(token)
        deeper = range(first, first + len(tokens)) if grown.depth + 1 < grown.limit else ()
        return Growth(parents, tokens, expand=[n for n in deeper if self.path[n] in widths])

    def finish(self, grown: Grown) -> Finished:
        worth = self.policy.worth
        scores = [worth.get(self.path[node]) for node in range(len(grown.tree))]
        return Finished(scores=scores, extras=(self.policy.extras,))

    def _candidates(self, grown: Grown) -> Iterator[tuple[int, int, int]]:
        """Yield parent, rank and token of every child of the nodes scored last. Tokens that a head
        cannot name are none.
        """
        nodes = sorted(grown.frontier)
        widths = [self.policy.widths[self.path[node]] for node in nodes]
        logits = grown.logits[[grown.rows[node] for node in nodes]]
        tokens = top_tokens(logits, max(widths))
        named = torch.where(logits.gather(1, tokens) > -torch.inf, tokens, -1)
        for node, width, row in zip(nodes, widths, int_rows(named), strict=True):
            for rank, token in enumerate(row[:width]):
                if token >= 0:
                    yield node, rank, token


def _rounded(table: Table) -> list[list[float]]:
    return [[float(f"{number:.6g}") for number in row] for row in table]


PARTS = (
    shape(
        "accuracy_tree",
        "Medusa's tree",
        "The most valuable nodes by how often each rank of each head is right.",
        "Cai et al. 2024 (Medusa)",
        lambda budget: AccuracyTree.of(None, len(LEVELS), budget),
    ),
)
