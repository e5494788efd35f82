"""The enumerator of chance: runs real code once for every way its dice can fall.

`law(run)` returns {result: probability}. Probabilities are products of the very numbers that the
code hands to its dice, in float64 and summed with `fsum`, so that a lossless rule is exact to a few
units in the last place.

The enumerator is also a judge: it refuses an address that is asked twice in one run (a number that
decided what was thrown away must not decide again), weights that are no weights, and code that
depends on anything but its dice. Knows no model and no method.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from core.dice import Key

R = TypeVar("R", bound=Hashable)
Address = tuple[Key, ...]

RUNS = 50_000  # more ways to fall than this: the toy is too large


class BadChanceError(AssertionError):
    """The code under test uses chance in a way that cannot be exact."""


@dataclass
class _Fork:
    """One place where chance decided: how likely each way is, and which one this run takes."""

    ways: tuple[float, ...]
    taken: int = 0


@dataclass
class _Run:
    """Chance of one run: follows the forks of `script`, then takes the first way at a new one."""

    script: list[_Fork]
    depth: int = 0
    probability: float = 1.0
    asked: set[Address] = field(default_factory=set)

    def visit(self, address: Address) -> None:
        if address in self.asked:
            raise BadChanceError(f"the dice at {address} are thrown twice in one run")
        self.asked.add(address)

    def choose(self, ways: Sequence[float]) -> int:
        """Return which way this run goes; a sure thing is no fork."""
        possible = [way for way, chance in enumerate(ways) if chance > 0]
        if len(possible) == 1:
            return possible[0]
        ways = tuple(ways[way] for way in possible)
        if self.depth == len(self.script):
            self.script.append(_Fork(ways))
        fork = self.script[self.depth]
        if fork.ways != ways:
            raise BadChanceError(
                "the same throws led to other chances: the code keeps state between runs"
            )
        self.depth += 1
        self.probability *= ways[fork.taken]
        return possible[fork.taken]


class EnumeratedDice:
    """The dice of one run (the contract of `core.dice.Dice`)."""

    def __init__(self, run: _Run, address: Address = ()) -> None:
        self._run = run
        self._address = address
        self._u = 0.0

    @property
    def u(self) -> float:
        """The worst number that still gives the last verdict: 0 where it passed, `heads` where it
        failed.
        """
        return self._u

    def at(self, *key: Key) -> EnumeratedDice:
        return EnumeratedDice(self._run, self._address + key)

    def flip(self, heads: float) -> bool:
        if not 0 <= heads <= 1:
            raise BadChanceError(f"a coin at {self._address} shows heads with probability {heads}")
        self._run.visit(self._address)
        passed = self._run.choose((1 - heads, heads)) == 1
        self._u = 0.0 if passed else heads
        return passed

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        self._run.visit(self._address)
        drawn = [self._row(row, count, replace) for row in weights.tolist()]
        return torch.tensor(drawn, dtype=torch.long, device=weights.device).view(-1, count)

    def _row(self, weights: list[float], count: int, replace: bool) -> list[int]:
        if not all(0 <= weight < math.inf for weight in weights):
            raise BadChanceError(f"weights at {self._address} are no weights: {weights}")
        drawn: list[int] = []
        for _ in range(count):
            total = math.fsum(weights)
            drawn.append(self._run.choose([w / total for w in weights]) if total else -1)
            if not replace and total:
                weights = [0.0 if token == drawn[-1] else w for token, w in enumerate(weights)]
        return drawn


def runs(run: Callable[[EnumeratedDice], R]) -> Iterator[tuple[R, float]]:
    """Yield (result, probability) for every way the dice of `run` can fall, depth first."""
    script: list[_Fork] = []
    for _ in range(RUNS):
        chance = _Run(script)
        result = run(EnumeratedDice(chance))
        if chance.depth != len(script):
            raise BadChanceError(
                "the same throws asked for fewer dice: the code keeps state between runs"
            )
        yield result, chance.probability
        while script and script[-1].taken == len(script[-1].ways) - 1:
            script.pop()
        if not script:
            return
        script[-1].taken += 1
    raise BadChanceError(f"more than {RUNS} ways to fall: make the toy smaller")


def law(run: Callable[[EnumeratedDice], R]) -> dict[R, float]:
    """Return the exact law of what `run` returns."""
    found: dict[R, list[float]] = defaultdict(list)
    for result, probability in runs(run):
        found[result].append(probability)
    return {result: math.fsum(parts) for result, parts in found.items()}


def distance(one: Mapping[R, float], other: Mapping[R, float]) -> float:
    """Return the largest difference between two laws, over all results of either."""
    return max((abs(one.get(r, 0.0) - other.get(r, 0.0)) for r in {*one, *other}), default=0.0)
