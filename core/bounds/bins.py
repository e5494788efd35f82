"""Two laws in narrow bins of p / q: what can be read off the sums at their edges, and off the one
bin where something happens, without sorting a whole vocabulary.

`core.bounds.pair` sorts all tokens, which takes several times as long; the two agree to rounding.
Knows no draft and no rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.bounds.pair import Ints
from core.host import Floats

PER_UNIT = 32  # bins per unit of p / q, a power of two: edges are exact
_CLOSE = 1e-10  # what a bin must promise to be looked into


@dataclass(frozen=True, slots=True)
class Part:
    """The tokens of one bin by rising `ratio` (n,). With k of them below a mark: `p_below`,
    `q_below`, `q_above` (n + 1,), masses over the whole vocabulary.
    """

    ratio: Floats
    p_below: Floats
    q_below: Floats
    q_above: Floats


@dataclass(frozen=True, slots=True)
class Bins:
    """Tokens (V,) by p / q from 0 to `most`; those from there on share the last bin, without edges.

    `number` (V,): bin of every token. At the `edges` (B + 1,): `p_below`, `q_below`, `q_above`.
    """

    p: Floats
    q: Floats
    ratio: Floats
    number: Ints
    edges: Floats
    p_below: Floats
    q_below: Floats
    q_above: Floats

    def part(self, number: int) -> Part:
        """Return the tokens of a bin in order."""
        tokens = np.flatnonzero(self.number == number)
        tokens = tokens[np.argsort(self.ratio[tokens])]
        p, q = _below(self.p[tokens]), _below(self.q[tokens])
        above = _below(self.q[tokens][::-1])[::-1]
        return Part(
            self.ratio[tokens],
            self.p_below[number] + p,
            self.q_below[number] + q,
            self.q_above[number + 1] + above,
        )


def bins(p: Floats, q: Floats, most: int) -> Bins:
    """Put the tokens of two laws (V,) into bins up to the ratio `most`, which is at least 1."""
    count = PER_UNIT * most
    inside = p < most * q  # false where q is 0
    ratio = np.divide(p, q, out=np.full(len(p), float(most)), where=inside)
    number = np.minimum(ratio * PER_UNIT, count).astype(np.int64)
    masses_p, masses_q = (np.bincount(number, law, count + 1).astype(np.float64) for law in (p, q))
    return Bins(
        p,
        q,
        ratio,
        number,
        np.arange(count + 1) / PER_UNIT,
        _below(masses_p[:-1]),
        _below(masses_q[:-1]),
        np.cumsum(masses_q[::-1])[::-1],
    )


def independent_optimum(laws: Bins, count: int) -> float:
    """Return the best acceptance of `count` drafts with replacement, as
    `core.bounds.prefix.Independent` does; the bins must reach to the ratio `count`.

    No prefix ends beyond that ratio: Q(H) = q(H)^n grows no faster than n times q.
    """
    gap = float((laws.q_below**count - laws.p_below).max())
    for number, promise in _promising(laws, count):
        if promise < gap + _CLOSE:
            break
        part = laws.part(number)
        gap = max(gap, float((part.q_below**count - part.p_below).max()))
    return 1 - gap


def _promising(laws: Bins, count: int) -> Iterator[tuple[int, float]]:
    """Yield the bins with tokens and the most that Q(H) - p(H) can be inside, the largest first.

    In a bin p(H) lies above both lines that leave its ends with the slopes of its edges, and Q(H)
    is convex: above the point where these lines meet the difference is largest, but for the ends.
    """
    p, q, width = np.diff(laws.p_below), np.diff(laws.q_below), 1 / PER_UNIT
    meet = np.clip((laws.edges[1:] * q - p) / width, 0.0, q)
    least = laws.p_below[:-1] + laws.edges[:-1] * meet
    promise = np.where(q > 0, (laws.q_below[:-1] + meet) ** count - least, -np.inf)
    for number in np.argsort(-promise):
        yield int(number), float(promise[number])


def _below(masses: Floats) -> Floats:
    """Return the running sums (S + 1,) of masses (S,), from 0."""
    sums = np.zeros(len(masses) + 1)
    np.cumsum(masses, out=sums[1:])
    return sums
