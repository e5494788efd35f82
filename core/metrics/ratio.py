"""Numerator and denominator per round, and what can be done with them. Knows no trace."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numerators and denominators, one of each per round of the trace, in its order."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]

    @property
    def counts(self) -> tuple[float, float]:
        """Sums of both, over all rounds."""
        return math.fsum(self.numerator), math.fsum(self.denominator)

    @property
    def value(self) -> float | None:
        """The quotient of the sums; None where nothing counts."""
        above, below = self.counts
        return above / below if below else None


def wilson(hits: float, tries: float, z: float = 1.96) -> tuple[float, float] | None:
    """Return Wilson's score interval for `hits` in `tries`, or None without tries.

    z = 1.96 gives 95 %.
    """
    if not tries:
        return None
    share = hits / tries
    scale = 1 + z * z / tries
    middle = share + z * z / (2 * tries)
    half = z * math.sqrt(share * (1 - share) / tries + (z / (2 * tries)) ** 2)
    low = 0.0 if hits == 0 else (middle - half) / scale
    high = 1.0 if hits == tries else (middle + half) / scale
    return low, high


def pooled(ratios: Iterable[Ratio]) -> Ratio:
    """Join several texts end to end, so that longer ones weigh more (micro average)."""
    parts = tuple(ratios)
    return Ratio(
        tuple(x for part in parts for x in part.numerator),
        tuple(x for part in parts for x in part.denominator),
    )


def mean_of(ratios: Iterable[Ratio]) -> float | None:
    """Average several texts so that each counts once, however long it is (macro average).

    Texts without a value are left out; None when none has one.
    """
    values = [value for ratio in ratios if (value := ratio.value) is not None]
    return math.fsum(values) / len(values) if values else None
