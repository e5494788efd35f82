"""Random values of the kinds that a trace holds: rounded numbers, shares of one, token ids."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Luck:
    """Draws from `random`; token ids are below `vocabulary`."""

    def __init__(self, random: Random, vocabulary: int) -> None:
        self.random = random
        self.vocabulary = vocabulary

    def flip(self) -> bool:
        return self.random.random() < 0.5

    def maybe(self, value: T) -> T | None:
        return value if self.random.random() < 0.7 else None

    def whole(self, low: int, high: int) -> int:
        """Return one of low, low + 1, ..., high."""
        return self.random.randint(low, high)

    def one_of(self, values: Sequence[T]) -> T:
        return self.random.choice(values)

    def number(self) -> float:
        """Return a share of one, the limits and what is nearly 0 more often than chance would."""
        return float(f"{self.one_of([0.0, 1.0, self.random.random(), 1e-7]):.6g}")

    def numbers(self, size: int) -> list[float]:
        return [self.number() for _ in range(size)]

    def falling(self, size: int) -> list[float]:
        return sorted(self.numbers(size), reverse=True)

    def column(self, size: int) -> list[float | None]:
        return [self.maybe(self.number()) for _ in range(size)]

    def tokens(self, count: int) -> list[int]:
        return [self.random.randrange(self.vocabulary) for _ in range(count)]

    def distinct(self, count: int) -> list[int]:
        return self.random.sample(range(self.vocabulary), count)

    def mass(self, count: int) -> tuple[list[float], float]:
        """Return the masses of `count` tokens, and that of all others."""
        weights = [self.random.random() for _ in range(count + 1)]
        parts = [float(f"{w / sum(weights):.6g}") for w in weights]
        return parts[:-1], parts[-1]
