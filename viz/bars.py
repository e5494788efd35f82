"""The laws around one token as rows of bars: p over q, then what remains after a miss.

A row keeps its place in both columns. What is not shown is summed in a last row, all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from viz.laws import NOISE, Laws, Masses, Remains, laws_at, remains_at
from viz.numbers import optional, probability
from viz.payload import Bar
from viz.reading import Reading

MOST = 7  # rows by the larger of p and q; the tested token is always shown
_DIGITS = 6  # of a bar's length


def bars(reading: Reading, node: int) -> list[Bar]:
    """Return the rows for `node`: the laws that it was tested against, or that it follows."""
    laws = laws_at(reading, node)
    if laws is None:
        return []
    tested = None if node == 0 else reading.token(node)
    after = 0 if node == 0 else reading.parent(node)
    chosen = node != 0 and reading.is_chosen(node)
    return _Rows(reading, after, laws, remains_at(reading, node), tested, chosen).all()


@dataclass(frozen=True, slots=True)
class _Rows:
    reading: Reading
    after: int
    laws: Laws
    remains: Remains | None
    tested: int | None
    is_chosen: bool  # the tested token, which the draft chose and did not draw

    def all(self) -> list[Bar]:
        tokens = self._chosen()
        rows = [self._row(token) for token in tokens]
        others = self._others(tokens)
        return [*rows, others] if others else rows

    def _chosen(self) -> list[int]:
        p, q = self.laws.p, self.laws.q or {}
        tokens = list(p) if not q else [*p, *(token for token in q if token not in p)]
        tokens.sort(key=lambda token: -max(p.get(token, 0.0), q.get(token, 0.0)))
        chosen = tokens[:MOST]
        return chosen if self.tested is None or self.tested in chosen else [*chosen, self.tested]

    def _row(self, token: int) -> Bar:
        p = self.laws.p.get(token, 0.0)
        hidden = token not in self.laws.p and self.laws.p_rest >= NOISE
        q = None if self.laws.q is None else self.laws.q.get(token, 0.0)
        left = None if self.remains is None else self.remains.of(token)
        return {
            "label": self.reading.candidate(token, self.after),
            "p": round(p, _DIGITS),
            "q": None if q is None else round(q, _DIGITS),
            "p_text": "<.001" if hidden else probability(p),
            "q_text": "–" if token == self.tested and self.is_chosen else optional(q),
            "tested": token == self.tested,
            "remains": None if left is None else round(left, _DIGITS),
            "remains_text": optional(left),
        }

    def _others(self, shown: list[int]) -> Bar | None:
        p = _rest(self.laws.p, shown, self.laws.p_rest)
        q = None if self.laws.q is None else _rest(self.laws.q, shown, self.laws.q_rest)
        left = None if self.remains is None else _rest(self.remains.mass, shown, self.remains.rest)
        if max(p, q or 0.0, left or 0.0) == 0:
            return None
        return {
            "label": None,
            "p": p,
            "q": q,
            "p_text": probability(p),
            "q_text": optional(q),
            "tested": False,
            "remains": left,
            "remains_text": optional(left),
        }


def _rest(law: Masses, shown: list[int], rest: float) -> float:
    found = rest + sum(mass for token, mass in law.items() if token not in shown)
    return min(1.0, found) if found >= NOISE else 0.0
