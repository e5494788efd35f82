"""The largest acceptance that any verification rule can reach for a way of drafting:

    alpha* = 1 + min over sets H of tokens of  p(H) - Q(H),    Q(H) = Pr(all drafts lie in H).

Hu et al., "Towards Optimal Multi-Draft Speculative Decoding" (arXiv 2502.18779): p can put no more
than p(H) on the drafts that lie in H, so that Q(H) - p(H) of them must be thrown away. The best H
is a prefix of the tokens in order of rising p / q, for drafts with and without replacement; for the
likeliest tokens and one drawn it holds all of the former, and then a prefix of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from core.bounds.pair import Ints, Line, Pair, line, sorted_pair, without
from core.bounds.race import Race, race
from core.host import Floats

POINTS = 64  # of a curve
_GRID = 33  # prefixes that the search begins with
_CLOSE = 1e-10  # what a further prefix must promise to win


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best acceptance, and the `size` of the prefix that allows no more."""

    value: float
    size: int


@dataclass(frozen=True, slots=True)
class Curve:
    """Prefixes H (K,): their q(H), p(H) and Q(H). At entry `widest` Q(H) - p(H) is the largest."""

    mass: Floats
    target: Floats
    inside: Floats
    widest: int


class Drafts(Protocol):
    """A way of drafting at one node, seen along a line of tokens."""

    @property
    def line(self) -> Line: ...

    def inside(self, sizes: Ints) -> Floats:
        """Return Q(H) (K,) for the prefixes H of `sizes` (K,) tokens."""
        ...

    def optimum(self) -> Optimum: ...


@dataclass(frozen=True)
class Independent:
    """`count` drafts from q with replacement: Q(H) = q(H)^n."""

    line: Pair
    count: int

    def inside(self, sizes: Ints) -> Floats:
        return self.line.q_below[sizes] ** self.count

    def optimum(self) -> Optimum:
        return self._best

    @cached_property
    def _best(self) -> Optimum:
        return _search(self, self.line)


@dataclass(frozen=True)
class Distinct:
    """`count` drafts from q without replacement: see `core.bounds.race`."""

    line: Pair
    count: int

    @cached_property
    def race(self) -> Race:
        return race(self.line, self.count)

    def inside(self, sizes: Ints) -> Floats:
        return self.race.inside(sizes)

    def optimum(self) -> Optimum:
        return self._best

    @cached_property
    def _best(self) -> Optimum:
        return _search(self, self.line)


@dataclass(frozen=True)
class TopAndOne:
    """The `top` likeliest tokens, which come first in the line, and one drawn from the `others`.

    The others are sorted by p over q', the law of the drawn one.
    """

    line: Line
    top: int
    others: Pair

    def inside(self, sizes: Ints) -> Floats:
        drawn = self.others.q_below[np.maximum(sizes - self.top, 0)] if len(self.others) else 1.0
        return np.where(sizes < self.top, 0.0, drawn)

    def optimum(self) -> Optimum:
        lost = float(self.others.left(np.ones(1))[0])
        small = int(np.searchsorted(self.others.ratio, 1.0))
        return Optimum(1.0 - lost, self.top + small)


def top_and_one(both: Pair, p: Floats, q: Floats, top: Sequence[int] | Ints) -> TopAndOne:
    """Return the drafts that are the tokens `top` and one drawn from q (V,) without them; from
    nothing where these are all that q can draw. `both` holds p and q side by side.
    """
    first = np.asarray(top, dtype=np.int64)
    is_first = np.zeros(len(p), dtype=bool)
    is_first[first] = True
    rest = both.tokens[~is_first[both.tokens]]
    drawn = sorted_pair(np.where(is_first, 0.0, p), without(q, first), rest)
    return TopAndOne(line(p, q, np.concatenate([first, rest])), len(first), drawn)


def spread(row: Line, points: int, among: Sequence[int] = ()) -> Ints:
    """Return sizes of prefixes, about `points` of them, closer where p(H) or q(H) grow fast; the
    empty one, the whole line and those `among` them for sure.
    """
    way = row.q_below + row.p_below
    even = np.searchsorted(way, np.linspace(0.0, float(way[-1]), points - len(among)))
    edges = np.array([0, len(row), *among], dtype=np.int64)
    return np.unique(np.append(edges, np.minimum(even, len(row))))


def curve(drafts: Drafts, points: int = POINTS) -> Curve:
    """Return p(H), q(H) and Q(H) of about `points` prefixes, the best among them."""
    row, best = drafts.line, drafts.optimum().size
    sizes = spread(row, points, [best])
    widest = int(np.searchsorted(sizes, best))
    return Curve(row.q_below[sizes], row.p_below[sizes], drafts.inside(sizes), widest)


def _search(drafts: Drafts, row: Pair) -> Optimum:
    """Find the least p(H) - Q(H) without looking at every prefix.

    Along the line p(H) and Q(H) are convex in q(H). Between two prefixes Q lies below its chord,
    and p(H) less the chord is least where p / q passes the slope of the chord: that prefix is
    looked at next, if it can still win.
    """
    mass, target = row.q_below, row.p_below
    sizes = np.unique(np.searchsorted(mass, np.linspace(0.0, float(mass[-1]), _GRID))).clip(
        max=len(row)
    )
    inside = drafts.inside(sizes)
    while True:
        width = np.diff(mass[sizes])
        slope = np.divide(np.diff(inside), width, out=np.zeros(len(width)), where=width > 0)
        middle = np.clip(np.searchsorted(row.ratio, slope), sizes[:-1], sizes[1:])
        least = target[middle] - inside[:-1] - slope * (mass[middle] - mass[sizes[:-1]])
        gaps = target[sizes] - inside
        best = int(gaps.argmin())
        new = middle[(least < gaps[best] - _CLOSE) & (middle > sizes[:-1]) & (middle < sizes[1:])]
        if not len(new):
            return Optimum(1.0 + float(gaps[best]), int(sizes[best]))
        order = np.argsort(np.append(sizes, new))
        sizes = np.append(sizes, new)[order]
        inside = np.append(inside, drafts.inside(new))[order]
