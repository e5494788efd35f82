"""How far tokens that were written lie from the law that they should follow, and how far draws from
that law itself would lie.

The distance is the total variation over cells: tokens that so many rounds should show a few times
each, and all others as one. Rarer tokens would only add noise. What honest rounds show is thrown
too, with a fixed seed: the band is as wide as chance is at this law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.bounds.pair import Ints
from core.host import Floats

Verdict = Literal["kept", "unsure", "broken"]

_EXPECTED = 5  # times that a token should be seen, to be a cell
_MOST = 512  # cells
_STOPS = 10  # numbers of rounds at which distances are taken
_FIRST = 100  # rounds
_HONEST = 500  # histograms thrown from the law itself
_RARE = 0.99  # share of them that the band holds


@dataclass(frozen=True, slots=True)
class Band:
    """Cells of a law: `tokens` (C,), the likeliest first, and `p` (C + 1,) with all others last.

    `rounds` (T,): after how many distances are taken. `mean` and `most` (T,): the mean distance of
    draws from the law itself, and the one that 99 of 100 such histograms stay within.
    """

    tokens: Ints
    p: Floats
    rounds: Ints
    mean: Floats
    most: Floats


@dataclass(frozen=True, slots=True)
class Distance:
    """`apart` (T,) after the band's `rounds`; `counts` (T, C + 1) of each cell by then."""

    apart: Floats
    counts: Ints
    verdict: Verdict


def band(p: Floats, rounds: int) -> Band:
    """Return the cells of a law (V,), and how far `rounds` draws from it lie."""
    likely = np.flatnonzero(p * rounds >= _EXPECTED)
    tokens = likely[np.argsort(-p[likely], kind="stable")][:_MOST]
    cells = np.append(p[tokens], max(0.0, 1.0 - float(p[tokens].sum())))
    stops = np.unique(np.geomspace(min(_FIRST, rounds), rounds, _STOPS).round().astype(np.int64))
    dice = np.random.default_rng(0)
    seen = np.zeros((_HONEST, len(cells)), dtype=np.int64)
    apart: list[Floats] = []
    for stop, new in zip(stops, np.diff(stops, prepend=0), strict=True):
        seen += dice.multinomial(new, cells / cells.sum(), size=_HONEST)
        apart.append(_apart(seen, stop, cells))
    most = [float(np.quantile(each, _RARE)) for each in apart]
    return Band(tokens, cells, stops, np.array([each.mean() for each in apart]), np.array(most))


def distance(around: Band, tokens: Ints) -> Distance:
    """Compare the `tokens` (R,) that were written with the law of the band.

    `unsure`: one honest histogram in a hundred lies as far. `broken`: at twice the band's margin,
    where no more than one in ten thousand does.
    """
    counts = np.array([_counted(around.tokens, tokens[:stop]) for stop in around.rounds])
    apart = np.array(
        [_apart(c, stop, around.p) for c, stop in zip(counts, around.rounds, strict=True)]
    )
    return Distance(apart, counts, _verdict(float(apart[-1]), around.mean[-1], around.most[-1]))


def _verdict(apart: float, mean: float, most: float) -> Verdict:
    if apart <= most:
        return "kept"
    return "unsure" if apart <= 2 * most - mean else "broken"


def _apart(counts: Ints, rounds: int, p: Floats) -> Floats:
    return 0.5 * np.abs(counts / rounds - p).sum(axis=-1)


def _counted(cells: Sequence[int] | Ints, tokens: Ints) -> Ints:
    found = np.bincount(tokens, minlength=int(np.max(cells, initial=0)) + 1)[cells]
    return np.append(found, len(tokens) - found.sum())
