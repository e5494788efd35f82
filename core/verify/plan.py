"""The best way to choose one of K independent candidates: a linear program over sets of symbols.

For every set that can be in play and every symbol in it, how often is that symbol selected? Not
more often than the set is drawn, no symbol more often than it may be, and else as often as can be.

The plan is cut to what is possible after it was solved, and all that follows is computed from the
cut plan: the solver's tolerance costs acceptance, never exactness. Knows no tree and no dice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import cast

import numpy as np
from scipy import optimize
from scipy.sparse import csr_array

from core.host import Floats
from core.verify.alphabet import FREE, Alphabet, Places, Sets, sets_of

Chances = dict[int, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """`chance` (S, n): that a symbol is selected where a set is in play. `kept` (V,): the mass that
    each token gets as a candidate.
    """

    symbols: Alphabet
    sets: Sets
    chance: Floats
    kept: Floats
    row: dict[int, int]  # of a set, by the sum of 2 ** symbol

    @property
    def accept(self) -> float:
        """Return the chance that a candidate stays."""
        return min(1.0, float(self.kept.sum()))

    def place(self, symbols: Iterable[int]) -> int:
        """Return the row of a set."""
        return self.row[sum(1 << symbol for symbol in symbols)]

    def chances(self, drawn: Sequence[int]) -> Chances:
        """Return the chance to stay of each token of a draw, in the order drawn; what these leave
        of one is the chance that none does.
        """
        found = dict.fromkeys(drawn, 0.0)
        free = next((token for token in drawn if self.symbols.place[token] == FREE), None)
        if free is not None:
            return found | {free: 1.0}
        firsts, absent = self._in_play(drawn)
        for inside in product(*([True, False] if absent[s] else [True] for s in firsts)):
            present = [symbol for symbol, is_in in zip(firsts, inside, strict=True) if is_in]
            chance = self.chance[self.place(present)]
            away = prod(absent[symbol] for symbol in firsts if symbol not in present)
            for symbol in present:
                others = prod(1 - absent[other] for other in present if other != symbol)
                for token, first in firsts[symbol].items():
                    found[token] += first * others * away * float(chance[symbol])
        return found

    def likely(self, drawn: Sequence[int]) -> list[int]:
        """Return the symbols of a draw that are rather in play than not."""
        _, absent = self._in_play(drawn)
        return [symbol for symbol, chance in absent.items() if chance < 0.5]

    def _in_play(
        self, drawn: Sequence[int]
    ) -> tuple[dict[int, dict[int, float]], dict[int, float]]:
        """Return per symbol the chance of its drawn tokens to be the first in play, and the chance
        that none is.
        """
        firsts: dict[int, Chances] = {}
        absent: Chances = {}
        for token in drawn:
            symbol, play = int(self.symbols.place[token]), float(self.symbols.play[token])
            if symbol >= 0:
                left = absent.get(symbol, 1.0)
                tokens = firsts.setdefault(symbol, {})
                tokens[token] = tokens.get(token, 0.0) + left * play
                absent[symbol] = left * (1 - play)
        return firsts, absent


def plan(symbols: Alphabet) -> Plan:
    """Return the best plan. Raises ArithmeticError should the solver find none."""
    sets = sets_of(symbols)
    rows, columns = np.nonzero(sets.members)
    solved = _solve(symbols, sets, rows, columns) if len(rows) else np.zeros(0)
    mass = sets.mass[rows]
    chance = np.zeros(sets.members.shape)
    chance[rows, columns] = np.divide(solved, mass, out=np.zeros_like(solved), where=mass > 0)
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1.0)
    selected = sets.mass @ chance
    chance *= np.minimum(symbols.most / np.maximum(selected, symbols.most), 1.0)
    numbers = sets.members @ (1 << np.arange(len(symbols), dtype=np.int64))
    row = {int(number): place for place, number in enumerate(numbers)}
    return Plan(symbols, sets, chance, _kept(symbols, sets.mass @ chance), row)


def _kept(symbols: Alphabet, selected: Floats) -> Floats:
    """Return what every token gets where the symbols are selected with masses (n,)."""
    shares = [*(selected / symbols.mass), 0.0, 0.0]  # per mass in play; NONE and FREE come last
    if symbols.free > 0:
        shares[FREE] = symbols.any_free / symbols.free
    got = np.array(shares)[symbols.place] * symbols.drawn * symbols.play
    return np.minimum(got, symbols.target)


def _solve(symbols: Alphabet, sets: Sets, rows: Places, columns: Places) -> Floats:
    """Return how often each symbol is selected from each set, in the order of the pairs."""
    pairs, size = len(rows), len(sets.mass)
    limits = csr_array(
        (
            np.ones(2 * pairs),
            (np.concatenate([rows, size + columns]), np.tile(np.arange(pairs), 2)),
        ),
        shape=(size + len(symbols), pairs),
    )
    solved = optimize.linprog(
        -np.ones(pairs),
        A_ub=limits,
        b_ub=np.concatenate([sets.mass, symbols.most]),
        bounds=(0, None),
        method="highs",
    )
    found = cast(Floats | None, solved.x)
    if found is None:
        raise ArithmeticError("The linear program of a transport plan was not solved.")
    return found.clip(min=0)
