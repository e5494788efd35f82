"""What many prompts say together: a median, and an interval that needs no law of the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_TAIL = 40  # of so many such intervals one may lie wholly above the median, and one below: 95 %


@dataclass(frozen=True, slots=True)
class Median:
    """`value` of `count` numbers; `low` to `high` holds the median of all such prompts with a
    chance of at least 95 %, None where too few numbers can promise that: it takes six.
    """

    value: float
    low: float | None
    high: float | None
    count: int


def median_of(numbers: Sequence[float]) -> Median | None:
    """Return the median, None of no number.

    The interval ends at two of the numbers: as many lie outside it on either side as can without
    its chance, a sum of binomial terms, falling under 95 %.
    """
    if not numbers:
        return None
    ordered = sorted(numbers)
    outside = _outside(len(ordered))
    if outside is None:
        return Median(median(ordered), None, None, len(ordered))
    return Median(median(ordered), ordered[outside], ordered[-1 - outside], len(ordered))


def _outside(count: int) -> int | None:
    """Return how many of the numbers may lie below the interval, as many above it."""
    below, chances = -1, 0
    while below < count and _TAIL * (chances + math.comb(count, below + 1)) <= 2**count:
        below += 1
        chances += math.comb(count, below)
    return below if below >= 0 else None
