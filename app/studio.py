"""What all pages of one server share: the runner, the stored traces, the recordings, the limits.

A trace is found under one kind of name, whether it was recorded, run or opened from a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.comparing import Comparing
from app.comparisons import Compared, RecordedComparisons, StoredComparison
from app.engines import Engines, LoadedEngines
from app.limits import Limits
from app.recordings import Recordings
from app.running import Runner
from app.session import Shelf
from core.trace import Trace
from viz.overview import overview
from viz.payload import Overview, RoundView
from viz.reading import vocabulary
from viz.round import round_view

PAGE = 32  # rounds that a browser gets with one answer


@dataclass(frozen=True, slots=True)
class Found:
    """A trace under its name; `origin` opens the source line."""

    name: str
    origin: str
    trace: Trace


class Studio:
    """One server's state."""

    def __init__(
        self,
        limits: Limits,
        engines: Engines | None,
        recordings: Recordings,
        comparisons: RecordedComparisons | None = None,
    ) -> None:
        self.limits = limits
        self.engines = engines or LoadedEngines(limits.engines)
        self.recordings = recordings
        self.comparisons = comparisons or RecordedComparisons()
        self.shelf = Shelf(limits)
        self.runner = Runner(self.engines, self.shelf, limits)
        self.comparing = Comparing(self.runner, self.shelf)

    def find(self, name: str) -> Found:
        """Return the trace of that name. Raises KeyError with one sentence."""
        if name in self.recordings.all:
            return Found(name, "Recorded example", self.recordings.trace(name))
        stored = self.shelf.get(name)
        if stored is None or stored.trace is None:
            raise KeyError(
                "This run is no longer stored (the last few of each visitor are). Run it again."
            )
        return Found(name, stored.origin, stored.trace)

    def find_comparison(self, name: str) -> Compared:
        """Return the comparison of that name. Raises KeyError with one sentence."""
        if name in self.comparisons.all:
            return self.comparisons.compared(name)
        return self.find_stored_comparison(name).compared()

    def find_stored_comparison(self, name: str) -> StoredComparison:
        """Return a comparison that was run or opened. Raises KeyError with one sentence."""
        stored = self.shelf.get(name)
        if not isinstance(stored, StoredComparison):
            raise KeyError(
                "This comparison is no longer stored (the last few of each visitor are). "
                "Run it again."
            )
        return stored


def overview_of(found: Found) -> Overview:
    """Return the overview, under the name by which rounds can be asked for."""
    return {**overview(found.trace, found.origin), "id": found.name, "finished": True}


def rounds_of(found: Found, start: int, stop: int) -> list[RoundView]:
    """Return the views of rounds `start` to `stop`, without the last, at most a page of them."""
    words = vocabulary(found.trace)
    first = max(0, start)
    last = min(stop, first + PAGE, len(found.trace.rounds))
    return [round_view(found.trace, index, words) for index in range(first, last)]
