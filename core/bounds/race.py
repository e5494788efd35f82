"""Drawing n tokens without replacement, as a race: token i arrives after an exponential time of
rate q_i, and the first n to arrive are the drafts.

All drafts lie in H when n tokens of H arrive before the first of the others does, which is at an
exponential time of rate q(H^c). With N_t(H) the arrivals in H up to t,

    Q(H) = Pr(all drafts in H) = 1 - q(H^c) * sum over m < n of
           integral over t of exp(-q(H^c) t) Pr(N_t(H) = m).

The terms m = 0 and m = 1 are 1 and the sum of q_i / (1 - q_i) over H, so that n up to 2 needs no
integral. For the others t runs over steps of equal ratio, where the trapezoidal rule converges
exponentially. N_t counts independent arrivals: likely tokens enter its law one by one, the many
unlikely ones through power sums of their q. Knows no target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, factorial

import numpy as np

from core.bounds.pair import Ints, Line
from core.host import Floats

_STEP = 0.3  # of log t: what the rule is wrong by falls as exp(-pi^2 / step)
_FIRST = 4e-4  # t below it adds under t^3 / 6
_LAST = 28.0  # in mean waits of the slowest term: beyond it is exp(-28)
_LIKELY = 4e-3  # share of the slow mass from which a token enters by itself
_POWERS = 4  # of q, for all others
_KNOTS = 9  # of the polynomial in q through which unlikely tokens get their share
_SURE = 640.0  # exponent of odds whose products over all drafts a float still holds
_LEAST = 1e-12  # of the mass outside the n - 1 likeliest: below, float64 ends anyway


@dataclass(frozen=True, slots=True)
class Race:
    """`drafts` tokens drawn without replacement from q along a line of tokens (S,).

    `singles` (S + 1,): running sums of q / (1 - q). T times with weights (T,). `likely` (L,):
    places of the likely tokens, `odds` (L, T) that they have arrived, `counted`
    (n, L + 1, T) the law of how many of the first of them have. `powers` (4, S + 1): running sums
    of powers of q over the unlikely ones.
    """

    line: Line
    drafts: int
    singles: Floats
    times: Floats
    weights: Floats
    likely: Ints
    odds: Floats
    counted: Floats
    powers: Floats

    def inside(self, sizes: Ints) -> Floats:
        """Return Q(H) (K,) for the prefixes H of `sizes` (K,) tokens."""
        outside = self.line.q_above[sizes]
        waits = 1.0 + self.singles[sizes]
        if self.drafts > 2:
            first = np.searchsorted(self.likely, sizes)
            some = _some(self.counted[:, first], self._unlikely(self.powers[:, sizes]))
            waits = waits + self._integral(some, outside)
        found = np.clip(1.0 - outside * waits, 0.0, 1.0)
        return np.where(sizes < self.drafts, 0.0, np.where(outside > 0, found, 1.0))

    def included(self) -> Floats:
        """Return the chance (S,) of every token to be among the drafts."""
        q = self.line.q
        waits = np.ones(len(q))
        if self.drafts > 1:
            waits = waits + (self.singles[-1] - q / _rest(self.line))
        if self.drafts > 2:
            waits = waits + self._waits()
        return np.clip(q * waits, 0.0, 1.0)

    def _waits(self) -> Floats:
        """Return for each token x (S,) the integral of exp(-q_x t) Pr(2 <= N_t < n) over t, N
        counting all others.
        """
        q, found = self.line.q, np.empty(len(self.line))
        unlikely = self._unlikely(self.powers[:, -1])
        if len(self.likely):
            after = _counts(self.odds[::-1], self.drafts)[:, -2::-1]
            others = _joined(self.counted[:, :-1], after)
            found[self.likely] = self._integral(_some(others, unlikely), q[self.likely])
        light = np.ones(len(q), dtype=bool)
        light[self.likely] = False
        if not light.any():
            return found
        everyone = _joined(self.counted[:, -1], unlikely)
        share = np.polynomial.Chebyshev.interpolate(
            lambda mass: self._integral(_without(everyone, mass, self.times)[2:].sum(axis=0), mass),
            _KNOTS - 1,
            domain=[0.0, float(q[light].max())],
        )
        found[light] = share(q[light])
        return found

    def _integral(self, some: Floats, mass: Floats) -> Floats:
        """Integrate exp(-mass t) Pr(2 <= N_t < n), `some` (K, T), for masses (K,)."""
        return (some * np.exp(-mass[:, None] * self.times)) @ self.weights

    def _unlikely(self, powers: Floats) -> Floats:
        """Return the law (n, ..., T) of the arrivals among unlikely tokens with the given `powers`
        (4, ...), up to n - 1.

        The log of the generating function of one arrival, log(1 - z + z exp(q t)) - q t, is a
        series in q t, with polynomials in z as coefficients.
        """
        terms = [
            powers[k - 1][..., None] * self.times**k / factorial(k) for k in range(1, _POWERS + 1)
        ]
        series = [
            sum(_cumulant(k, j) * terms[k - 1] for k in range(j, _POWERS + 1))
            for j in range(1, min(self.drafts - 1, _POWERS) + 1)
        ]
        law = [np.exp(-terms[0])]
        for m in range(1, self.drafts):
            law.append(sum(j * s * law[m - j] for j, s in enumerate(series[:m], start=1)) / m)
        return np.stack(law)


def race(line: Line, drafts: int) -> Race:
    """Return the race of `drafts` tokens; where q can draw fewer, of all these."""
    drafts = min(drafts, int(np.count_nonzero(line.q)))
    singles = np.zeros(len(line) + 1)
    if drafts > 1:
        np.cumsum(line.q / _rest(line), out=singles[1:])
    if drafts < 3:
        none = np.zeros(0)
        return Race(line, drafts, singles, none, none, none.astype(np.int64), none, none, none)
    slow = max(_LEAST, float(np.partition(line.q, len(line) - drafts + 1)[: 1 - drafts].sum()))
    times = np.exp(np.arange(np.log(_FIRST), np.log(_LAST / slow), _STEP))
    is_likely = line.q > _LIKELY * slow
    likely = np.flatnonzero(is_likely)
    odds = np.expm1(np.minimum(line.q[likely, None] * times, _SURE / drafts))
    light = np.where(is_likely, 0.0, line.q)
    powers = np.zeros((_POWERS, len(line) + 1))
    np.cumsum(np.stack([light, light**2, light**3, light**4]), axis=1, out=powers[:, 1:])
    counted = _counts(odds, drafts)
    return Race(line, drafts, singles, times, times * _STEP, likely, odds, counted, powers)


def _rest(line: Line) -> Floats:
    """Return 1 - q (S,), summed over the others."""
    return line.q_below[:-1] + line.q_above[1:]


@cache
def _cumulant(power: int, count: int) -> float:
    """Return the coefficient of z^count in the cumulant number `power` of one coin that shows heads
    with probability z.
    """
    signs = [(-1) ** (count - i) * comb(count, i) * i**power for i in range(count + 1)]
    return (-1) ** (count - 1) * sum(signs) / count


def _counts(odds: Floats, drafts: int) -> Floats:
    """Return the laws (n, L + 1, T) of how many of the first 0 ... L tokens have arrived, from the
    odds (L, T) that each has.
    """
    laws = np.zeros((drafts, len(odds) + 1, odds.shape[1]))
    ways = np.ones_like(odds)  # of m arrivals among those before, each weighed by its odds
    for m in range(1, drafts):
        np.cumsum(odds * ways, axis=0, out=laws[m, 1:])
        ways = laws[m, :-1]
    none = np.ones(laws.shape[1:])
    np.cumprod(1.0 / (1.0 + odds), axis=0, out=none[1:])
    laws[0] = 1.0
    return laws * none


def _without(law: Floats, mass: Floats, times: Floats) -> Floats:
    """Return the laws (n, K, T) of a count of law (n, T) without one unlikely token of each `mass`
    (K,).
    """
    odds = np.expm1(mass[:, None] * times)
    found = [law[0] * (1 + odds)]
    for here in law[1:]:
        found.append(here * (1 + odds) - odds * found[-1])
    return np.stack(found)


def _joined(one: Floats, other: Floats) -> Floats:
    """Return the law (n, ..., T) of the sum of two independent counts, up to n - 1."""
    found = np.zeros((len(one), *np.broadcast_shapes(one.shape[1:], other.shape[1:])))
    for m in range(len(one)):
        for k in range(m + 1):
            found[m] += one[k] * other[m - k]
    return found


def _some(one: Floats, other: Floats) -> Floats:
    """Return the chance (..., T) that two independent counts add up to 2 ... n - 1."""
    size, found = len(one), one[0] * other[2:].sum(axis=0)
    for k in range(1, size):
        found = found + one[k] * other[max(2 - k, 0) : size - k].sum(axis=0)
    return found
