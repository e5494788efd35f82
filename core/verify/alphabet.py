"""The tokens that a draft law can draw, as few symbols, so that sets of candidates can be counted.

For K independent candidates from q and the target p, a token with p >= K q is *free*: kept whenever
it is drawn, it never gets more than p. One with p = 0 cannot be kept. All others are symbols, one
each while they are few. Else the largest are, and the rest are bundled by p/q, so that each bundle
can be treated as one symbol, the first of its tokens that is in play:

* below K-SEQ's factor rho, a drawn token is in play with chance p / (top q), where `top` is the
  largest p/q that the bundle may have: in play, all its tokens have the same p/q, and nothing is
  lost by not telling them apart;
* above rho it is always in play, and the bundle may get as much as its smallest p/q allows.

K-SEQ is one way to choose among such symbols, so that the best way is no worse. Knows laws (V,) in
float64 on the host; no tree, no dice, no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, factorial, sqrt

import numpy as np
from numpy.typing import NDArray

from core.host import Floats
from core.verify.crossing import crossing

Places = NDArray[np.int64]

FREE, NONE = -1, -2  # places of tokens that are no symbol

_MOST = 24  # symbols
_CHOICES = 2300  # pairs of a set and one of its symbols: a linear program has a variable for each
_BUNDLES = 4
_LOW = 0.3  # share of rho where the bundles below it are parted


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Symbols of `count` candidates from q (V,) for the target p (V,), K-SEQ's factor being `rho`.

    Per token: `place`, its symbol or one of the constants above, and `play`, its chance to be in
    play. Per symbol: `tokens`, `mass` (n,) of q in play, and `most` (n,) that it may get. `free`:
    mass of q on free tokens.
    """

    count: int
    rho: float
    target: Floats
    drawn: Floats
    place: Places
    play: Floats
    tokens: Sequence[Places]
    mass: Floats
    most: Floats
    free: float

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_exact(self) -> bool:
        """Return whether every symbol is one token."""
        return all(len(tokens) == 1 for tokens in self.tokens)

    @property
    def any_free(self) -> float:
        """Return the chance that a free token is among the candidates."""
        return 1 - (1 - self.free) ** self.count

    @property
    def idle(self) -> float:
        """Return the chance that one candidate is neither free nor in play."""
        return max(0.0, 1 - self.free - float(self.mass.sum()))


def alphabet(p: Floats, q: Floats, count: int) -> Alphabet:
    """Return the symbols of two laws (V,), which are rescaled to sum to one."""
    p, q = p / p.sum(), q / q.sum()
    free = (q > 0) & (p >= count * q)
    rho = crossing(p, q, count).root()
    place = np.where(free, FREE, NONE)
    play = np.ones(len(q))
    parts = list(_parts(p, q, np.flatnonzero((q > 0) & (p > 0) & ~free), count, rho))
    for symbol, part in enumerate(parts):
        place[part.tokens] = symbol
        play[part.tokens] = part.play
    return Alphabet(
        count=count,
        rho=rho,
        target=p,
        drawn=q,
        place=place,
        play=play,
        tokens=[part.tokens for part in parts],
        mass=np.array([q[part.tokens] @ part.play for part in parts]),
        most=np.array([part.most for part in parts]),
        free=min(1.0, float(q[free].sum())),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    tokens: Places
    play: Floats
    most: float


def _parts(p: Floats, q: Floats, tokens: Places, count: int, rho: float) -> Iterator[_Part]:
    """Yield the symbols: single tokens, then bundles."""
    room = _room(count)
    if len(tokens) > room:
        lows, highs = (0.0, _LOW * rho, rho), (rho, sqrt(rho * count), float(count))
        first = np.zeros(len(tokens), dtype=np.bool_)
        first[largest(np.maximum(p[tokens], q[tokens]), room - _BUNDLES)] = True
        rest, tokens = tokens[~first], tokens[first]
    else:
        lows = highs = ()
        rest = tokens[:0]
    for token in tokens[:, None]:
        yield _Part(token, np.ones(1), float(p[token][0]))
    ratio = p[rest] / q[rest]
    for bottom, top in pairwise(lows):
        members = rest[(ratio >= bottom) & (ratio < top)]
        if len(members):
            yield _Part(members, p[members] / (top * q[members]), float(p[members].sum()))
    for bottom, top in pairwise(highs):
        inside = (ratio >= bottom) & (ratio < top)
        members = rest[inside]
        if len(members):
            most = float(ratio[inside].min() * q[members].sum())
            yield _Part(members, np.ones(len(members)), most)


def largest(values: Floats, count: int) -> Places:
    """Return the places of the `count` largest values, or of all; largest first."""
    if count < len(values):
        places = np.argpartition(-values, count)[:count]
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]


def _room(count: int) -> int:
    """Return how many symbols can be afforded for `count` candidates."""
    size = 1
    while size < _MOST and _choices(size + 1, count) <= _CHOICES:
        size += 1
    return size


def _choices(size: int, count: int) -> int:
    return sum(k * comb(size, k) for k in range(1, min(size, count) + 1))


@dataclass(frozen=True, slots=True)
class Sets:
    """Which sets of symbols can be in play where no candidate is free: `members` (S, n), and how
    likely each is, `mass` (S,).
    """

    members: NDArray[np.bool_]
    mass: Floats


def sets_of(symbols: Alphabet) -> Sets:
    """Return the law of the set in play, the empty one first.

    The ways to draw K tokens that make up a set are a coefficient of the product of its symbols'
    series e^(q z) - 1, and of e^(idle z); all terms are positive, so nothing cancels.
    """
    size, count = len(symbols), symbols.count
    members = np.zeros((1, size), dtype=np.bool_)
    series = np.array([[symbols.idle**k / factorial(k) for k in range(count + 1)]])
    for symbol, q in enumerate(symbols.mass):
        grows = members.sum(axis=1) < count
        grown, less = members[grows], series[grows]
        grown[:, symbol] = True
        more = np.zeros_like(less)
        for k in range(1, count + 1):
            more[:, k:] += less[:, : count + 1 - k] * (q**k / factorial(k))
        members, series = np.concatenate([members, grown]), np.concatenate([series, more])
    return Sets(members, series[:, count] * factorial(count))
