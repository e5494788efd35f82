"""The laws around one token as rows of bars: p over q, then what remains after a miss.

A row keeps its place in both columns. What is not shown is summed in a last row, all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.trace import Law, Residual, Top
from viz.numbers import optional, probability
from viz.payload import Bar
from viz.reading import OWN, Reading

MOST = 7  # rows by the larger of p and q; the tested token is always shown
_NOISE = 1e-6  # the trace keeps six digits

Law_ = dict[int, float]


@dataclass(frozen=True, slots=True)
class Laws:
    """Both laws at one moment, by token id; the rest is the mass of all tokens not listed."""

    p: Law_
    q: Law_ | None
    p_rest: float
    q_rest: float


@dataclass(frozen=True, slots=True)
class Remains:
    """The law after a miss, as far as it is listed."""

    mass: Law_
    rest: float

    def of(self, token: int, laws: Laws) -> float | None:
        """Return what remains of a token; None where it is too small to be listed but not known to be nothing."""
        if token in self.mass:
            return self.mass[token]
        covered = laws.q is not None and laws.p.get(token, 0.0) <= laws.q.get(token, 0.0)
        return 0.0 if covered or self.rest < _NOISE else None


def bars(reading: Reading, node: int) -> list[Bar]:
    """Return the rows for `node`: the laws that it was tested against, or that it follows."""
    laws = laws_at(reading, node)
    if laws is None:
        return []
    tested = None if node == 0 else reading.token(node)
    remains = remains_at(reading, node)
    return _Rows(reading, 0 if node == 0 else reading.parent(node), laws, remains, tested).all()


def laws_at(reading: Reading, node: int) -> Laws | None:
    """Return both laws at the moment when `node` was tested: earlier siblings are gone from them."""
    law = reading.law_of.get(0 if node == 0 else reading.parent(node))
    if law is None:
        return None
    laws = _recorded(law, reading.greedy)
    if node in (0, OWN) or reading.greedy or node not in reading.check_of:
        return laws
    missed = reading.missed(node)
    if not missed:
        return laws
    return _later(reading, node, laws, reading.residual_of.get(missed[-1]))


def remains_at(reading: Reading, node: int) -> Remains | None:
    """Return the law after `node` was rejected; for the target's own correction, the law that it was drawn from."""
    if reading.greedy:
        return None
    if node == OWN:
        top = reading.round.outcome.final_top
        return _remains(top) if top and reading.round.outcome.origin == "correction" else None
    residual = reading.residual_of.get(node)
    return _remains(residual) if residual else None


def _remains(found: Residual | Top) -> Remains:
    return Remains(dict(zip(found.token, found.mass, strict=True)), found.rest)


def _recorded(law: Law, raw: bool) -> Laws:
    p, q = (law.p_raw, law.q_raw) if raw else (law.p, law.q)
    p_rest, q_rest = (law.p_raw_rest, law.q_raw_rest) if raw else (law.p_rest, law.q_rest)
    return Laws(
        dict(zip(law.token, p, strict=True)),
        None if q is None else dict(zip(law.token, q, strict=True)),
        p_rest,
        q_rest or 0.0,
    )


def _later(reading: Reading, node: int, laws: Laws, residual: Residual | None) -> Laws:
    """Take the missed siblings out: p is what they left, q is rescaled where it was drawn without replacement."""
    q, q_rest = _spent(reading, node, laws)
    if residual is None:
        return Laws(laws.p, q, laws.p_rest, q_rest)
    left = _remains(residual)
    known = {token: left.of(token, laws) for token in [*residual.token, *laws.p]}
    return Laws({t: m for t, m in known.items() if m is not None}, q, residual.rest, q_rest)


def _spent(reading: Reading, node: int, laws: Laws) -> tuple[Law_ | None, float]:
    nodes = reading.round.nodes
    drawn, before = nodes.q[node], nodes.q_before_siblings[node]
    if laws.q is None or not drawn or not before or drawn <= before * (1 + _NOISE):
        return laws.q, laws.q_rest
    scale = drawn / before
    siblings = reading.children[reading.parent(node)]
    gone = {reading.token(other) for other in siblings[: siblings.index(node)]}
    q = {token: 0.0 if token in gone else min(1.0, mass * scale) for token, mass in laws.q.items()}
    return q, min(1.0, laws.q_rest * scale)


@dataclass(frozen=True, slots=True)
class _Rows:
    reading: Reading
    after: int
    laws: Laws
    remains: Remains | None
    tested: int | None

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
        q = None if self.laws.q is None else self.laws.q.get(token, 0.0)
        left = None if self.remains is None else self.remains.of(token, self.laws)
        return {
            "label": self.reading.candidate(token, self.after),
            "p": p,
            "q": q,
            "p_text": probability(p),
            "q_text": optional(q),
            "tested": token == self.tested,
            "remains": left,
            "remains_text": optional(left) or ("<.001" if self.remains else ""),
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


def _rest(law: Law_, shown: list[int], rest: float) -> float:
    found = rest + sum(mass for token, mass in law.items() if token not in shown)
    return min(1.0, found) if found >= _NOISE else 0.0
