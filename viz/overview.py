"""All of a trace that is not one round: the sentence on top, settings, strip, charts."""

from __future__ import annotations

import hashlib

from core.trace import Trace
from viz.acceptance import acceptance
from viz.hardest import hardest, hardest_note
from viz.numbers import count
from viz.payload import Badge, Overview
from viz.reading import vocabulary
from viz.settings import settings, source
from viz.strip import scrub, strip
from viz.text import Vocabulary
from viz.timeline import timeline
from viz.verdict import verdict_on
from viz.words import finish


def overview(trace: Trace, origin: str = "", words: Vocabulary | None = None) -> Overview:
    """Return the overview; `origin` opens the source line, `Recorded example` say."""
    words = words or vocabulary(trace)
    return {
        "id": trace_id(trace),
        "title": trace.title or first_line(trace.prompt.text),
        "method": trace.method,
        "method_name": trace.method_name,
        "badge": badge(trace),
        "sentence": verdict_on(trace),
        "source": source(trace, origin),
        "prompt": trace.prompt.text,
        "settings": settings(trace),
        "strip": strip(trace, words),
        "scrub": scrub(trace),
        "timeline": timeline(trace),
        "acceptance": acceptance(trace),
        "hardest": hardest(trace, words),
        "hardest_note": hardest_note(trace),
        "finish": finish(trace),
        "finished": True,
        "rounds": len(trace.rounds),
    }


def trace_id(trace: Trace) -> str:
    """Return a short name of the run: the same for the same record, wherever it is stored."""
    emitted = [r.outcome.emitted for r in trace.rounds]
    name = (trace.created, trace.method, trace.sampling.seed, trace.prompt.token_ids, emitted)
    return hashlib.blake2b(repr(name).encode(), digest_size=6).hexdigest()


def badge(trace: Trace) -> Badge:
    """Return whether the text has the law of plain sampling, and what that means here."""
    if trace.lossless:
        same = (
            "Same text as greedy"
            if trace.sampling.temperature == 0
            else "Same law as plain sampling"
        )
        return {"lossless": True, "word": "Lossless", "meaning": same}
    relaxed = sum(
        r.nodes.state[node] == "relaxed" for r in trace.rounds for node in r.outcome.accepted
    )
    if not relaxed and all(r.judge is None for r in trace.rounds):
        return {"lossless": False, "word": "Lossy", "meaning": "Not the law of plain sampling"}
    total = sum(len(r.outcome.emitted) for r in trace.rounds)
    meaning = f"{relaxed:,} of {count(total, 'token')} stayed by the relaxed rule only"
    return {"lossless": False, "word": "Lossy", "meaning": meaning}


def first_line(text: str) -> str:
    """Return the first line of a prompt as its title."""
    lines = text.strip().splitlines()
    line = lines[0] if lines else "Untitled"
    return line if len(line) <= 60 else line[:59].rstrip() + "…"
