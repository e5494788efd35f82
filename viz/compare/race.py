"""The race: every method's rounds as a lane of legs, and where the sliders of its model begin."""

from __future__ import annotations

from collections.abc import Sequence

from core.compare.lanes import WIDE, draft_cost, legs, plain_pass, wide_cost
from core.compare.lanes import Leg as Lap
from core.trace import token_ids
from viz.compare.entry import Entry
from viz.compare.measured import measured_all
from viz.compare.payload import Lane, Leg, Race
from viz.compare.table import order

MARKED = 6  # methods that have a mark and a hue of their own, plain decoding among them
_DECIMALS = 4  # of times and costs


def race(entries: Sequence[Entry]) -> Race | None:
    """Return the lanes by time, those that are done first; None until plain decoding has made a
    step, which is the measure of all.
    """
    laps = [[] if entry.trace is None else legs(entry.trace) for entry in entries]
    single = plain_pass(laps[0]) if laps else None
    if single is None:
        return None
    by_time = order(entries, measured_all(entries))
    lanes = [_lane(place, entries[place], laps) for place in by_time if entries[place].trace]
    return {
        "head": "The race",
        "note": _note(any(lane["method"] is None for lane in lanes)),
        "lanes": lanes,
        "plain_ms": round(single, _DECIMALS),
        "draft": 1.0,
        "wide": wide_cost(laps, laps[0]) or 1.0,
        "wide_at": WIDE,
        "batch": 1,
    }


def _lane(place: int, entry: Entry, laps: Sequence[Sequence[Lap]]) -> Lane:
    own, cost = laps[place], draft_cost(laps[place], laps[0])
    tokens = sum(lap.tokens for lap in own)
    written = 0 if entry.trace is None else len(token_ids(entry.trace))
    return {
        "method": place if place < MARKED else None,
        "name": entry.name,
        "legs": [_leg(lap) for lap in own],
        "tokens": tokens,
        "begin": written - tokens,
        "draft_cost": None if cost is None else round(cost, _DECIMALS),
    }


def _leg(lap: Lap) -> Leg:
    return {
        "draft": round(lap.draft_ms, _DECIMALS),
        "verify": round(lap.verify_ms, _DECIMALS),
        "rest": round(lap.rest_ms, _DECIMALS),
        "tokens": lap.tokens,
        "forwards": lap.draft_forwards,
        "passes": lap.target_forwards,
        "width": lap.width,
    }


def _note(grey: bool) -> str:
    others = " Grey: further methods, by name." if grey else ""
    return (
        "Thin bar: drafting. Block: target pass, with the tokens it won. All start after the "
        f"prompt pass.{others}"
    )
