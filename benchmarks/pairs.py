"""Comparing two commands on a noisy machine: interleaved pairs, the median of their ratios, a
bootstrap interval.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Timed = Callable[[], float]  # runs once, returns seconds


@dataclass(frozen=True, slots=True)
class Ratio:
    """`median` of b / a over all pairs, with a 95 % bootstrap interval; `seconds`: medians of a and
    of b.
    """

    median: float
    low: float
    high: float
    pairs: int
    seconds: tuple[float, float]


def interleave(cases: Sequence[Sequence[Timed]], repeats: int) -> list[list[float]]:
    """Run every case's commands `repeats` times, in turn forwards and backwards; return seconds."""
    times: list[list[float]] = []
    for repeat in range(repeats):
        for commands in cases:
            order = range(len(commands))
            made = {i: commands[i]() for i in (reversed(order) if repeat % 2 else order)}
            times.append([made[i] for i in order])
    return times


def ratio(times: Sequence[tuple[float, float]], seed: int = 0, rounds: int = 2000) -> Ratio:
    """Return how much longer b takes than a; below 1, b is faster."""
    values = [b / a for a, b in times]
    rng = random.Random(seed)
    medians = sorted(median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return Ratio(
        median(values),
        medians[round(0.025 * rounds)],
        medians[round(0.975 * rounds) - 1],
        len(values),
        (median(a for a, _ in times), median(b for _, b in times)),
    )
