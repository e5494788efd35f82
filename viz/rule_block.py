"""Words for tokens that block verification decided: their joint ratio, their dart, and the last
dart that hit.
"""

from __future__ import annotations

from core.extras import BlockExtras
from core.trace import Check
from viz.numbers import decimals_for, difference, probability
from viz.payload import Run
from viz.reading import Reading
from viz.sentence import Part, say

_REASONS = frozenset({"u<h", "u>=h", "later_stayed"})
_LARGEST = 99.5  # quotient that is shown with its value


def ledger(reading: Reading) -> BlockExtras | None:
    """Return the ledger of a round that was verified as a block."""
    return next((e for e in reading.round.extras if isinstance(e, BlockExtras)), None)


def told(reading: Reading, node: int) -> list[Run] | None:
    """Return why a token of a block stands where it stands; None where another rule decided."""
    extra, check = ledger(reading), reading.check(node)
    if extra is None or check is None or reading.round.nodes.reason[node] not in _REASONS:
        return None
    if node not in extra.node:  # a record from elsewhere may leave it out
        return None
    place = extra.node.index(node)
    decimals = decimals_for(check.accept_probability, check.u)
    return say(
        *_verdict(reading, node, check),
        *_gave(reading, node, check, extra.ratio[place]),
        f" With it the draft's joint ratio w is {probability(extra.joint[place])}",
        *_dart(check, decimals, place + 1 == len(extra.node)),
        *_consequence(reading, node, check),
    )


def ratio(value: float) -> str:
    """Return a quotient p/q, which can be above one."""
    if value < 1:
        return probability(value)
    return f"{value:.1f}" if value < _LARGEST else "over 99"


def _verdict(reading: Reading, node: int, check: Check) -> list[Part]:
    if reading.state(node) == "rejected":
        return ["Rejected. "]
    return ["Accepted. "] if check.passed else ["Accepted, although its own dart missed. "]


def _gave(reading: Reading, node: int, check: Check, quotient: float) -> list[Part]:
    target = "nothing" if not check.p else probability(check.p)
    if check.q is None:
        return ["The draft offered ", reading.label(node), f" outright, the target gives {target}."]
    return [
        "The draft gave ",
        reading.label(node),
        f" {probability(check.q)}, the target {target}: p/q is {ratio(quotient)}.",
    ]


def _dart(check: Check, decimals: int, is_last: bool) -> list[Part]:
    chance, u = check.accept_probability, check.u
    if chance >= 1:
        return [", and its dart cannot miss."]
    if chance <= 0:
        return [", and its dart cannot hit."]
    mark, shown = probability(chance, decimals), probability(u, decimals)
    why = (
        "which is the chance of the last dart" if is_last else f"and the chance of its dart {mark}"
    )
    where = "inside" if check.passed else "beyond"
    return [f", {why}. It fell at {shown}, {where} by {difference(shown, mark)}."]


def _consequence(reading: Reading, node: int, check: Check) -> list[Part]:
    """Return what the dart decided, given the others."""
    later = [c for c in reading.round.checks if c.passed and c.node > node]
    if reading.state(node) == "rejected":
        return [" No later dart hit."] if node < reading.round.checks[-1].node else []
    if later:
        last = reading.label(later[-1].node)
        also = "" if check.passed else ", and the last hit decides"
        return [" The dart of ", last, f", later in the draft, hit{also}."]
    return (
        [" A later dart hit."]
        if not check.passed
        else [" It is the last to hit: all before it stays."]
    )
