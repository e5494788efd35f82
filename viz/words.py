"""What a round and a text are called in words. Knows no node."""

from __future__ import annotations

from core.trace import Trace
from viz.numbers import count
from viz.reading import Reading

_FINISHED = frozenset({"length", "eos", "stop", "context"})


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
    return (
        f"{drafted}; the text ends inside the draft."
        if r.outcome.origin == "none"
        else f"{drafted}."
    )


def note(reading: Reading) -> str:
    """Return how to read the tree of this round."""
    r = reading.round
    if reading.is_prompt:
        return "One pass of the target over the prompt gives the first token."
    if not r.drafted:
        return _empty(r.stop.reason if r.stop else "")
    at = " at temperature 1" if reading.greedy else ""
    if all(reading.q(node) is None for node in range(1, reading.size)):
        return f"Dot area is the target's p{at}. This draft has no q, so all lines are alike."
    return (
        f"Line width is the draft's q, dot area the target's p{at}. "
        "A thick line into a small dot: the drafter was too sure."
    )


def _empty(reason: str) -> str:
    told = reason.replace("_", " ")
    return "The target took one plain step." + (
        f" Why: {told}." if told not in ("", "none") else ""
    )


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


def is_finished(trace: Trace) -> bool:
    return trace.finish_reason in _FINISHED


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
