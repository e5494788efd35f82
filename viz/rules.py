"""The rule at one node in words, with its numbers filled in.

Sentences take three decimals, and four where the dart fell close to its mark. Draws nothing.
"""

from __future__ import annotations

import math

from core.trace import Check, Judge
from viz import rule_block, rule_longest, rule_membership, rule_selection, rule_spectr, rule_typical
from viz.numbers import decimals_for, difference, optional, ordinal, probability, quotient
from viz.payload import Run
from viz.reading import OWN, Reading
from viz.sentence import Part, say

VERDICTS = {"accepted": "accepted", "relaxed": "relaxed", "rejected": "rejected"}
REASONS = {
    "budget": "it did not fit the budget",
    "below_threshold": "its value was below the threshold",
    "reranked": "other nodes had a higher value",
    "depth": "it was too deep",
}


def rule(reading: Reading, node: int) -> list[Run]:
    """Return why `node` stands where it stands: its test, or why there was none."""
    if node == OWN:
        return _own(reading)
    if node == 0:
        return say(
            "The text so far ends with ",
            reading.label(0),
            ". The bars show what may follow.",
        )
    check, reason = reading.check(node), reading.round.nodes.reason[node]
    if reason in rule_longest.REASONS and (check is None or reason == "shorter_strand"):
        return rule_longest.longest_strand(reading, node)
    selected = rule_selection.told(reading, node)
    if selected is not None:
        return selected
    own = rule_typical.told(reading, node) or rule_membership.told(reading, node)
    own = own or rule_block.told(reading, node) or rule_spectr.told(reading, node)
    if own is not None:
        return own
    if check is None:
        return _untested(reading, node)
    told = _greedy(reading, node) if reading.greedy else _sampled(reading, node, check)
    return say(f"{verdict(reading, node).capitalize()}. ", *told, *_judged(reading, node))


def verdict(reading: Reading, node: int) -> str:
    """Return the verdict on a tested node in one word."""
    return VERDICTS.get(reading.state(node), "accepted")


def is_without_luck(reading: Reading, place: int) -> bool:
    """Return whether a judge alone decided check number `place`, from 0: its dart is the exact
    rule's.
    """
    return reading.round.judge is not None and reading.round.checks[place].p is None


def by_quotient(check: Check) -> bool:
    """Return whether the chance is the p/q of the check: not every rule's is."""
    if check.p is None or not check.q:
        return False
    return math.isclose(check.accept_probability, min(1.0, check.p / check.q), abs_tol=1e-4)


def _sampled(reading: Reading, node: int, check: Check) -> list[Part]:
    chance, u = check.accept_probability, check.u
    decimals = decimals_for(chance, u)
    gave = _gave(reading, node, check, decimals)
    if chance >= 1:
        enough = ", at least as much" if by_quotient(check) else ""
        return [*gave, f"{enough}, so it stays wherever the dart falls."]
    if chance <= 0:
        return [*gave, ", so it cannot stay."]
    shown, mark = probability(u, decimals), probability(chance, decimals)
    where = "inside" if u < chance else "beyond"
    fell = f" The dart fell at {shown}, {where} it by {difference(shown, mark)}."
    return [*gave, f", so it may stay with chance {_chance(check, decimals)}.{fell}"]


def _chance(check: Check, decimals: int) -> str:
    mark = probability(check.accept_probability, decimals)
    if by_quotient(check) and check.p is not None and check.q is not None:
        told = quotient(check.p, check.q, decimals)
        return told if " = " in told or "≈" in told else mark
    return mark


def _gave(reading: Reading, node: int, check: Check, decimals: int) -> list[Part]:
    """Return what both models give the token at the moment of its test."""
    label, target = reading.label(node), _or_nothing(check.p, decimals)
    misses, whose = len(reading.missed(node)), _whose(reading, node)
    once = "" if misses == 1 else f"{misses} "
    after = (
        f"After {once or 'the '}miss{'es' if misses > 1 else ''} the {whose} "
        if misses
        else f"The {whose} "
    )
    if check.q is None:
        how = ", chosen and not drawn" if reading.is_chosen(check.node) else " outright"
        return [
            after,
            "offers " if misses else "offered ",
            label,
            f"{how}; the target gives it {target}",
        ]
    return [
        after,
        "gives " if misses else "gave ",
        label,
        f" {probability(check.q, decimals)}, the target {target}",
    ]


def _whose(reading: Reading, node: int) -> str:
    """Return what a tested token came from: the draft, or where several drafters stand at one node,
    the one whose try was the last.
    """
    nodes = reading.round.nodes
    if len({name for source in nodes.source[1:] for name in source.split("+")}) < 2:
        return "draft"
    names = nodes.source[node].split("+")
    tests = sum(check.node == node for check in reading.round.checks)
    return f"drafter {names[min(tests, len(names)) - 1]}"


def _or_nothing(value: float | None, decimals: int) -> str:
    if value is None:
        return "an unknown share"
    return probability(value, decimals) if value > 0 else "nothing"


