"""SVIP: how unsure the drafter was at every place, where that ended the draft, and what the target
would have kept.

A place is a level of the draft, by the surest of its laws: that is what the rule looks at. In a
chain, the paper's setting, a level is one token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import SvipExtras
from viz.chart_tokens import note
from viz.figure import CLEAR, SHARES, chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone, shortened

ORDER = 12
_LETTERS = 8  # of a token below its place
_MOST = 40  # places
_HEIGHT = 246
_UPPER, _LOWER = (0.48, 0.84), (0.0, 0.33)  # parts of the chart for entropies and overlaps
_CLOSE = 0.3  # of the width; marks nearer than that would write over each other


@dataclass(frozen=True, slots=True)
class _Place:
    """One drafted token: sqrt(scale x entropy) of the law it came from, and the overlap there."""

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
    words = _told(reading, places, extra)
    level = "" if _is_chain(reading) else " The surest law of each level counts."
    return {
        "section": {
            "head": "When to stop",
            "note": "Line: how unsure the drafter was of the law that a token came from; above the "
            "threshold drafting ends with that token. Bars: share of the laws that overlap, which "
            f"is the chance to be kept.{level}",
            "figure": _figure(reading, places, extra),
            "foot": words,
            "legend": [],
            "alt": words,
        },
        "html": "",
    }


def _is_chain(reading: Reading) -> bool:
    return all(len(children) < 2 for children in reading.children)


def _places(reading: Reading, extra: SvipExtras) -> list[_Place]:
    """Return a token of every level, one that came from its surest law."""
    scalars, surest = reading.round.scalars, dict[int, tuple[float, int]]()
    for node in range(1, reading.size):
        entropy = scalars.entropy_q[reading.parent(node)]
        if entropy is not None:
            depth = reading.depths[node]
            surest[depth] = min(surest.get(depth, (math.inf, 0)), (entropy, node))
    found: list[_Place] = []
    for depth in sorted(surest)[:_MOST]:
        entropy, node = surest[depth]
        name = alone(shortened(reading.label(node), _LETTERS))
        overlap = scalars.overlap[reading.parent(node)]
        found.append(_Place(name, math.sqrt(extra.scale * entropy), overlap))
    return found


def _kept(reading: Reading) -> int:
    """Return how long an oracle's draft would have been: as long as what was kept."""
    return len(reading.round.outcome.accepted)


def _figure(reading: Reading, places: Sequence[_Place], extra: SvipExtras) -> Figure:
    x = list(range(1, len(places) + 1))
    unsure: dict[str, object] = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": [place.value for place in places],
        "line": {"color": "@law", "width": 1.6},
        "marker": {"size": 7, "color": "@law"},
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
    return {"data": [overlap, unsure], "layout": _layout(reading, places, extra)}


def _layout(reading: Reading, places: Sequence[_Place], extra: SvipExtras) -> dict[str, object]:
    size, top = len(places), max(extra.threshold, *(place.value for place in places))
    step, width = max(1, math.ceil(size / 14)), max(size, 6)
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [0.4, width + 0.6],
            "tickvals": list(range(1, size + 1, step)),
            "ticktext": [chart_text(place.label) for place in places[::step]],
            "anchor": "y2",
        },
        "yaxis": {"range": [0, 1.15 * top], "domain": list(_UPPER), "nticks": 4},
        "yaxis2": SHARES | {"range": [0, 1], "domain": list(_LOWER)},
    }
    marks = _marks(reading, size, width)
    return layout(_HEIGHT, (40, 10, 6, 24), axes) | {
        "shapes": [_threshold(extra), *(_line(x, colour) for x, _, colour in marks)],
        "annotations": [
            *_names(extra, is_short=size < width / 2),
            *(_mark(x, text, colour, width) for x, text, colour in marks),
        ],
    }


def _marks(reading: Reading, size: int, width: int) -> list[tuple[float, str, str]]:
    """Return x, words and colour of what ends here: the draft, and what an oracle would draft."""
    kept, stop = _kept(reading), reading.round.stop
    ended = "drafting stopped" if stop and stop.reason == "entropy" else "drafting ended"
    own = (size + 0.5, ended, "@ink")
    if kept >= size:
        return [(size + 0.5, f"{ended}, kept to the end", "@ink")]
    oracle = (kept + 0.5, "oracle", "@rejected")
    if (size - kept) / width < _CLOSE and kept > width / 2:
        return [oracle, (size + 0.5, "", "@ink")]  # the foot says where drafting ended
    return [oracle, own]


def _line(x: float, colour: str) -> dict[str, object]:
    return {
        "type": "line",
        "yref": "paper",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": 1.6 if colour == "@rejected" else 1},
    }


def _mark(x: float, text: str, colour: str, width: int) -> dict[str, object]:
    """Return the words at a line, on the side where there is more room."""
    is_late = x > 0.6 * width
    beside = {"xanchor": "right", "xshift": -4} if is_late else {"xshift": 4}
    return note(x, 1, text, colour) | {"yref": "paper", "yanchor": "top"} | beside


def _threshold(extra: SvipExtras) -> dict[str, object]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": extra.threshold,
        "y1": extra.threshold,
        "line": {"color": "@ink", "width": 1.2, "dash": "1.5px 2.5px"},
    }


def _names(extra: SvipExtras, is_short: bool) -> list[dict[str, object]]:
    """Name the threshold, where a short draft leaves room, and the two panels."""
    factor = "" if extra.scale == 1 else f"{extra.scale:g} "
    left: dict[str, object] = {
        "xref": "paper",
        "xshift": -4,
        "yanchor": "bottom",
        "bgcolor": "@paper",
        "borderpad": 0,
    }
    side: dict[str, object] = {"xanchor": "right"} if is_short else {"xshift": 2}
    threshold = note(int(is_short), extra.threshold, f"threshold {extra.threshold:g}", "@ink")
    return [
        threshold | left | {"bgcolor": CLEAR} | side,
        note(0, _UPPER[1], f"√({factor}H), H in nats") | left | {"yref": "paper", "yshift": 3},
        note(0, _LOWER[1], "overlap of p and q") | left | {"yref": "paper", "yshift": 3},
    ]


def _told(reading: Reading, places: Sequence[_Place], extra: SvipExtras) -> str:
    stop, kept = reading.round.stop, _kept(reading)
    ended = (
        f"Drafting ended at {stop.value:.3f}, above {extra.threshold:g}"
        if stop is not None and stop.reason == "entropy" and stop.value is not None
        else "Drafting ran to its longest"
    )
    drafted = count(len(places), "token" if _is_chain(reading) else "level")
    if kept == len(places):
        all_kept = "All were kept" if _is_chain(reading) else "Each kept a token"
        return f"{ended}, after {drafted}. {all_kept}: an oracle would have gone on."
    those = f"the first {count(kept, 'token')}" if kept else "none"
    return f"{ended}, after {drafted}. An oracle would have drafted those that stayed: {those}."
