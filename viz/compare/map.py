"""The drafts of all methods at a place on one map: a token is one station, however many drafted it
after the same text, and a method is a line through its stations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.compare.overlay import Cover, Station, Stop, overlay
from viz.compare.entry import Entry
from viz.compare.map_notes import Stationed, notes, written_by
from viz.compare.map_order import WRITTEN, arranged, methods_of
from viz.compare.methods import names
from viz.compare.payload import Line, Map
from viz.compare.payload import Station as Drawn
from viz.numbers import count
from viz.payload import Label
from viz.reading import OWN, Reading, vocabulary
from viz.sentence import named

_STRENGTH = (*WRITTEN, "rejected", "unreached")  # what stands for a method that has two stops


def line_map(
    entries: Sequence[Entry],
    found: Sequence[Cover | None],
    readings: Sequence[Reading | None],
    places: Sequence[int],
    preferred: Sequence[int],
) -> Map:
    """Return the map of the rounds `found`, one per method, which cover `places`.

    The text of the first of the `preferred` methods that are there has the first row.
    """
    stations = overlay([each.trace for each in entries], found)
    there = [method for method in preferred if found[method] is not None]
    lines, row = arranged(stations, there[0] if there else None)
    kept = [number for number, at in enumerate(row) if at is not None]
    drawn = _drawn(stations, row, kept, readings)
    columns = [*places, *(station["place"] for station in drawn)]
    first, last = min(columns), max(columns)
    shown = [Stationed(stations[number], each) for number, each in zip(kept, drawn, strict=True)]
    return {
        "first": first,
        "last": last,
        "labels": _exact(entries, first, last),
        "rows": lines,
        "stations": drawn,
        "folded": _folded(stations, row),
        "notes": notes(names(entries), readings, shown, there, found),
        "alt": _alt(names(entries), readings, stations),
    }


def _drawn(
    stations: Sequence[Station],
    row: Sequence[int | None],
    kept: Sequence[int],
    readings: Sequence[Reading | None],
) -> list[Drawn]:
    number = {old: new for new, old in enumerate(kept)}
    return [
        {
            "parent": number.get(station.parent, -1),
            "place": station.place,
            "row": row[old] or 0,
            "label": _label(station.stops[0], readings),
            "lines": _lines(station),
        }
        for old, station in ((old, stations[old]) for old in kept)
    ]


def _lines(station: Station) -> list[Line]:
    """Return one stop of each method, the one that decided."""
    found: dict[int, Stop] = {}
    for stop in sorted(station.stops, key=lambda stop: _STRENGTH.index(stop.state)):
        found.setdefault(stop.method, stop)
    return [
        {"method": method, "node": found[method].node, "state": found[method].state}
        for method in sorted(found)
    ]


def _label(stop: Stop, readings: Sequence[Reading | None]) -> Label:
    reading = readings[stop.method]
    assert reading is not None
    return reading.label(OWN if stop.node is None else stop.node)


def _exact(entries: Sequence[Entry], first: int, last: int) -> list[Label | None]:
    """Return the labels of the exact text, None beyond its end."""
    trace = entries[0].trace
    assert trace is not None
    tokens = [token for r in trace.rounds for token in r.outcome.emitted]
    words = vocabulary(trace)
    before = b""
    for token in [*trace.prompt.token_ids[-4:], *tokens[:first]][-4:]:
        before = words.after(before, token)
    labels = [each.label for each in words.flow(tokens[first : last + 1], before)]
    return [*labels, *[None] * (last - first + 1 - len(labels))]


def _folded(stations: Sequence[Station], row: Sequence[int | None]) -> list[tuple[int, int]]:
    """Return per method how many stations are left out; a shared one counts for the first."""
    gone = [station for station, at in zip(stations, row, strict=True) if at is None]
    return sorted(Counter(station.stops[0].method for station in gone).items())


def _alt(
    called: Sequence[str], readings: Sequence[Reading | None], stations: Sequence[Station]
) -> str:
    shared = sum(len(methods_of(station)) > 1 for station in stations)
    told = [f"{count(len(stations), 'token')} on the table, {shared:,} of several methods."]
    for name, reading in zip(called, readings, strict=True):
        nodes = [] if reading is None else written_by(reading)
        if reading is not None and nodes:
            told.append(f"{name} wrote {', '.join(named(reading.label(node)) for node in nodes)}.")
    return " ".join(told)