def _greedy(reading: Reading, node: int) -> list[Part]:
    """Tell the arg-max rule by the gap of two logits, which the raw laws give."""
    parent, label = reading.parent(node), reading.label(node)
    rank = reading.round.scalars.rank_in_p[node]
    favourites = _favourites(reading, parent)
    if rank == 1 and favourites:
        gap = reading.round.scalars.top2_gap[parent]
        if gap is None or len(favourites) < 2:
            return [label, " is the target's first choice."]
        second = reading.candidate(favourites[1], parent)
        return [label, f" is the target's first choice, {gap:.2f} logits ahead of ", second, "."]
    if not favourites:
        return [label, " is compared with the target's first choice."]
    first = reading.candidate(favourites[0], parent)
    place = "another" if rank is None else f"its {ordinal(rank)}"
    return [
        "The target's first choice is ",
        first,
        "; ",
        label,
        f" is {place}{_behind(reading, node)}.",
    ]


def _behind(reading: Reading, node: int) -> str:
    best, own = reading.round.scalars.p_max[reading.parent(node)], reading.p(node)
    return f", {math.log(best / own):.2f} logits behind" if best and own else ""


def _favourites(reading: Reading, after: int) -> list[int]:
    """Return the two tokens that the raw target law likes best."""
    law = reading.law_of.get(after)
    if law is None:
        return []
    return [
        token
        for token, _ in sorted(zip(law.token, law.p_raw, strict=True), key=lambda pair: -pair[1])[
            :2
        ]
    ]


def _judged(reading: Reading, node: int) -> list[Part]:
    """Return what a relaxed rule's judge said, and what the exact rule would have said."""
    judge, place = reading.round.judge, reading.check_of[node]
    if judge is None:
        return [" The exact rule would have let it go."] if reading.state(node) == "relaxed" else []
    exact = "kept it" if judge.strict_verdict[place] else "let it go"
    return [f"{_score(judge, place)} The exact rule would have {exact}."]


def _score(judge: Judge, place: int) -> str:
    score, threshold = judge.score[place], judge.threshold[place]
    if score is None:
        return ""
    if threshold is None:
        return f" The judge scored it {score:.3g}."
    side = "above" if score > threshold else "below" if score < threshold else "at"
    return f" The judge scored it {score:.3g}, {side} its threshold {threshold:.3g}."


def _untested(reading: Reading, node: int) -> list[Run]:
    label, state = reading.label(node), reading.state(node)
    numbers = _both(reading, node)
    if state == "probe":
        return say("A probe: scored, never offered. ", *numbers)
    if state == "pruned":
        why = reading.round.nodes.reason[node]
        return say(
            "Pruned: ",
            label,
            f", {REASONS.get(why, why.replace('_', ' ') or 'dropped before the test')}. ",
            *numbers,
        )
    if state in VERDICTS:
        return say(f"{state.capitalize()} without a dart of its own. ", *numbers)
    return say("Not reached: ", *_why_unreached(reading, node), *numbers)


def _why_unreached(reading: Reading, node: int) -> list[Part]:
    """Name the rejected ancestor, or the sibling that was kept in its place."""
    path = reading.path()
    branch = node
    while reading.parent(branch) not in path:
        branch = reading.parent(branch)
    if reading.state(branch) == "rejected":
        return [reading.label(branch), ", which it follows, was rejected. "]
    kept = [child for child in reading.children[reading.parent(branch)] if child in path]
    if kept:
        return [reading.label(kept[0]), " was kept first. "]
    return ["the round ended before it. "]


def _both(reading: Reading, node: int) -> list[Part]:
    """Return both probabilities of a node that was not tested, as far as they are known."""
    q, p = optional(reading.q(node)), optional(reading.p(node))
    where = " at temperature 1" if reading.greedy else ""
    if q and p:
        return [f"The draft gave it {q}, the target {p}{where}."]
    return [f"The target gave it {p}{where}."] if p else []


def _own(reading: Reading) -> list[Run]:
    origin = reading.round.outcome.origin
    why = {
        "correction": "all that was tried here missed",
        "bonus": "the whole draft stood, so its last look gives one more",
    }.get(origin, "nothing was drafted")
    return say(f"Written by the target: {why}. ", *_drawn(reading, origin == "correction"))


def _drawn(reading: Reading, corrected: bool) -> list[Part]:
    """Return which law the target's own token came from, and how likely it was there."""
    label = reading.label(OWN)
    if reading.greedy:
        gap = reading.round.scalars.top2_gap[reading.end]
        favourites = _favourites(reading, reading.end)
        if gap is None or len(favourites) < 2:
            return ["Its first choice is ", label, "."]
        second = reading.candidate(favourites[1], reading.end)
        return ["Its first choice is ", label, f", {gap:.2f} logits ahead of ", second, "."]
    held = own_share(reading)
    if held is None:
        return [label, f" was drawn from {'what remains' if corrected else 'its law'}."]
    law = "What remains gave " if corrected else "Its law gave "
    return [law, label, f" {probability(held)}."]


def own_share(reading: Reading) -> float | None:
    """Return what the law that the target's own token was drawn from gave it."""
    top = reading.round.outcome.final_top
    if top is None or reading.own not in top.token:
        return None
    return top.mass[top.token.index(reading.own)]
