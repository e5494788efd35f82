"""The token strip and the scrubber: every token of the text with its kind, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from core.trace import Origin, Round, Trace
from viz.payload import Kind, Label, Scrub, StripRound, StripToken
from viz.reading import read
from viz.text import Flowing, Vocabulary

_OWN: dict[Origin, Kind] = {
    "correction": "correction",
    "bonus": "bonus",
    "plain": "plain",
    "none": "plain",
}

Flow = Sequence[Flowing]


def strip(trace: Trace, words: Vocabulary) -> list[StripRound]:
    """Return the text as rounds of tokens; characters spread over several are repaired."""
    flows = flows_of(trace, words)
    return [
        {"index": r.index, "tokens": _tokens(r, flow), "rejected": _rejected(trace, place, words)}
        for place, (r, flow) in enumerate(zip(trace.rounds, flows, strict=True))
    ]


def scrub(trace: Trace) -> list[Scrub]:
    """Return the heights of the scrubber's columns."""
    return [{"accepted": len(r.outcome.accepted), "end": r.outcome.origin} for r in trace.rounds]


def flows_of(trace: Trace, words: Vocabulary) -> list[Flow]:
    """Return the labels of each round; texts of several sequences run on separately."""
    found: list[Flow] = [[] for _ in trace.rounds]
    for sequence in sorted({r.sequence for r in trace.rounds}):
        places = [place for place, r in enumerate(trace.rounds) if r.sequence == sequence]
        tokens = [token for place in places for token in trace.rounds[place].outcome.emitted]
        flow = words.flow(tokens, _unfinished(trace, words))
        start = 0
        for place in places:
            stop = start + len(trace.rounds[place].outcome.emitted)
            found[place] = flow[start:stop]
            start = stop
    return found


def _unfinished(trace: Trace, words: Vocabulary) -> bytes:
    before = b""
    for token in trace.prompt.token_ids[-4:]:
        before = words.after(before, token)
    return before


def _tokens(r: Round, flow: Flow) -> list[StripToken]:
    accepted = r.outcome.accepted
    return [
        {
            "label": token.label,
            "text": token.text,
            "kind": kind_of(r, place),
            "node": accepted[place] if place < len(accepted) else None,
            "position": r.prefix_length + place,
            "joined": token.joined,
        }
        for place, token in enumerate(flow)
    ]


def kind_of(r: Round, place: int) -> Kind:
    """Return how the token at a place among those that a round emitted came about."""
    if place >= len(r.outcome.accepted):
        return _OWN[r.outcome.origin]
    return "relaxed" if r.nodes.state[r.outcome.accepted[place]] == "relaxed" else "accepted"


def _rejected(trace: Trace, place: int, words: Vocabulary) -> list[Label]:
    r = trace.rounds[place]
    tried = [check.node for check in r.checks if r.nodes.state[check.node] == "rejected"]
    if not tried:
        return []
    reading = read(trace, place, words)
    return [reading.label(node) for node in dict.fromkeys(tried)]
