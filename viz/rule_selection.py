"""Words for nodes that a selection decided before the test: which draft was selected, and how it
was tested against the law p_I of what is selected.
"""

from __future__ import annotations

from core.extras import Duel, Pick, SelectionExtras
from core.trace import Check
from viz.numbers import count, decimals_for, difference, optional, probability, quotient
from viz.payload import Run
from viz.reading import OWN, Reading
from viz.sentence import Part, say

TESTED = frozenset({"u<p/p_I", "u>=p/p_I"})
_PASSED_OVER = "not_selected"
_LANDED = "landed"


def selections(reading: Reading) -> list[Pick]:
    """Return the selections of a round, in the order made."""
    extra = next((e for e in reading.round.extras if isinstance(e, SelectionExtras)), None)
    return [] if extra is None else extra.picks


def selection_at(reading: Reading, node: int) -> Pick | None:
    """Return the selection among the children of `node`, where there were several drafts."""
    return next((pick for pick in selections(reading) if pick.node == node), None)


def telling(reading: Reading) -> Pick | None:
    """Return the first selection that had something to decide, or the first at all."""
    found = selections(reading)
    return next(
        (pick for pick in found if pick.duels and pick.used > 1), found[0] if found else None
    )


def told(reading: Reading, node: int) -> list[Run] | None:
    """Return why `node` stands where it stands, where a selection decided that."""
    reason, check = reading.round.nodes.reason[node], reading.check(node)
    if check is not None:
        return _tested(reading, node, check) if reason in TESTED else None
    if reason == _LANDED:
        return _landed(reading, node)
    branch = _branch(reading, node)
    if reading.round.nodes.reason[branch] != _PASSED_OVER:
        return None
    if branch != node:
        return say("Not reached: ", reading.label(branch), ", which it follows, was not selected.")
    return _passed_over(reading, node)


def after(reading: Reading, node: int) -> list[Run] | None:
    """Return what follows the rejection of a selected token; None where it was not one."""
    place = reading.check_of.get(node)
    residual = None if place is None else reading.residual_at.get(place)
    if residual is None or reading.round.nodes.reason[node] not in TESTED:
        return None
    law = law_name(reading, node)
    begun = f"What p has beyond {law} sums to {probability(residual.left)}. "
    landed = _landing(reading, reading.parent(node))
    if landed is None and reading.own is None:
        return say(begun)
    token = reading.token(OWN if landed is None else landed)
    label = reading.candidate(token, reading.parent(node))
    share = dict(zip(residual.token, residual.mass, strict=True)).get(token)
    held = "" if share is None else f", which holds {probability(share)} of it"
    goes_on = "" if landed is None else " It had been drafted too, so the walk goes on there."
    return say(begun, "Rescaled to 1, it gives the token that comes: ", label, f"{held}.{goes_on}")


def law_name(reading: Reading, node: int) -> str:
    """Return what the law is called that the token of a tested node was drawn from."""
    selected = reading.round.nodes.reason[node] in TESTED
    return "p_I" if selected and selection_at(reading, reading.parent(node)) else "q"


def _landing(reading: Reading, node: int) -> int | None:
    """Return the child of `node` that the target's own token fell on."""
    reasons = reading.round.nodes.reason
    return next((child for child in reading.children[node] if reasons[child] == _LANDED), None)


def _branch(reading: Reading, node: int) -> int:
    """Return where the way to `node` leaves the accepted path."""
    path = reading.path()
    while node not in path and reading.parent(node) not in path:
        node = reading.parent(node)
    return node


def _tested(reading: Reading, node: int, check: Check) -> list[Run]:
    verdict = "Accepted. " if check.passed else "Rejected. "
    return say(verdict, *_came_about(reading, node, check), *_dart(check))


def _came_about(reading: Reading, node: int, check: Check) -> list[Part]:
    label, pick = reading.label(node), selection_at(reading, reading.parent(node))
    decimals = decimals_for(check.accept_probability, check.u)
    law, target = optional(check.q, decimals), optional(check.p, decimals)
    if pick is None:
        return ["The draft gave ", label, f" {law}, the target {target}"]
    among = count(len(pick.candidates), "draft")
    return [
        label,
        f" was selected from {among}. It is selected with probability {law} in all (p_I), the "
        f"target gives it {target}",
    ]


def _dart(check: Check) -> list[Part]:
    chance, u = check.accept_probability, check.u
    if chance >= 1:
        return [", at least as much, so it stays wherever the dart falls."]
    if chance <= 0:
        return [", so it cannot stay."]
    decimals = decimals_for(chance, u)
    shown, mark = probability(u, decimals), probability(chance, decimals)
    ratio = quotient(check.p or 0.0, check.q or 1.0, decimals)
    where = "inside" if check.passed else "beyond"
    return [
        f", so it may stay with chance {ratio if mark in ratio else mark}. "
        f"The dart fell at {shown}, {where} it by {difference(shown, mark)}."
    ]


def _landed(reading: Reading, node: int) -> list[Run]:
    label, pick = reading.label(node), selection_at(reading, reading.parent(node))
    selected: list[Part] = [] if pick is None else [reading.label(pick.selected), " was rejected, "]
    return say(
        "Accepted without a test of its own. ",
        *selected,
        "and the target's own token is ",
        label,
        ", which had been drafted too: the walk goes on there.",
    )


def _passed_over(reading: Reading, node: int) -> list[Run]:
    label, pick = reading.label(node), selection_at(reading, reading.parent(node))
    if pick is None:
        return say("Not selected: ", label, ".")
    lost = next((duel for duel in reversed(pick.duels) if node in (duel.held, duel.new)), None)
    numbers = f"The draft gave it {optional(reading.q(node))}, the target {_p(reading, node)}."
    if lost is None or _sits_out(pick, node):
        return say(
            "Not selected: ",
            label,
            " took no part, since its selection would not have covered more of p. ",
            numbers,
        )
    return say("Not selected: ", *_meeting(reading, lost, node), numbers)


def _sits_out(pick: Pick, node: int) -> bool:
    return node not in pick.candidates[: pick.used]


def _meeting(reading: Reading, duel: Duel, node: int) -> list[Part]:
    """Tell the meeting that `node` lost."""
    other = duel.new if duel.held == node else duel.held
    label, winner = reading.label(node), reading.label(other)
    if duel.u is None:
        return [label, " met ", winner, ", which goes first. "]
    chance = duel.chance if duel.held == node else 1 - duel.chance
    return [label, " met ", winner, f" and had a chance of {probability(chance)}. "]


def _p(reading: Reading, node: int) -> str:
    p = reading.p(node)
    return "an unknown share" if p is None else probability(p) if p else "nothing"
