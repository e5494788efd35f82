"""SVIP: how unsure the drafter was at every position, where that ended the draft, and what the
target would have kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.extras import SvipExtras
from viz.figure import chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone, shortened

ORDER = 12
_HEAD = "When to stop"
_LETTERS = 8  # of a token below its place
_MOST = 40  # positions


@dataclass(frozen=True, slots=True)
class _Place:
    """One drafted token: sqrt(scale x entropy) of the law it came from, and the overlap there."""

    node: int
    label: str
    value: float
    overlap: float | None


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose draft an entropy could end."""
    extra = next((e for e in reading.round.extras if isinstance(e, SvipExtras)), None)
    if extra is None:
        return None
    places = _places(reading, extra)
    if not places:
        return None
    oracle = _oracle(reading)
    words = _told(reading, places, extra, oracle)
    return {
        "section": {
            "head": _HEAD,
            "note": "Line: how unsure the drafter was of the law that a token came from; above the "
            "threshold drafting ends with that token. Bars: share of the laws that overlap, which "
            "is the chance to be kept.",
            "figure": _figure(places, extra, oracle),
            "foot": words,
            "legend": [("overlap", "overlap of p and q"), ("rejected", "first refused")],
            "alt": words,
        },
        "html": "",
    }


def _places(reading: Reading, extra: SvipExtras) -> list[_Place]:
    scalars, found = reading.round.scalars, list[_Place]()
    for node in range(1, min(reading.size, _MOST + 1)):
        parent = reading.parent(node)
        entropy = scalars.entropy_q[parent]
        if entropy is None:
            continue
        value = math.sqrt(extra.scale * entropy)
        name = alone(shortened(reading.label(node), _LETTERS))
        found.append(_Place(node, name, value, scalars.overlap[parent]))
    return found


def _oracle(reading: Reading) -> int:
    """Return how many tokens an oracle would have drafted: those that were kept."""
    return len(reading.round.outcome.accepted)


def _figure(places: list[_Place], extra: SvipExtras, oracle: int) -> Figure:
    x = list(range(1, len(places) + 1))
    unsure: dict[str, object] = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": [place.value for place in places],
        "line": {"color": "@law", "width": 1.6},
        "marker": {
            "size": 7,
            "color": ["@rejected" if p.value > extra.threshold else "@law" for p in places],
        },
        "hoverinfo": "text",
        "hovertext": [
            f"{chart_text(p.label)}: {p.value:.3f}, threshold {extra.threshold:g}" for p in places
        ],
    }
    overlap: dict[str, object] = {
        "type": "bar",
        "x": x,
        "y": [place.overlap or 0.0 for place in places],
        "yaxis": "y2",
        "width": 0.5,
        "marker": {"color": "@kept", "line": {"width": 0}},
        "hoverinfo": "text",
        "hovertext": [
            f"{chart_text(p.label)}: overlap "
            f"{'unknown' if p.overlap is None else probability(p.overlap)}"
            for p in places
        ],
    }
    return {"data": [overlap, unsure], "layout": _layout(places, extra, oracle)}


def _layout(places: list[_Place], extra: SvipExtras, oracle: int) -> dict[str, object]:
    size, top = len(places), max(extra.threshold, *(place.value for place in places))
    step = max(1, math.ceil(size / 14))
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [0.4, max(size, 6) + 0.6],
            "tickvals": list(range(1, size + 1, step)),
            "ticktext": [chart_text(place.label) for place in places[::step]],
            "anchor": "y2",
        },
        "yaxis": {"range": [0, 1.15 * top], "domain": [0.46, 1], "nticks": 4},
        "yaxis2": {"range": [0, 1], "domain": [0, 0.36], "tickvals": [0, 0.5, 1]},
    }
    threshold: dict[str, object] = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": extra.threshold,
        "y1": extra.threshold,
        "line": {"color": "@mute", "width": 1, "dash": "dot"},
    }
    shapes = [threshold]
    if oracle < size:
        shapes.append(
            {
                "type": "line",
                "yref": "paper",
                "x0": oracle + 0.5,
                "x1": oracle + 0.5,
                "y0": 0,
                "y1": 1,
                "line": {"color": "@rejected", "width": 1.6},
            }
        )
    return layout(210, (40, 10, 6, 24), axes) | {"shapes": shapes}


def _told(reading: Reading, places: list[_Place], extra: SvipExtras, oracle: int) -> str:
    stop = reading.round.stop
    ended = (
        f"Drafting ended at {stop.value:.3f}, above {extra.threshold:g}"
        if stop is not None and stop.reason == "entropy" and stop.value is not None
        else "Drafting ran to its longest"
    )
    drafted = count(len(places), "token")
    if oracle == len(places):
        return f"{ended}, after {drafted}. All were kept: an oracle would have gone on."
    kept = f"the first {count(oracle, 'token')}" if oracle else "none"
    return f"{ended}, after {drafted}. An oracle would have drafted those that stayed: {kept}."
