"""From plain decoding's time to each method's, as bars that follow from each other, and the two
numbers that decide in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from core.compare.waterfall import Waterfall as Parts
from core.compare.waterfall import waterfall
from core.trace import Trace
from viz.compare.entry import Entry
from viz.compare.measured import Measured, measured_all
from viz.compare.methods import LIVE
from viz.compare.payload import Bar, Waterfall
from viz.compare.waterfall_words import sentence
from viz.numbers import factor, milliseconds


def waterfalls(entries: Sequence[Entry]) -> tuple[list[Waterfall], float]:
    """Return a waterfall per method that has ended, in the order of choosing, and the milliseconds
    that the longest of them reaches.

    None for plain decoding, nor where it or the method is too short to have a pace.
    """
    if not entries or entries[0].trace is None:
        return [], 0.0
    numbers = measured_all(entries)
    saved = [0 if n is None else n.tokens - n.passes for n in numbers]
    found: list[Waterfall] = []
    for place, (entry, number) in enumerate(zip(entries, numbers, strict=True)):
        if place == 0 or entry.trace is None or number is None or entry.status in LIVE:
            continue
        most = saved[place] > max(saved[:place] + saved[place + 1 :])
        drawn = _drawn(place, entry.trace, entries[0].trace, number, most and len(entries) > 2)
        found += [drawn] if drawn else []
    ends = [max(bar["start"], bar["stop"]) for each in found for bar in each["bars"]]
    return found, max(ends, default=0.0)


def _drawn(
    place: int, trace: Trace, plain: Trace, number: Measured, most: bool
) -> Waterfall | None:
    parts = waterfall(trace, plain)
    if parts is None or number.speedup is None:
        return None
    return {
        "method": place,
        "head": milliseconds(parts.total),
        "bars": _bars(parts),
        "sentence": sentence(parts, number, most),
    }


def _bars(parts: Parts) -> list[Bar]:
    wasted = parts.wasted or 0.0
    steps = (
        ("fewer target passes", parts.fewer_passes, 0.0),
        ("each pass is wider", parts.wider_passes, wasted),
        ("drafting", parts.drafting, wasted),
        ("accept and record", parts.rest, 0.0),
    )
    at = parts.plain
    bars: list[Bar] = [_bar("plain", "plain decoding", (0.0, at), _whole(at))]
    for label, step, share in steps:
        bars.append(_step(label, step, at, share))
        at = bars[-1]["stop"]
    total = f"{_whole(parts.total)} = {factor(parts.plain / parts.total)}"
    return [*bars, _bar("total", "this method", (0.0, at), total)]


def _step(label: str, step: float, start: float, wasted: float) -> Bar:
    ends = start, max(0.0, start + step)
    text = f"{'−' if step < 0 else '+' if step else ''}{_whole(abs(step))}"
    return _bar("saved", label, ends, text) if step < 0 else _bar("cost", label, ends, text, wasted)


def _bar(
    kind: Literal["plain", "saved", "cost", "total"],
    label: str,
    ends: tuple[float, float],
    text: str,
    wasted: float = 0.0,
) -> Bar:
    start, stop = ends
    return {
        "label": label,
        "start": start,
        "stop": stop,
        "text": text,
        "kind": kind,
        "wasted": wasted,
    }


def _whole(ms: float) -> str:
    return milliseconds(ms).removesuffix(" ms")
