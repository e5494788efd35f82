"""Which stations of the line map share a row, and which are left out where rows are too many."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from core.compare.overlay import Station
from viz.compare.map_rows import Branch, Weight, branches, rows_of

MOST_ROWS = 30
WRITTEN = ("accepted", "relaxed", "correction", "bonus", "plain")
_UNTRIED, _REJECTED, _SHARED, _KEPT = 0, 1, 2, 3


def arranged(stations: Sequence[Station], main: int | None) -> tuple[int, list[int | None]]:
    """Return the number of rows and the row of each station, None where it is folded; the text of
    method `main` has the first row.
    """
    found = branches(
        [station.parent for station in stations],
        [station.place for station in stations],
        _weights(stations, main),
    )
    kept = _kept(found, _worth(stations))
    rows = rows_of(kept) or []
    row: list[int | None] = [None] * len(stations)
    for branch, at in zip(kept, rows, strict=True):
        for station in branch.stations:
            row[station] = at
    return 1 + max(rows, default=0), row


def _kept(found: Sequence[Branch], worth: Sequence[int]) -> list[Branch]:
    """Return the branches that are drawn: all, or so many that the rows are not too many.

    Those of one method go first, the untried before the rejected; what was written stays.
    """
    least = [number for number, branch in enumerate(found) if worth[branch.stations[0]] < _KEPT]
    least.sort(key=lambda number: (worth[found[number].stations[0]], -number))

    def without(folded: int) -> list[Branch]:
        kept = sorted(set(range(len(found))) - set(least[:folded]))
        number = {old: new for new, old in enumerate(kept)}
        return [
            Branch(b.stations, b.first, b.last, number.get(b.leaves, -1))
            for b in (found[old] for old in kept)
        ]

    def fits(folded: int) -> bool:
        return rows_of(without(folded), MOST_ROWS) is not None

    return without(bisect_left(range(len(least)), True, key=fits))


def _worth(stations: Sequence[Station]) -> list[int]:
    """Return how much a station is worth a row, the most of what follows it."""
    worth: list[int] = []
    for station in stations:
        states = {stop.state for stop in station.stops}
        shared = len(methods_of(station)) > 1
        written = not states.isdisjoint(WRITTEN)
        rejected = _REJECTED if "rejected" in states else _UNTRIED
        worth.append(_KEPT if written else _SHARED if shared else rejected)
    for number in reversed(range(len(stations))):
        parent = stations[number].parent
        if parent >= 0:
            worth[parent] = max(worth[parent], worth[number])
    return worth


def _weights(stations: Sequence[Station], main: int | None) -> list[Weight]:
    """Return what goes on in its parent's row: the text of method `main`, then what most wrote,
    then what most drafted, then what was drafted first.
    """
    led: list[bool] = []
    wrote: list[int] = []
    for station in stations:
        writers = {stop.method for stop in station.stops if stop.state in WRITTEN}
        led.append(main in writers)
        wrote.append(len(writers))
    for number in reversed(range(len(stations))):
        parent = stations[number].parent
        if parent >= 0:
            led[parent] |= led[number]
            wrote[parent] = max(wrote[parent], wrote[number])
    return [
        (led[number], wrote[number], len(methods_of(station)), -number)
        for number, station in enumerate(stations)
    ]


def methods_of(station: Station) -> set[int]:
    """Return the methods that stop at a station."""
    return {stop.method for stop in station.stops}
