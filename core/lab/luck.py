"""One luck for all trees: what is drawn from a law depends on the law, not on who asks.

Shapes address their draws each in its own way, so that two of them would draw other tokens at one
node. Here a draw is addressed by the numbers of the law itself: the same node of the same text
gives the same tokens in the same order to every shape, and a shape that draws more of them begins
with those. Within one tree no address is asked twice, as exactness wants it.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import torch
from torch import Tensor

from core.dice import Dice, Key


class SharedLuck:
    """The draws of one tree under `dice`; make one per tree. Nothing is flipped with it."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._asked: Counter[str] = Counter()

    @property
    def u(self) -> float:
        return self._dice.u

    def at(self, *key: Key) -> SharedLuck:
        return self

    def flip(self, heads: float) -> bool:
        raise TypeError("shapes draw tokens, they do not flip")

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        return torch.cat([self._row(row[None], count, replace) for row in weights])

    def _row(self, law: Tensor, count: int, replace: bool) -> Tensor:
        name = hashlib.blake2b(law.cpu().numpy().tobytes(), digest_size=16).hexdigest()
        place = self._asked[name]  # two nodes can have the same law, and luck of their own
        self._asked[name] += 1
        return self._dice.at("law", name, place).draw(law, count, replace)
