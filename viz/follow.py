"""What follows a test, in words: the law that remains, and the chance of the next dart."""

from __future__ import annotations

from core.trace import Check, Residual
from viz.numbers import probability
from viz.payload import Label, Run
from viz.reading import OWN, Reading
from viz.rule_selection import after as after_selection
from viz.rules import own_share
from viz.sentence import Part, say


def after(reading: Reading, node: int) -> list[Run]:
    """Return what comes after the verdict on `node`; nothing where it was not tested."""
    check = None if node == OWN else reading.check(node)
    if check is None:
        return []
    if check.passed or reading.state(node) in ("accepted", "relaxed"):
        return say(*_goes_on(reading, node))
    selected = after_selection(reading, node)
    if selected is not None:
        return selected
    residual = reading.residual_at.get(reading.check_of[node])
    if reading.greedy or residual is None:
        return say(*_then(reading, node))
    return say(*_remains(reading, node, check, residual), *_held(reading, node, residual))


def _next(reading: Reading, node: int) -> Check | None:
    """Return the check made after the one of `node`."""
    place = reading.check_of[node] + 1
    return reading.round.checks[place] if place < len(reading.round.checks) else None


def _goes_on(reading: Reading, node: int) -> list[Part]:
    following = _next(reading, node)
    if following is not None:
        depth, name = reading.depths[following.node], "check" if reading.greedy else "dart"
        number = reading.check_of[following.node] + 1
        return [
            f"The walk goes on to depth {depth}: {name} {number} is for ",
            reading.label(following.node),
            ".",
        ]
    if reading.own is None:
        return ["The text ends here."]
    return ["Nothing is left to try: the target writes ", reading.label(OWN), "."]


def _then(reading: Reading, node: int) -> list[Part]:
    following = _next(reading, node)
    if following is not None:
        return [reading.label(following.node), " is tried next."]
    if reading.own is None:
        return []
    return ["Nothing else was drafted here: the target writes ", reading.label(OWN), "."]


def _remains(reading: Reading, node: int, check: Check, residual: Residual) -> list[Part]:
    left = probability(residual.left)
    tail = f" {left}; rescaled to 1 it is the next law. "
    earlier = bool(reading.missed(node))
    if check.q is None:
        whole = "what was left" if earlier else "p"
        return ["Without ", reading.label(node), f", {whole} sums to{tail}"]
    return [f"What {'was left' if earlier else 'p has'} beyond q sums to{tail}"]


def _held(reading: Reading, node: int, residual: Residual) -> list[Part]:
    following = _next(reading, node)
    if following is None or reading.parent(following.node) != reading.parent(node):
        return _written(reading)
    label, number = reading.label(following.node), reading.check_of[following.node] + 1
    chance = following.accept_probability
    outcome = (
        f"dart {number} cannot miss."
        if chance >= 1
        else f"dart {number} cannot hit."
        if chance <= 0
        else f"dart {number} keeps it with chance {probability(chance)}."
    )
    return [*_shares(label, following), f", so {outcome}"]


def _shares(label: Label, check: Check) -> list[Part]:
    holds = "none" if not check.p else probability(check.p)
    if check.q is None:
        return [label, f" now holds {holds} of it"]
    return [label, f" now holds {holds} of it and the draft gives it {probability(check.q)}"]


def _written(reading: Reading) -> list[Part]:
    if reading.own is None:
        return []
    share = own_share(reading)
    held = "" if share is None else f", which holds {probability(share)} of it"
    return ["Nothing else was drafted here: the target writes ", reading.label(OWN), f"{held}."]
