"""The only randomness. Algorithms ask a `Dice`; users seed it, tests enumerate every way it can
fall.

A dice is addressed by key (sequence, text position, purpose, rank ...): the same key gives the same
numbers in every method, so that two methods compared on one prompt share their luck.

An address is asked once in a run. A number that helped to decide what was thrown away must not
decide again what is kept: draft draws are keyed by (round start, position), accept flips and final
draws by position, which sequential rules visit once. The enumerator in the tests refuses a second
visit.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import torch
from torch import Tensor

Key = int | str


class Dice(Protocol):
    """A source of chance at one address."""

    @property
    def u(self) -> float:
        """The uniform number in [0, 1) that the last `flip` used."""
        ...

    def at(self, *key: Key) -> Dice:
        """Return the dice at a longer address."""
        ...

    def flip(self, heads: float) -> bool:
        """Return True with probability `heads`: when `u < heads`, so that 0 never passes."""
        ...

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        """Draw `count` tokens per row of `weights` (R, V), which need not sum to one; return (R,
        count), draw order kept.

        Without replacement a row whose support is used up yields -1.
        """
        ...


class SeededDice:
    """Numbers from a hash of (seed, address, how many were asked for there): no hidden state, the
    same everywhere.
    """

    def __init__(self, seed: int, address: tuple[Key, ...] = ()) -> None:
        self._seed = seed
        self._address = address
        self._asked = 0
        self._u = 0.0

    @property
    def u(self) -> float:
        return self._u

    def at(self, *key: Key) -> SeededDice:
        return SeededDice(self._seed, self._address + key)

    def flip(self, heads: float) -> bool:
        self._u = self._uniforms(1)[0]
        return self._u < heads

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        rows = weights.shape[0]
        uniforms = torch.tensor(self._uniforms(rows * count), dtype=_wide(weights)).view(
            rows, count
        )
        uniforms = uniforms.to(weights.device)
        if replace or count == 1:
            return _invert(weights, uniforms)
        drawn = [_invert(weights, uniforms[:, :1])]
        for i in range(1, count):
            weights = weights.scatter(1, drawn[-1].clamp(min=0), 0.0)
            drawn.append(_invert(weights, uniforms[:, i : i + 1]))
        return torch.cat(drawn, dim=1)

    def _uniforms(self, count: int) -> list[float]:
        """Return 53-bit uniforms, eight from each 64-byte digest."""
        numbers: list[float] = []
        while len(numbers) < count:
            name = repr((self._seed, self._address, self._asked)).encode()
            digest = hashlib.blake2b(name).digest()
            numbers += [
                (int.from_bytes(digest[i : i + 8], "big") >> 11) * 2.0**-53 for i in range(0, 64, 8)
            ]
            self._asked += 1
        return numbers[:count]


def _wide(weights: Tensor) -> torch.dtype:
    """Sums over 49,152 entries want float64; Apple's GPUs have none."""
    return torch.float32 if weights.device.type == "mps" else torch.float64


def _invert(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Invert the cumulative sums of `weights` (R, V) at `uniforms` (R, K); -1 where a row has no
    mass.
    """
    sums = weights.cumsum(dim=1, dtype=_wide(weights))
    total = sums[:, -1:].contiguous()
    index = torch.searchsorted(sums, uniforms * total, right=True)
    last = torch.searchsorted(
        sums, total
    )  # first index that reaches the total: rounding may not pass it
    return torch.where(total > 0, torch.minimum(index, last), torch.full_like(index, -1))
