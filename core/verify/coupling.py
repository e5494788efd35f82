"""What a record keeps of a transport plan: the likeliest sets of candidates, and what each leads
to, under the plan and under K-SEQ on the same symbols.

A cell is the chance that this set is in play and the output is in this column. Where the column is
in the set a candidate stayed, else the target wrote a token of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np

from core.bounds.bins import bins, independent_optimum
from core.extras import TransportNode
from core.host import Floats, floats
from core.reduce import six_digits
from core.verify.alphabet import FREE, Alphabet, Places, largest
from core.verify.plan import Plan

ROWS, COLUMNS = 10, 9  # most sets, and most symbols that they are made of
NAMED = 3  # tokens of a column

_DIGITS = 4  # of a cell
_SEEN = 5e-5  # least chance of a row, but for that of the draw

Row = tuple[int, ...]  # a set of symbols; FREE alone stands for all draws with a free token


def told(node: int, plan: Plan, tokens: Sequence[int]) -> TransportNode:
    """Return the record of the plan at `node`, where `tokens` were drawn."""
    symbols = plan.symbols
    own = _row_of(plan, tokens)
    rows = _rows(plan, own)
    table = _table(symbols, list(dict.fromkeys(place for row in rows for place in row)))
    rest = table.law(symbols.target - plan.kept)
    k_seq = _KSeq.of(symbols, table)
    laws = bins(symbols.target, symbols.drawn, symbols.count)
    best = independent_optimum(laws, symbols.count)
    chances = np.array([plan.accept, k_seq.accept(), max(best, plan.accept)])
    accept, accept_k_seq, best = floats(six_digits(chances.clip(0, 1)))
    return TransportNode(
        node=node,
        drafts=symbols.count,
        accept=accept,
        k_seq=accept_k_seq,
        best=best,
        is_exact=symbols.is_exact,
        token=[*map(table.named, range(len(table.places))), []],
        size=cast(list[int], np.bincount(table.of, minlength=len(table.places) + 1).tolist()),
        p=_short(table.sums(symbols.target)),
        q=_short(table.sums(symbols.drawn)),
        free=table.places.index(FREE) if FREE in table.places else None,
        sets=[list(map(table.places.index, row)) for row in rows],
        mass=_short(np.array([_mass(plan, row) for row in rows])),
        drawn=rows.index(own),
        by_plan=[_short(_by_plan(plan, row, table, rest)) for row in rows],
        by_k_seq=[_short(k_seq.cells(row)) for row in rows],
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns: the symbol of each, or FREE; one more, the last, holds all other tokens. `of` (V,):
    the column of every token.
    """

    symbols: Alphabet
    places: list[int]
    of: Places

    def sums(self, law: Floats) -> Floats:
        """Return the mass of a law (V,) per column."""
        return np.bincount(self.of, law, len(self.places) + 1).astype(np.float64)

    def law(self, rest: Floats) -> Floats:
        """Return the same, rescaled to one; zeros where nothing is left."""
        found = self.sums(rest.clip(min=0))
        return found / found.sum() if found.any() else found

    def named(self, column: int) -> list[int]:
        """Return the largest tokens of a column."""
        tokens = np.flatnonzero(self.of == column)
        larger = np.maximum(self.symbols.target, self.symbols.drawn)[tokens]
        return cast(list[int], tokens[largest(larger, NAMED)].tolist())


def _table(symbols: Alphabet, places: list[int]) -> _Table:
    of = np.full(len(symbols.place), len(places), dtype=np.int64)
    for column, place in enumerate(places):
        of[symbols.place == place] = column
    return _Table(symbols, places, of)


def _row_of(plan: Plan, tokens: Sequence[int]) -> Row:
    """Return the row of a draw; of bundled tokens, the symbols that are rather in play than not."""
    places = {int(plan.symbols.place[token]) for token in tokens}
    return (FREE,) if FREE in places else tuple(sorted(plan.likely(tokens)))


