"""The sentence under a waterfall: what was saved, and what most of it went for."""

from __future__ import annotations

from core.compare.waterfall import Waterfall
from viz.compare.measured import Measured
from viz.numbers import count, milliseconds, rate
from viz.payload import Run
from viz.sentence import say

_LITTLE = 0.1  # of what was saved: a cost below this is told as small


def sentence(parts: Waterfall, number: Measured, most: bool) -> list[Run]:
    """Return the two numbers that decide, in words. `most`: no other method saves so many passes.

    They are what fewer passes save and the largest cost; where no pass is saved, that cost and the
    time that it leads to.
    """
    name, cost = max(_costs(parts).items(), key=lambda each: each[1])
    total, plain = milliseconds(parts.total), milliseconds(parts.plain)
    if parts.fewer_passes >= 0:
        if cost <= 0:
            return say(f"No target pass is saved: {total} against {plain}.")
        top = f"{name} {_verb(name, 'comes')} on top"
        return say(f"No target pass is saved, so {top}: {milliseconds(cost)} of the {total}.")
    opening = _saved(parts, number, most)
    if cost <= 0:
        return say(f"{opening}, and nothing is paid for that: {total} in all.")
    return say(f"{opening}{_spent(parts, number, name, cost)}")


def _costs(parts: Waterfall) -> dict[str, float]:
    return {
        "drafting": parts.drafting,
        "wider passes": parts.wider_passes,
        "accepting and recording": parts.rest,
    }


def _saved(parts: Waterfall, number: Measured, most: bool) -> str:
    passes, saved = number.tokens - number.passes, milliseconds(-parts.fewer_passes)
    if most:
        return f"Saves the most target passes, {passes:,}, worth {saved}"
    if passes == 1:
        return f"One target pass fewer saves {saved}"
    return f"{passes:,} target passes fewer save {saved}"


def _spent(parts: Waterfall, number: Measured, name: str, cost: float) -> str:
    told, why, saved = milliseconds(cost), _why(parts, number, name), -parts.fewer_passes
    if cost > saved:
        return f", but {name} alone {_verb(name, 'costs')} {told}: {why}."
    if parts.total > parts.plain:
        return f", but what it takes is more: {name} first, {told}, {why}."
    if cost < _LITTLE * saved:
        return f", and little is paid for that, most for {name}: {told}."
    return f"; {name} {_verb(name, 'takes')} {told} of that: {why}."


def _verb(name: str, verb: str) -> str:
    return verb if name == "drafting" else verb.removesuffix("s")


def _why(parts: Waterfall, number: Measured, name: str) -> str:
    if name == "drafting":
        drafted = f"{count(number.drafted, 'token')}, {number.accepted:,} kept"
        passes = number.draft_passes
        if not passes:
            return drafted
        return f"{passes:,} draft pass{'es' if passes > 1 else ''} for {drafted}"
    if name == "wider passes":
        width = rate(1 + number.drafted / max(1, number.passes))
        return f"each scores {width} tokens on average and wins {rate(number.per_pass or 0)}"
    more = milliseconds(parts.rest / max(1, number.passes))
    return f"{more} a pass more than in plain decoding"
