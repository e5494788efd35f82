"""The best tree of n nodes when acceptance depends on a child's place alone: Sequoia's dynamic
program.

Positional acceptance: child number j of any node is the one that stays with probability P[j],
whatever the text. A round with tree T then yields F(T) tokens on average, the sum over all nodes of
the product of P along the path; the root stands for the target's own token. Trees are counted with
their root here, in nodes and in levels.

Chen et al.: Sequoia, arXiv 2402.12374. Knows no model and no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.host import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """A tree without tokens: per node its parent (-1 for node 0, the root) and its place among the
    siblings. Parents precede children.
    """

    parents: tuple[int, ...]
    ranks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every node, in order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], start=1):
            found[parent].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def levels(self) -> int:
        depths = [1]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return max(depths)

    def expected(self, acceptance: Sequence[float]) -> float:
        """Return F: the sum over nodes of the product of `acceptance` along the path."""
        reached = [1.0]
        for parent, rank in zip(self.parents[1:], self.ranks[1:], strict=True):
            reached.append(reached[parent] * acceptance[rank])
        return sum(reached)


@dataclass(frozen=True, slots=True)
class Best:
    """The best trees of up to n nodes and d levels, for one acceptance vector.

    `values` (d + 1, n + 1): largest F of exactly so many nodes within so many levels, minus
    infinity where there is no such tree. `widths` (d + 1, n + 1): children of its root. `last`
    (d + 1, b + 1, n + 1): nodes below the last child of a root with exactly b children.
    """

    values: Floats
    widths: Counts
    last: Counts

    def size(self, nodes: int, levels: int) -> int:
        """Return how many of at most `nodes` nodes the best tree within `levels` uses."""
        return int(self.values[self._level(levels), : nodes + 1].argmax())

    def value(self, nodes: int, levels: int) -> float:
        """Return F of the best tree of at most `nodes` nodes within `levels`."""
        return float(self.values[self._level(levels), : nodes + 1].max())

    def plan(self, nodes: int, levels: int) -> Plan:
        """Return the best tree of at most `nodes` nodes within `levels`, level by level."""
        parents, ranks, waiting = [-1], [0], [(0, self.size(nodes, levels), self._level(levels))]
        for node, size, level in waiting:  # grows while it is read
            for rank, below in enumerate(self._split(size, level)):
                waiting.append((len(parents), below, level - 1))
                parents.append(node)
                ranks.append(rank)
        return Plan(tuple(parents), tuple(ranks))

    def _level(self, levels: int) -> int:
        """Deeper bounds than were computed bring nothing more."""
        return min(levels, len(self.values) - 1)

    def _split(self, size: int, level: int) -> list[int]:
        """Return the nodes below each child of the best tree's root, its own included."""
        found: list[int] = []
        for width in range(int(self.widths[level, size]), 0, -1):
            found.append(int(self.last[level, width, size]))
            size -= found[-1]
        return found[::-1]


def best_trees(acceptance: Sequence[float], nodes: int, levels: int | None = None) -> Best:
    """Solve for all trees of at most `nodes` nodes and `levels` levels (None: any), the root
    counted.

    `acceptance`: P[1], P[2] ... of the children, which also bounds their number. Takes time
    O(levels x children x nodes^2).
    """
    solved = list(_levels(acceptance, nodes, nodes if levels is None else min(levels, nodes)))
    values, widths, last = zip(*solved, strict=True)
    return Best(np.stack(values), np.stack(widths), np.stack(last))


def _levels(
    acceptance: Sequence[float], nodes: int, levels: int
) -> Iterator[tuple[Floats, Counts, Counts]]:
    """Yield values, widths and last children within 0, 1 ... levels, until more bring nothing."""
    last = np.zeros((len(acceptance) + 1, nodes + 1), dtype=np.int64)
    value = np.full(nodes + 1, -np.inf)
    yield value, last[0], last
    for _ in range(levels):
        better, widths, last = _one_level_more(value, acceptance)
        yield better, widths, last
        if np.array_equal(better, value):
            return
        value = better


def _one_level_more(below: Floats, acceptance: Sequence[float]) -> tuple[Floats, Counts, Counts]:
    """Give the roots of trees of values `below` (n + 1) a parent: value, width and last child."""
    size = len(below)
    rest = np.subtract.outer(np.arange(size), np.arange(size))  # n - m
    tables = [np.full(size, -np.inf)]
    tables[0][1] = 1.0
    last = [np.zeros(size, dtype=np.int64)]
    possible = np.isfinite(below)  # 0 times infinity is no value
    for chance in acceptance:
        child = np.where(possible, chance * np.where(possible, below, 0.0), -np.inf)
        # [n, m]: m nodes below one child more, n - m in the tree without it
        options = np.where(rest > 0, tables[-1][rest.clip(0)] + child, -np.inf)
        last.append(options.argmax(axis=1))
        tables.append(options.max(axis=1))
    values = np.stack(tables)
    return values.max(axis=0), values.argmax(axis=0), np.stack(last)


@dataclass(frozen=True, slots=True)
class Choice:
    """Nodes and levels of a tree, the root counted, and the speed-up that is expected of it."""

    nodes: int
    levels: int
    speedup: float


def choose(best: Best, times: Mapping[int, float], step: float, levels: int) -> Choice:
    """Return nodes and levels (2 to `levels`) that make most of the time.

    `times` {n: time of the target for n tokens, over that for one}, `step`: time of a forward of
    the drafter over the target's for one token. The speed-up over plain decoding is
    F / (t(n) + d c), where d counts the root's level as the paper's code does: one forward more
    than drafting takes. Sizes beyond the solved ones are left out; raises ValueError where `times`
    has no other.
    """
    most = best.values.shape[1] - 1
    found = [
        Choice(nodes, depth, best.value(nodes, depth) / (time + depth * step))
        for nodes, time in times.items()
        if 1 < nodes <= most
        for depth in range(2, levels + 1)
    ]
    if not found:
        raise ValueError(f"No time was measured for a tree of 2 to {most} nodes.")
    return max(found, key=lambda choice: choice.speedup)
