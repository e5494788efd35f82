"""The ledger of darts: one row per accept test, in the order made."""

from __future__ import annotations

from core.trace import Check
from viz import rule_longest
from viz.numbers import DECIMALS, decimals_for, probability, quotient
from viz.payload import Dart
from viz.reading import Reading
from viz.rules import by_quotient, is_without_luck, verdict
from viz.states import state_of

_ROOM = 19  # characters of the making of a chance


def darts(reading: Reading) -> list[Dart]:
    """Return the rows of a round."""
    return [_dart(reading, place, check) for place, check in enumerate(reading.round.checks)]


def _dart(reading: Reading, place: int, check: Check) -> Dart:
    chance, u = check.accept_probability, check.u
    decimals = _decimals(check)
    fixed = reading.greedy or is_without_luck(reading, place)
    return {
        "number": place + 1,
        "node": check.node,
        "label": reading.label(check.node),
        "state": state_of(reading, check.node),
        "accept": chance,
        "u": u,
        "numbers": _numbers(reading, place, check),
        "u_text": "" if fixed else f"u {probability(u, decimals)}",
        "verdict": _verdict(reading, place, check),
        "greedy": fixed,
    }


def _verdict(reading: Reading, place: int, check: Check) -> str:
    """Return what came of a test in a word or two."""
    if reading.check_of[check.node] != place:
        return "missed"
    if check.passed and reading.round.nodes.reason[check.node] == "shorter_strand":
        return "passed"  # another strand was taken
    return verdict(reading, check.node)


def _numbers(reading: Reading, place: int, check: Check) -> str:
    if reading.greedy:
        return ranks(reading, check.node)
    return judged(reading, place) if is_without_luck(reading, place) else numbers(check)


def judged(reading: Reading, place: int) -> str:
    """Return a judge's score beside its threshold: `.311, needs more than .090`."""
    judge = reading.round.judge
    score = None if judge is None else judge.score[place]
    least = None if judge is None else judge.threshold[place]
    if score is None or least is None:
        return ""
    return f"{probability(score)}, needs more than {probability(least)}"


def numbers(check: Check) -> str:
    """Return the chance and its making: `.068 / .255 ≈ .265`; `p .412` for a fixed draft."""
    decimals = _decimals(check)
    if by_quotient(check) and check.p is not None and check.q is not None:
        told = quotient(check.p, check.q, decimals)
        return told if len(told) <= _ROOM else f"p/q {told.split()[-1]}"
    name = "p" if check.q is None and check.p is not None else "keep"
    rest = " of the rest" if name == "p" and (check.mass_before or 1.0) < 1 else ""
    return f"{name}{rest} {probability(check.accept_probability, decimals)}"


def ranks(reading: Reading, node: int) -> str:
    """Return the place of a token in the target's order, for the arg-max rule."""
    rank = reading.round.scalars.rank_in_p[node]
    if rank is None:
        return ""
    p = reading.p(node)
    return f"choice {rank:,}" if p is None else f"choice {rank:,}, p {probability(p)}"


def _decimals(check: Check) -> int:
    """Rows keep three decimals unless dart and mark would look equal."""
    same = probability(check.accept_probability) == probability(check.u)
    return decimals_for(check.accept_probability, check.u) if same else DECIMALS


def ledger_head(reading: Reading) -> str:
    size = len(reading.round.checks)
    name = "check" if reading.greedy or _is_all_without_luck(reading) else "dart"
    return (
        f"The {size:,} {name}s of this round"
        if size > 1
        else f"The one {name} of this round"
        if size
        else ""
    )


def ledger_note(reading: Reading) -> str:
    if not reading.round.checks:
        return ""
    if reading.greedy:
        return "Temperature 0: a token stays when it is the target's first choice."
    if _is_all_without_luck(reading):
        return "No dart decides: a token stays by the rule's own threshold."
    if "later_stayed" in reading.round.nodes.reason or "u<h" in reading.round.nodes.reason:
        return "A dart in its bar hits; the last hit decides how much stays."
    if any(reason in rule_longest.REASONS for reason in reading.round.nodes.reason):
        return "A token passes where its dart lands in the bar; the longest run of passes stays."
    return "A dart that lands in the bar keeps the token."


def _is_all_without_luck(reading: Reading) -> bool:
    return all(is_without_luck(reading, place) for place in range(len(reading.round.checks)))
