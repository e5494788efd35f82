"""The sentence on top of the page: did it pay? From the run's own numbers, never from a promise."""

from __future__ import annotations

from statistics import fmean, median

from core.metrics import round_ms, speedup_with_prompt, tokens_per_pass
from core.trace import Trace
from viz.columns import rounds_drawn
from viz.numbers import count, duration, durations, rate
from viz.payload import Run
from viz.sentence import Strong, say

_EVEN = 0.05  # closer to plain decoding than this counts as even
_LATE = 5  # times the usual round: the machine was busy with something else


def verdict_on(trace: Trace) -> list[Run]:
    """Return the sentence: tokens and passes count the prompt pass, plain decoding is modelled."""
    emitted, passes = map(int, tokens_per_pass(trace).counts)
    if not emitted:
        return say("No tokens yet.")
    opening = f"{count(emitted, 'token')} in {count(passes, 'target pass')}".replace(
        "passs", "passes"
    )
    each = f", {rate(emitted / passes)} each. " if passes else ". "
    return say(Strong(opening), each, _against_plain(trace))


def _against_plain(trace: Trace) -> str:
    modelled, measured = speedup_with_prompt(trace).counts
    if not any(r.drafted for r in trace.rounds):
        took = duration(sum(map(round_ms, trace.rounds)))
        return f"Nothing was drafted, so this is plain decoding: {took}."
    if not measured or not modelled:
        took = duration(sum(map(round_ms, trace.rounds)))
        return f"It took {took}; no plain step was timed, so there is nothing to compare it with."
    times = " against ".join(durations(measured, modelled))
    ratio = modelled / measured
    slower = ratio < 1 - _EVEN
    reason = f"{_burden(trace) if slower else _balance(trace)}{_delays(trace)}."
    if slower:
        opening = "Still slower" if _wins(trace) else "Slower"
        return f"{opening} than plain decoding, {times}: {reason}"
    if ratio <= 1 + _EVEN:
        return f"As fast as plain decoding, {times}: {reason}"
    return f"That is {rate(ratio)} times as fast as plain decoding, {times}: {reason}"


def _wins(trace: Trace) -> bool:
    """Return whether a pass gives more than plain decoding's one token at all."""
    emitted, passes = tokens_per_pass(trace).counts
    return emitted / passes > 1 + _EVEN


def _burden(trace: Trace) -> str:
    """Name what costs most, in plain steps."""
    draft, verify = _steps(trace, "draft"), _steps(trace, "verify")
    if draft > verify:
        return f"drafting a round costs as much as {rate(draft)} plain steps"
    if verify >= 1.2:
        return f"checking a round costs as much as {rate(verify)} plain steps"
    return _balance(trace)


def _balance(trace: Trace) -> str:
    won = fmean(len(r.outcome.emitted) for r in rounds_drawn(trace))
    steps = _steps(trace, "draft") + _steps(trace, "verify")
    return f"a round wins {rate(won)} tokens and costs as much as {rate(steps)} plain steps"


def _delays(trace: Trace) -> str:
    """Say when a few rounds took so much longer that they, not the method, made the time."""
    times = [round_ms(r) for r in rounds_drawn(trace)]
    late = sum(time > _LATE * median(times) for time in times)
    return (
        f"; {late:,} of {count(len(times), 'round')} took over {_LATE} times the usual time"
        if late
        else ""
    )


def _steps(trace: Trace, part: str) -> float:
    """Return the usual time of a part of a round, in plain steps."""
    assert trace.plain_step_ms
    costs = [r.cost for r in rounds_drawn(trace)]
    times = [c.draft_ms if part == "draft" else c.verify_ms for c in costs]
    return median(times) / trace.plain_step_ms
