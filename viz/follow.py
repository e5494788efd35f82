"""What follows a test, in words: the law that remains, and the chance of the next dart."""

from __future__ import annotations

from core.trace import Check, Residual
from viz.numbers import probability
from viz.payload import Label, Run
from viz.reading import OWN, Reading
from viz.rule_selection import after as after_selection
from viz.rules import is_without_luck, own_share
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


def _next(reading: Reading, node: int, parent: int) -> tuple[int, Check] | None:
    """Return the first check of a child of `parent` after the one of `node`, and its place."""
    first = reading.check_of[node] + 1
    later = enumerate(reading.round.checks[first:], first)
    return next(((i, c) for i, c in later if reading.parent(c.node) == parent), None)


def _goes_on(reading: Reading, node: int) -> list[Part]:
    found = _next(reading, node, node)
    if found is not None:
        place, following = found
        luckless = reading.greedy or is_without_luck(reading, place)
        return [
            f"The walk goes on to depth {reading.depths[following.node]}: "
            f"{'check' if luckless else 'dart'} {place + 1} is for ",
            reading.label(following.node),
            ".",
        ]
    if node != reading.end:
        return []
    if reading.own is None:
        return ["The text ends here."]
    return ["Nothing is left to try: the target writes ", reading.label(OWN), "."]


def _then(reading: Reading, node: int) -> list[Part]:
    found = _next(reading, node, reading.parent(node))
    if found is not None:
        return [reading.label(found[1].node), " is tried next."]
    if reading.own is None or reading.parent(node) != reading.end:
        return []
    return ["Nothing else was drafted here: the target writes ", reading.label(OWN), "."]


def _remains(reading: Reading, node: int, check: Check, residual: Residual) -> list[Part]:
    left = probability(residual.left)
    tail = f" {left}; rescaled to 1 it is the next law. "
    earlier = bool(reading.missed(node))
    if check.q is None:
        whole = "what was left" if earlier else "p"
        return ["Without ", reading.label(node), f", {whole} sums to{tail}"]
    drawn = [reading.round.nodes.q[each] for each in reading.children[reading.parent(node)]]
    law = "q" if None not in drawn else "the law it was drawn from"  # q without the chosen tokens
    return [f"What {'was left' if earlier else 'p has'} beyond {law} sums to{tail}"]


def _held(reading: Reading, node: int, residual: Residual) -> list[Part]:
    found = _next(reading, node, reading.parent(node))
    if found is None:
        return _written(reading) if reading.parent(node) == reading.end else []
    place, following = found
    label, number = reading.label(following.node), place + 1
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
