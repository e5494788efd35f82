"""What a round and a text are called in words. Knows no node."""

from __future__ import annotations

from core.trace import Trace
from viz.numbers import count, nats, probability
from viz.reading import Reading

# by the reason that drafting stopped before its first token
_WHY_EMPTY = {
    "room": "One token was left to write, so a draft had no room.",
    "plain": "",
    "text_ended": "The words occur before, but the text ends behind them: nothing to copy.",
    "draft_context": "The drafter's context is full.",
    "no_match": "The end of the text occurs nowhere before, so there was nothing to copy.",
}

# by the reason that drafting stopped at its value, with that and the threshold
_WHY_ENDED = {
    "confidence": "its confidence fell to {}, below {}",
    "entropy": "the drafter grew unsure: {}, above {}",
    "decision": "the decision model gave {}, not above {}",
    "gain": "a step added {} to what it expected to win, not above {}",
    "below_threshold": "the best open slot was worth {}, below {}",
}
_UNBOUNDED = frozenset({"entropy", "gain"})  # values that are no probabilities


def headline(reading: Reading) -> str:
    """Return `33 tokens drafted, 2 kept, 1 written by the target.` and its variants."""
    r = reading.round
    kept, wrote = len(r.outcome.accepted), r.outcome.final_token is not None
    if reading.is_prompt:
        read = f"The prompt pass: {count(r.prefix_length, 'token')} read"
        return f"{read}, 1 written by the target." if wrote else f"{read}."
    if not r.drafted:
        return (
            "Nothing was drafted, 1 token written by the target."
            if wrote
            else "Nothing was drafted."
        )
    drafted = f"{count(r.drafted, 'token')} drafted, {kept or 'none'} kept"
    if wrote:
        return f"{drafted}, 1 written by the target."
    ends = r.outcome.origin == "none" and r is reading.trace.rounds[-1]
    return f"{drafted}; the text ends inside the draft." if ends else f"{drafted}."


def note(reading: Reading) -> str:
    """Return how to read the tree of this round."""
    r = reading.round
    if reading.is_prompt:
        return "One pass of the target over the prompt gives the first token."
    if not r.drafted:
        drafts = any(other.drafted for other in reading.trace.rounds)
        return _empty(r.stop.reason if r.stop and drafts else "")
    return f"{_lines_and_dots(reading)}{_stopped(reading)}"


def list_note(reading: Reading) -> str:
    """Return how to read the same round as a list of rows."""
    if reading.is_prompt or not reading.round.drafted:
        return note(reading)
    return f"{_bars(reading)}{_stopped(reading)}"


def _lines_and_dots(reading: Reading) -> str:
    at = " at temperature 1" if reading.greedy else ""
    if not _has_q(reading):
        return f"Dot area is the target's p{at}. This draft has no q, so all lines are alike."
    return (
        f"Line width is the draft's q, dot area the target's p{at}. "
        "A thick line into a small dot: the drafter was too sure."
    )


def _bars(reading: Reading) -> str:
    at = " at temperature 1" if reading.greedy else ""
    if not _has_q(reading):
        return f"Solid bar: the target's p{at}. This draft has no q."
    return (
        f"Solid bar: the target's p{at}. Hollow bar: the draft's q. "
        "Hollow much longer: the drafter was too sure."
    )


def _has_q(reading: Reading) -> bool:
    return any(reading.q(node) is not None for node in range(1, reading.size))


def _stopped(reading: Reading) -> str:
    """Say why the draft ended where a number decided; a length or a budget says nothing of it."""
    stop = reading.round.stop
    if stop is None or stop.value is None or stop.threshold is None:
        return ""
    told = _WHY_ENDED.get(stop.reason)
    if told is None or (stop.reason == "confidence" and not stop.threshold):
        return ""
    write = nats if stop.reason in _UNBOUNDED else probability
    return f" Drafting stopped where {told.format(write(stop.value), write(stop.threshold))}."


def _empty(reason: str) -> str:
    told = reason.replace("_", " ")
    known = f"{told.capitalize()}." if told not in ("", "none") else ""
    why = _WHY_EMPTY.get(reason, known)
    return f"The target took one plain step. {why}".rstrip()


def finish(trace: Trace) -> str:
    """Return one sentence on why the text ended."""
    reason = trace.finish_reason
    if reason == "error":
        return trace.message or "The run failed, and left no message."
    if reason == "cancelled":
        return _cancelled(trace)
    return {
        "length": f"Stopped at the limit of {count(trace.sampling.max_new_tokens, 'new token')}.",
        "eos": "The model ended the text.",
        "stop": "Stopped at a stop text.",
        "context": f"Stopped: the model holds {count(trace.models.target.context, 'token')}.",
    }[reason]


def _cancelled(trace: Trace) -> str:
    emitted = sum(len(r.outcome.emitted) for r in trace.rounds)
    done = sum(r.index > 0 for r in trace.rounds)
    if not emitted:
        return "Cancelled before the first token."
    stay = "stays" if emitted == 1 else "stay"
    kept = f"The {count(emitted, 'token')} of {count(done, 'round')} {stay}."
    return (
        f"Cancelled in round {len(trace.rounds)}. {kept}"
        if done
        else f"Cancelled in round 1. The {count(emitted, 'token')} {stay}."
    )
