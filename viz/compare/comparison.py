"""All of a comparison but its positions, from all views; good at every moment of a run."""

from __future__ import annotations

from collections.abc import Sequence

from core.trace import Trace
from viz.compare.entry import Entry
from viz.compare.finding import finding, is_inverted
from viz.compare.methods import LIVE, methods
from viz.compare.payload import Comparison
from viz.compare.positions import positions_of
from viz.compare.race import race
from viz.compare.score import score
from viz.compare.table import table
from viz.compare.waterfall import waterfalls
from viz.numbers import count
from viz.overview import first_line
from viz.settings import short_name

_WATERFALL_NOTE = (
    "From plain decoding's time to this method's, in ms, the prompt pass left out. "
    "Hatched: the share that went into tokens thrown away."
)


def compare(entries: Sequence[Entry], name: str, title: str, origin: str) -> Comparison:
    """Return the payload of comparison `name`; `origin` opens the source line."""
    traces = [each.trace for each in entries if each.trace is not None]
    prompt = traces[0].prompt.text if traces else ""
    falls, axis = waterfalls(entries)
    return {
        "id": name,
        "title": title or first_line(prompt),
        "prompt": prompt,
        "source": _source(traces, origin),
        "finding": finding(entries),
        "note": _note(traces),
        "methods": methods(entries),
        "table": table(entries),
        "score": score(entries),
        "places": positions_of(entries),
        "race": race(entries),
        "waterfalls": falls,
        "waterfall_head": "Why accepting more can be slower"
        if is_inverted(entries)
        else "Where the time goes",
        "waterfall_note": _WATERFALL_NOTE,
        "axis_ms": axis,
        "finished": all(each.status not in LIVE for each in entries),
    }


def _source(traces: Sequence[Trace], origin: str) -> str:
    if not traces:
        return origin
    first = traces[0]
    target, sampling = first.models.target, first.sampling
    heat = f"temperature {sampling.temperature:g}" if sampling.temperature else "greedy"
    parts = [
        origin,
        short_name(target),
        f"{target.dtype} on {target.device}",
        f"{heat}, seed {sampling.seed}",
        _machine(first),
        first.created[:10],
    ]
    return " · ".join(part for part in parts if part)


def _machine(trace: Trace) -> str:
    return f"{trace.environment.processor}, {count(trace.environment.threads, 'thread')}"


def _note(traces: Sequence[Trace]) -> str:
    """Say how times were taken, and how far they can be trusted."""
    if not traces:
        return ""
    how = "the time of drafting, verifying, accepting and recording, the prompt pass left out."
    if len({(trace.environment, trace.models.target.device) for trace in traces}) > 1:
        return f"Runs of different machines or versions: their times do not compare. Time: {how}"
    return f"One run of each method on one machine ({_machine(traces[0])}): {how}"
