"""What every method had on the table at a place of the exact text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.compare.overlay import Cover, covers
from core.compare.waterfall import rounds_after_prompt, spent
from core.trace import Trace, token_ids
from viz.compare.entry import Entry
from viz.compare.map import line_map
from viz.compare.methods import is_lossless
from viz.compare.payload import Position
from viz.compare.small_tree import no_tree, small_tree
from viz.reading import Reading, read


def positions_of(entries: Sequence[Entry]) -> list[int]:
    """Return per place of the exact text the number of its position: the same for places that the
    same rounds of all methods cover. With plain decoding among them every place has its own.
    """
    return Positions(entries).numbers


class Positions:
    """The positions of one comparison: for many of them, what they have in common is made once."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._covers = _covers(entries)
        self._preferred = _preferred(entries)
        known: dict[tuple[int | None, ...], int] = {}
        keys = [tuple(None if c is None else c.round for c in found) for found in self._covers]
        self.numbers = [known.setdefault(key, len(known)) for key in keys]

    def at(self, index: int) -> Position:
        """Return position `index`; raise IndexError when there is none."""
        places = [place for place, number in enumerate(self.numbers) if number == index]
        if not places:
            raise IndexError(f"Position {index} does not exist.")
        found, entries = self._covers[places[0]], self._entries
        readings = [_read(each, cover) for each, cover in zip(entries, found, strict=True)]
        trees = [
            no_tree(method, each)
            if cover is None or reading is None
            else small_tree(method, each, cover, reading)
            for method, (each, cover, reading) in enumerate(
                zip(entries, found, readings, strict=True)
            )
        ]
        columns = places + [dot["place"] for tree in trees for dot in tree["dots"]]
        return {
            "head": f"{_told(places)}: what each method had on the table",
            "first": min(columns),
            "last": max(columns),
            "trees": trees,
            "map": line_map(entries, found, readings, places, self._preferred),
        }


def _covers(entries: Sequence[Entry]) -> list[tuple[Cover | None, ...]]:
    """Return the rounds at each place of the exact text, which is that of the first entry."""
    if not entries or entries[0].trace is None:
        return []
    exact = token_ids(entries[0].trace)
    each = [
        [None] * len(exact) if entry.trace is None else covers(entry.trace, exact)
        for entry in entries
    ]
    return list(zip(*each, strict=True))


def _preferred(entries: Sequence[Entry]) -> list[int]:
    """Return the lossless methods by time per token, those that are done first; the reference
    comes last.
    """
    lossless = [method for method, each in enumerate(entries) if is_lossless(each) and each.trace]
    return sorted(
        lossless,
        key=lambda method: (
            method == 0,
            entries[method].status != "done",
            _pace(entries[method].trace),
        ),
    )


def _pace(trace: Trace | None) -> float:
    """Return milliseconds per token after the prompt pass."""
    rounds = [] if trace is None else rounds_after_prompt(trace)
    tokens = sum(len(r.outcome.emitted) for r in rounds)
    return math.fsum(spent(r.cost) for r in rounds) / tokens if tokens else math.inf


def _read(entry: Entry, cover: Cover | None) -> Reading | None:
    return None if entry.trace is None or cover is None else read(entry.trace, cover.round)


def _told(places: Sequence[int]) -> str:
    if len(places) == 1:
        return f"Position {places[0]:,}"
    return f"Positions {places[0]:,} to {places[-1]:,}"
