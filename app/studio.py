"""What all pages of one server share: the runner, the stored traces, the recordings, the limits.

A trace is found under one kind of name, whether it was recorded, run or opened from a file.
"""

from __future__ import annotations

from dataclasses import dataclass

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

    def __init__(self, limits: Limits, engines: Engines | None, recordings: Recordings) -> None:
        self.limits = limits
        self.engines = engines or LoadedEngines(limits.engines)
        self.recordings = recordings
        self.shelf = Shelf(limits)
        self.runner = Runner(self.engines, self.shelf, limits)

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


def overview_of(found: Found) -> Overview:
    """Return the overview, under the name by which rounds can be asked for."""
    return {**overview(found.trace, found.origin), "id": found.name, "finished": True}


def rounds_of(found: Found, start: int, stop: int) -> list[RoundView]:
    """Return the views of rounds `start` to `stop`, without the last, at most a page of them."""
    words = vocabulary(found.trace)
    first = max(0, start)
    last = min(stop, first + PAGE, len(found.trace.rounds))
    return [round_view(found.trace, index, words) for index in range(first, last)]
