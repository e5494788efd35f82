"""A comparison as one HTML file that works offline: the Compare page with all positions inside.

How the parts are packed is `viz.replay`'s affair; the file names no host either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict, cast

from core.compare.comparison import Comparison
from core.trace import Trace
from viz.compare import payload
from viz.compare.comparison import compare
from viz.compare.entry import Entry
from viz.compare.positions import Positions
from viz.compare.scripts import compare_script, compare_style
from viz.packing import Json
from viz.replay import document


class ComparePayload(TypedDict):
    """All that the page needs: `positions` by the numbers that `comparison["places"]` gives."""

    comparison: payload.Comparison
    positions: list[payload.Position]


def entries_of(comparison: Comparison) -> list[Entry]:
    """Return the finished runs as the views read them."""
    return [entry_of(run) for run in comparison.runs]


def entry_of(run: Trace) -> Entry:
    """Return a run that ended as the views read it."""
    entry = Entry(run.method, run.method_name, run.lossless, trace=run)
    if run.finish_reason == "error":
        return replace(entry, status="error", words=run.message or "The run failed.")
    if run.finish_reason == "cancelled":
        return replace(entry, status="cancelled", words="Cancelled.")
    return entry


def compare_payload(comparison: Comparison, origin: str = "") -> ComparePayload:
    """Return the page's payload with every position."""
    entries = entries_of(comparison)
    whole = compare(entries, "comparison", comparison.title or "", origin)
    positions = Positions(entries)
    count = max(positions.numbers, default=-1) + 1
    return {"comparison": whole, "positions": [positions.at(number) for number in range(count)]}


def comparison_html(comparison: Comparison, origin: str = "") -> str:
    """Return the comparison as one HTML document that opens from disk and asks no host.

    `origin` opens the source line, `Recorded comparison` say.
    """
    found = compare_payload(comparison, origin)
    title = found["comparison"]["title"] or found["comparison"]["prompt"]
    return document(title, cast(Json, found), "compare_replay", compare_script(), compare_style())
