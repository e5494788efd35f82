"""Both laws at the moment of a test, and the law that a miss leaves.

Earlier siblings that missed are gone from both: p is what they left, q is rescaled where it was
drawn without replacement. The trace lists the largest tokens of a law; smaller ones are derived
where the rule gives them.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.trace import Check, Law
from viz.reading import OWN, Reading
from viz.rule_selection import law_name
from viz.rules import by_quotient

NOISE = 1e-6  # the trace keeps six digits

Masses = dict[int, float]


@dataclass(frozen=True, slots=True)
class Laws:
    """Both laws at one moment, by token id; the rest is the mass of all tokens not listed."""

    p: Masses
    q: Masses | None
    p_rest: float
    q_rest: float


@dataclass(frozen=True, slots=True)
class Remains:
    """The law after a miss, as far as it is known."""

    mass: Masses
    rest: float

    def of(self, token: int) -> float | None:
        """Return what remains of a token, None where that is unknown."""
        return self.mass.get(token, 0.0 if self.rest < NOISE else None)


def laws_at(reading: Reading, node: int) -> Laws | None:
    """Return both laws at the moment that decided `node`: without its earlier siblings."""
    if node not in (0, OWN) and node in reading.check_of:
        return laws_before(reading, reading.check_of[node])
    law = reading.law_of.get(0 if node == 0 else reading.parent(node))
    return None if law is None else _recorded(law, reading.greedy)


def laws_before(reading: Reading, place: int) -> Laws | None:
    """Return both laws at the moment of check number `place`, from 0."""
    node = reading.round.checks[place].node
    law = reading.law_of.get(reading.parent(node))
    if law is None:
        return None
    laws = _recorded(law, reading.greedy)
    missed = reading.misses_before(place)
    if reading.greedy:
        return laws
    q, q_rest = _spent(reading, node, laws)
    if not missed:
        return Laws(laws.p, q, laws.p_rest, q_rest)
    left = remains_after(reading, missed[-1])
    return (
        Laws(laws.p, q, laws.p_rest, q_rest)
        if left is None
        else Laws(left.mass, q, left.rest, q_rest)
    )


def remains_at(reading: Reading, node: int) -> Remains | None:
    """Return the law after `node` was rejected; for `OWN`, the law that a correction came from."""
    if reading.greedy:
        return None
    if node == OWN:
        return _corrected(reading)
    place = reading.check_of.get(node)
    return None if place is None else remains_after(reading, place)


def remains_after(reading: Reading, place: int) -> Remains | None:
    """Return the law that the miss of check number `place` left."""
    residual = reading.residual_at.get(place)
    if residual is None:
        return None
    listed = Remains(dict(zip(residual.token, residual.mass, strict=True)), residual.rest)
    laws = laws_before(reading, place)
    check = reading.round.checks[place]
    return listed if laws is None else _derived(reading, check, laws, residual.left, listed)


def _corrected(reading: Reading) -> Remains | None:
    top = reading.round.outcome.final_top
    if top is None or reading.round.outcome.origin != "correction":
        return None
    checks = enumerate(reading.round.checks)
    missed = [place for place, c in checks if reading.parent(c.node) == reading.end]
    whole = remains_after(reading, missed[-1]) if missed else None
    return whole or Remains(dict(zip(top.token, top.mass, strict=True)), top.rest)


def _derived(reading: Reading, check: Check, laws: Laws, left: float, listed: Remains) -> Remains:
    """Add tokens too small to be listed, where the rule gives them: p beyond q, rescaled."""
    by_law = check.q is None or (by_quotient(check) and law_name(reading, check.node) == "q")
    if listed.rest < NOISE or not left or not by_law:
        return listed
    gone = reading.token(check.node)
    q: Masses = {gone: 1.0} if check.q is None else laws.q or {}
    mass, rest = dict(listed.mass), listed.rest
    for token, p in laws.p.items():
        if token not in mass:
            mass[token] = min(rest, max(0.0, p - q.get(token, 0.0)) / left)
            rest -= mass[token]
    return Remains(mass, rest)


def _recorded(law: Law, raw: bool) -> Laws:
    p, q = (law.p_raw, law.q_raw) if raw else (law.p, law.q)
    p_rest, q_rest = (law.p_raw_rest, law.q_raw_rest) if raw else (law.p_rest, law.q_rest)
    return Laws(
        dict(zip(law.token, p, strict=True)),
        None if q is None else dict(zip(law.token, q, strict=True)),
        p_rest,
        q_rest or 0.0,
    )


def _spent(reading: Reading, node: int, laws: Laws) -> tuple[Masses | None, float]:
    nodes = reading.round.nodes
    drawn, before = nodes.q[node], nodes.q_before_siblings[node]
    if laws.q is None or not drawn or not before or drawn <= before * (1 + NOISE):
        return laws.q, laws.q_rest
    scale = drawn / before
    siblings = reading.children[reading.parent(node)]
    gone = {reading.token(other) for other in siblings[: siblings.index(node)]}
    q = {token: 0.0 if token in gone else min(1.0, mass * scale) for token, mass in laws.q.items()}
    return q, min(1.0, laws.q_rest * scale)
