"""Comparisons on the server: run, opened from a file, or recorded with the program.

Each is a list of entries, plain decoding first, and gives the page's payload. Knows no runner and
no page.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import msgspec

from app.recordings import RunHead, order_of
from app.session import Shelf, Stored
from core.compare.comparison import Comparison
from core.compare.files import read
from core.trace import Trace
from viz.compare import payload
from viz.compare.comparison import compare
from viz.compare.entry import Entry
from viz.compare.export import entries_of

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "comparisons"
_BEGINS = "c"  # the name of a stored comparison


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison as it stands."""

    name: str
    title: str
    origin: str  # opens the source line
    entries: Sequence[Entry]

    def payload(self) -> payload.Comparison:
        return compare(self.entries, self.name, self.title, self.origin)

    def file(self) -> Comparison:
        """Return what a file of it holds: the runs that wrote something."""
        runs = [entry.trace for entry in self.entries if entry.trace is not None]
        created = runs[0].created if runs else ""
        return Comparison(created=created, title=self.title or None, runs=runs)


@dataclass(slots=True)
class StoredComparison(Stored):
    """A comparison of this visit: its own entry on the shelf, beside those of its runs."""

    title: str = ""
    entries: list[Entry] = field(default_factory=lambda: list[Entry]())
    runs: dict[int, Stored] = field(default_factory=lambda: dict[int, Stored]())
    revision: int = 0
    _drawn: tuple[int, bytes] | None = field(default=None, init=False)

    def compared(self) -> Compared:
        """Return it with the traces that there are."""
        entries = [self._with_trace(place, entry) for place, entry in enumerate(self.entries)]
        return Compared(self.name, self.title, self.origin, entries)

    def changed(self) -> None:
        """Count what the page should ask for anew."""
        self.revision += 1

    def packed(self) -> bytes:
        """Return its payload as compressed JSON, worked out once per revision."""
        drawn, revision = self._drawn, self.revision
        if drawn is None or drawn[0] != revision:
            drawn = self._drawn = (revision, packed(self.compared()))
        return drawn[1]

    def _with_trace(self, place: int, entry: Entry) -> Entry:
        run = self.runs.get(place)
        if run is None or run.trace is None:
            return entry
        return replace(entry, run=run.name, trace=run.trace)


def packed(compared: Compared) -> bytes:
    """Return the page's payload as compressed JSON."""
    return gzip.compress(msgspec.json.encode(compared.payload()), 4, mtime=0)


def put(
    shelf: Shelf, user: str, origin: str, title: str, entries: Sequence[Entry]
) -> StoredComparison:
    """Store a comparison under a new name; runs that it has already are stored beside it."""
    name = shelf.new_name(_BEGINS)
    made = StoredComparison(name, user, origin, group=name, title=title, entries=list(entries))
    shelf.put(made)
    for place, entry in enumerate(entries):
        if entry.trace is not None:
            put_run(shelf, made, place).trace = entry.trace
    return made


def put_run(shelf: Shelf, made: StoredComparison, place: int) -> Stored:
    """Store a run of a comparison, kept and cancelled with it."""
    run = shelf.add(made.user, made.origin)
    run.group, run.cancelled = made.name, made.cancelled
    made.runs[place] = run
    return run


class _Head(msgspec.Struct):
    """The part of a file that says what was asked."""

    runs: list[RunHead]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedComparison:
    """One recorded comparison: `key` is its name in links, `order` what would make it again."""

    key: str
    title: str
    path: Path
    order: Mapping[str, object]


class RecordedComparisons:
    """The comparisons of one folder, by file name: `1-sky.json.gz` is first, with the key `sky`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.all: Mapping[str, RecordedComparison] = {
            found.key: found for found in map(_recorded, sorted(folder.glob("*.json.gz")))
        }
        self._read = lru_cache(maxsize=4)(read)

    def compared(self, key: str) -> Compared:
        """Return one recorded comparison; raise KeyError where there is none of that key."""
        found = self.all[key]
        entries = entries_of(self._read(found.path))
        return Compared(key, found.title, "Recorded comparison", entries)


def _recorded(path: Path) -> RecordedComparison:
    head = msgspec.json.decode(gzip.decompress(path.read_bytes()), type=_Head)
    key = path.name.removesuffix(".json.gz").split("-", 1)[-1]
    return RecordedComparison(
        key, head.title or key.capitalize(), path, comparison_order(head.runs)
    )


def comparison_order(runs: Sequence[RunHead | Trace]) -> Mapping[str, object]:
    """Return the order that would make a comparison again, with the models of the page."""
    plain, *others = map(order_of, runs)
    shared = {name: plain[name] for name in ("prompt", "chat", "sampling")}
    methods = [{"method": one["method"], "config": one["config"]} for one in others]
    return {**shared, "methods": methods}
