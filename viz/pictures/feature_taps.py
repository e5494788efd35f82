"""EAGLE-3: which states of the target's stack its features are fused from."""

from __future__ import annotations

from collections.abc import Sequence

from core.extras import FeatureExtras
from viz.figure import layout
from viz.numbers import count
from viz.payload import Picture
from viz.reading import Reading

ORDER = 31
_HEIGHT = 96
_STACK, _FUSED = 0.0, 1.0


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose head read several layers."""
    extra = next((e for e in reading.round.extras if isinstance(e, FeatureExtras)), None)
    if extra is None or not extra.taps or not extra.layers:
        return None
    told = _told(extra)
    middle = sum(extra.taps) / len(extra.taps)
    x: dict[str, object] = {
        "range": [-1, extra.layers + 0.5],
        "tickvals": sorted({0, *extra.taps, extra.layers}),
    }
    y: dict[str, object] = {"range": [-0.35, 1.35], "showticklabels": False}
    name: dict[str, object] = {
        "x": middle,
        "y": _FUSED,
        "text": "fc: one feature",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "middle",
        "xshift": 9,
        "font": {"size": 11, "color": "@ink"},
    }
    return {
        "section": {
            "head": "What the head reads",
            "note": "A tick is a layer of the target. The states that enter the blue ones are "
            "fused into one feature per token.",
            "figure": {
                "data": [_joins(extra.taps, middle), _layers(extra), _joint(middle)],
                "layout": layout(_HEIGHT, (8, 8, 2, 22), {"xaxis": x, "yaxis": y})
                | {"annotations": [name]},
            },
            "foot": told,
            "legend": [],
            "alt": told,
        },
        "html": "",
        "aside": True,
    }


def _joins(taps: Sequence[int], middle: float) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "joins",
        "x": [x for tap in taps for x in (tap, middle, None)],
        "y": [y for _ in taps for y in (_STACK + 0.2, _FUSED, None)],
        "line": {"color": "@accepted", "width": 1.4},
        "hoverinfo": "skip",
    }


def _layers(extra: FeatureExtras) -> dict[str, object]:
    tapped = set(extra.taps)
    colours = ["@accepted" if n in tapped else "@hair" for n in range(extra.layers + 1)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "layers",
        "x": list(range(extra.layers + 1)),
        "y": [_STACK] * (extra.layers + 1),
        "marker": {
            "symbol": "line-ns",
            "size": 12,
            "color": colours,
            "line": {"width": 5, "color": colours},
        },
        "hoverinfo": "text",
        "hovertext": [
            f"Input of layer {n}" if n < extra.layers else "Output of the last layer"
            for n in range(extra.layers + 1)
        ],
    }


def _joint(middle: float) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "fused",
        "x": [middle],
        "y": [_FUSED],
        "marker": {"symbol": "circle", "size": 10, "color": "@law"},
        "hoverinfo": "skip",
    }


def _told(extra: FeatureExtras) -> str:
    *firsts, last = map(str, extra.taps)
    taps = f"{', '.join(firsts)} and {last}" if firsts else last
    layers = count(extra.layers, "layer")
    return f"It reads the inputs of the layers {taps}, counted from 0, of {layers}."
