"""The two remarks beside the line map: why a round ended, and where one draft met two verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.compare.overlay import Cover, Station
from core.metrics import offered
from viz.compare.payload import Note
from viz.compare.payload import Station as Drawn
from viz.payload import Label
from viz.reading import OWN, Reading
from viz.sentence import Part, named, say

_KEPT = frozenset({"accepted", "relaxed"})
_NAMED = 2  # tokens that a remark lists; more are counted


@dataclass(frozen=True, slots=True)
class Stationed:
    """A station with its place on the map."""

    station: Station
    drawn: Drawn

    def methods(self, *states: str) -> list[int]:
        """Return the methods whose line here has one of these states, of all without any."""
        lines = self.drawn["lines"]
        return [line["method"] for line in lines if not states or line["state"] in states]


def notes(
    called: Sequence[str],
    readings: Sequence[Reading | None],
    shown: Sequence[Stationed],
    preferred: Sequence[int],
    found: Sequence[Cover | None],
) -> list[Note]:
    """Return at most one remark of each kind. The end of one round is told: that of the first of
    the `preferred` methods of which something can be said.
    """
    ends = (_ending(called, readings, shown, method) for method in preferred)
    told = [next((end for end in ends if end), None), _verdicts(called, readings, shown, found)]
    return [note for note in told if note]


def written_by(reading: Reading) -> list[int]:
    """Return the nodes of the text that a round wrote, the target's own token last."""
    return [*reading.round.outcome.accepted, *([] if reading.own is None else [OWN])]


def _ending(
    called: Sequence[str],
    readings: Sequence[Reading | None],
    shown: Sequence[Stationed],
    method: int,
) -> Note | None:
    """Say what the target wrote where a draft ended, and what the drafter had there."""
    reading = readings[method]
    at = next((each for each in shown if (method, None) in _stops(each)), None)
    if reading is None or at is None or not reading.round.drafted:
        return None
    own, name = reading.label(OWN), called[method]
    shows = offered(reading.round.nodes)
    tried = [child for child in reading.children[reading.end] if shows[child]]
    ends = f", so its round ends at {at.drawn['place']:,}."
    if any(reading.token(child) == reading.own for child in tried):
        return None
    if tried:
        had = _told([reading.label(child) for child in tried])
        line = say("Here the target wrote ", own, f": {name} had only ", *had, ends)
    else:
        line = say("Here the target wrote ", own, f": {name} had drafted nothing more", ends)
    return {"row": at.drawn["row"], "method": method, "line": line}


def _stops(each: Stationed) -> set[tuple[int, int | None]]:
    return {(stop.method, stop.node) for stop in each.station.stops}


def _told(labels: Sequence[Label]) -> list[Part]:
    """Return `a`, `a and b`, or `a, b and 3 others`; a token drawn twice is told once."""
    distinct = list({named(label): label for label in labels}.values())
    more = len(distinct) - _NAMED
    if more > 0:
        return [distinct[0], ", ", distinct[1], f" and {more:,} other{'s' if more > 1 else ''}"]
    return [distinct[0]] if len(distinct) == 1 else [distinct[0], " and ", distinct[1]]


def _verdicts(
    called: Sequence[str],
    readings: Sequence[Reading | None],
    shown: Sequence[Stationed],
    found: Sequence[Cover | None],
) -> Note | None:
    """Say where a token was kept by one method and rejected by another, the one with the longest
    draft in common behind it.
    """
    split = [each for each in shown if each.methods(*_KEPT) and each.methods("rejected")]
    if not split:
        return None
    at = max(split, key=lambda each: (_shared_behind(each, shown), -each.drawn["place"]))
    keeps, rejects = at.methods(*_KEPT)[0], at.methods("rejected")[0]
    stops, goes_on = (_end(found[method], readings[method]) for method in (rejects, keeps))
    line = say(
        f"{called[keeps]} and {called[rejects]} both drafted ",
        at.drawn["label"],
        f" here: {called[rejects]} rejects it and ends at {stops:,}, "
        f"{called[keeps]} keeps it and goes on to {goes_on:,}.",
    )
    return {"row": at.drawn["row"], "method": keeps, "line": line}


def _shared_behind(at: Stationed, shown: Sequence[Stationed]) -> int:
    """Return how many tokens behind a station are drafted by as many methods, and more than one."""
    index, total = {id(each.drawn): n for n, each in enumerate(shown)}, 0
    inside = {index[id(at.drawn)]}
    for number, each in enumerate(shown):
        if each.drawn["parent"] in inside:
            inside.add(number)
            total += len(each.methods()) > 1
    return total


def _end(cover: Cover | None, reading: Reading | None) -> int:
    """Return the place of the last token that a round wrote."""
    assert cover is not None
    assert reading is not None
    return cover.column + len(reading.round.outcome.emitted) - 1
