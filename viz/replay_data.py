"""Everything that the Explore page needs of a trace, in one value: for files that work offline."""

from __future__ import annotations

from typing import TypedDict

from core.trace import Trace
from viz.overview import overview
from viz.payload import Overview, RoundView
from viz.reading import vocabulary
from viz.round import round_view


class ExplorePayload(TypedDict):
    overview: Overview
    rounds: list[RoundView]


def explore_payload(trace: Trace, origin: str = "") -> ExplorePayload:
    """Return the overview and every round, in order."""
    words = vocabulary(trace)
    return {
        "overview": overview(trace, origin, words),
        "rounds": [round_view(trace, index, words) for index in range(len(trace.rounds))],
    }