def _rows(plan: Plan, own: Row) -> list[Row]:
    """Return the likeliest rows and `own`, as long as there are columns for them."""
    likely = np.argsort(-plan.sets.mass, kind="stable")[: 8 * ROWS]
    members = [np.flatnonzero(plan.sets.members[place]) for place in likely]
    sets = [tuple(found.tolist()) for found in members]
    ranked = sorted({own, (FREE,), *sets}, key=lambda row: (-_mass(plan, row), row))
    chosen, used = {own}, set(own)
    for row in ranked:
        fits = len(used | set(row)) <= COLUMNS and len(chosen) < ROWS
        if fits and _mass(plan, row) > _SEEN:
            chosen.add(row)
            used |= set(row)
    return [row for row in ranked if row in chosen]


def _mass(plan: Plan, row: Row) -> float:
    if row == (FREE,):
        return plan.symbols.any_free
    return float(plan.sets.mass[plan.place(row)])


def _by_plan(plan: Plan, row: Row, table: _Table, rest: Floats) -> Floats:
    """Return the cells of one row: what stays, and what is written with the law `rest` instead."""
    symbols, cells = plan.symbols, np.zeros(len(table.places) + 1)
    if row == (FREE,):
        cells[table.places.index(FREE)] = symbols.any_free
        return cells
    mass, chance = _mass(plan, row), plan.chance[plan.place(row)]
    for symbol in row:
        cells[table.places.index(symbol)] = mass * float(chance[symbol])
    return cells + max(0.0, mass - float(cells.sum())) * rest


@dataclass(frozen=True, slots=True)
class _KSeq:
    """K-SEQ on the same symbols, whose chances do not depend on the set. `beta` (n,): what one
    candidate takes of each symbol; `rest`: the law of what is written if all candidates fail.

    That all candidates in play are of the symbols t, and the first to stay is one of symbol i, has
    the probability beta_i times the sum of R^(j-1) Q^(K-j), Q being what can be drawn and R what of
    it is missed. That they are exactly these symbols follows by inclusion and exclusion.
    """

    table: _Table
    beta: Floats
    rest: Floats

    @staticmethod
    def of(symbols: Alphabet, table: _Table) -> _KSeq:
        taken = np.minimum(symbols.drawn, symbols.target / symbols.rho)
        beta = np.array([taken[tokens].sum() for tokens in symbols.tokens])
        return _KSeq(table, beta, table.law(symbols.target - symbols.rho * symbols.drawn))

    def accept(self) -> float:
        symbols = self.table.symbols
        return 1 - max(0.0, 1 - symbols.free - float(self.beta.sum())) ** symbols.count

    def cells(self, row: Row) -> Floats:
        """Return the cells of one row: what stays, and what is written instead."""
        return self._beside_free() if row == (FREE,) else self._of_set(list(row))

    def _of_set(self, row: list[int]) -> Floats:
        symbols, cells = self.table.symbols, np.zeros(len(self.rest))
        inside = np.array(list(product((0.0, 1.0), repeat=len(row))))
        sign = (-1.0) ** (len(row) - inside.sum(axis=1))
        drawn = symbols.idle + inside @ symbols.mass[row]
        missed = drawn - inside @ self.beta[row]
        first = sign * _first(missed, drawn, symbols.count)
        for symbol, value in zip(row, floats(self.beta[row] * (first @ inside)), strict=True):
            cells[self.table.places.index(symbol)] = value
        return cells + max(0.0, float(sign @ missed**symbols.count)) * self.rest

    def _beside_free(self) -> Floats:
        """Return the cells of all draws with a free token: it cannot be missed, but others can stay
        first.
        """
        symbols, places = self.table.symbols, self.table.places
        cells = np.zeros(len(self.rest))
        missed = np.full(2, 1 - symbols.free - float(self.beta.sum()))
        ever, without = floats(_first(missed, np.array([1.0, 1 - symbols.free]), symbols.count))
        cells[places.index(FREE)] = symbols.free * ever
        for symbol, value in enumerate(floats(self.beta * (ever - without))):
            cells[places.index(symbol) if symbol in places else -1] += value
        return cells


def _first(missed: Floats, drawn: Floats, count: int) -> Floats:
    """Return the sum over j of missed^(j-1) drawn^(count-j)."""
    return sum((missed**j * drawn ** (count - 1 - j) for j in range(count)), np.zeros_like(missed))


def _short(numbers: Floats) -> list[float]:
    return floats(numbers.clip(0, 1).round(_DIGITS))
