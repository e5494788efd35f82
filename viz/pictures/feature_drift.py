"""EAGLE and its kind: how far the features that the head made itself are from the target's, by
depth, and what the output head reads off both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from core.extras import FeatureExtras
from core.metrics import depths
from core.trace import Law, Round, Trace
from viz.figure import chart_text, layout
from viz.numbers import count, nats, probability
from viz.payload import Figure, Film, FilmCell, FilmFrame, Picture
from viz.reading import Reading
from viz.text import alone

ORDER = 15
_HEIGHT = 200
_TOP = 5  # tokens of each law
_MOST_FILMS = 3
_ROOM = 0.04  # of a cosine, above and below what is shown
_TRAINED = {  # whether the outputs were asked to be like the features
    "eagle": "The head was trained to make them alike; at depth 0 it reads true features only.",
    "eagle3": "Nothing asked EAGLE-3's outputs to be like the features that they stand in for: it "
    "met them in training, and learnt to go on from them.",
}


@dataclass(frozen=True, slots=True)
class _Depth:
    """Mean cosine of all rounds' nodes at a depth."""

    depth: int
    mean: float
    nodes: int


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that was drafted over features."""
    extra = _block(reading.round)
    if extra is None or not extra.node:
        return None
    means = list(_means(reading.trace))
    told = _told(means)
    films = [_film(reading, law) for law in _laws(reading, extra)]
    return {
        "section": {
            "head": "Do its own features hold?",
            "note": "Cosine between the feature that the head made and the target's, known once "
            "the target ran. Blue: the accepted path; hollow: other nodes; line: mean of all "
            "rounds." + (" Below: what is read off both, on the path." if films else ""),
            "figure": _figure(reading, extra, means),
            "foot": f"{told} {_TRAINED[extra.head]}",
            "legend": [],
            "alt": told,
        },
        "html": "",
        "films": films,
    }


def _block(made: Round) -> FeatureExtras | None:
    return next((each for each in made.extras if isinstance(each, FeatureExtras)), None)


def _means(trace: Trace) -> Iterator[_Depth]:
    pooled: dict[int, list[float]] = {}
    for r in trace.rounds:
        extra = _block(r)
        depth_of = depths(r.nodes)
        for node, cosine in zip(extra.node, extra.cosine, strict=True) if extra else ():
            pooled.setdefault(depth_of[node], []).append(cosine)
    for depth, cosines in sorted(pooled.items()):
        yield _Depth(depth, fsum(cosines) / len(cosines), len(cosines))


def _figure(reading: Reading, extra: FeatureExtras, means: Sequence[_Depth]) -> Figure:
    path = reading.path()
    near = dict(zip(extra.node, extra.cosine, strict=True))
    kept = [node for node in extra.node if node in path]
    others = [node for node in extra.node if node not in path]
    least = min([*(each.mean for each in means), *near.values()])
    deepest = max([each.depth for each in means])
    return {
        "data": [
            _mean_line(means),
            _dots(reading, "others", others, near, "@paper", "@faint"),
            _dots(reading, "path", kept, near, "@accepted", "@accepted"),
        ],
        "layout": _layout(deepest, least),
    }


def _mean_line(means: Sequence[_Depth]) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "mean",
        "x": [each.depth for each in means],
        "y": [round(each.mean, 4) for each in means],
        "line": {"color": "@law", "width": 1.4},
        "marker": {"symbol": "line-ew", "size": 10, "line": {"width": 1.4, "color": "@law"}},
        "hoverinfo": "text",
        "hovertext": [
            f"Depth {each.depth}: mean {_cosine(each.mean)} of {count(each.nodes, 'node')}"
            for each in means
        ],
        "cliponaxis": False,
    }


def _dots(
    reading: Reading,
    name: str,
    nodes: Sequence[int],
    near: dict[int, float],
    fill: str,
    outline: str,
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if name == "path" else "markers",
        "name": name,
        "x": [reading.depths[node] for node in nodes],
        "y": [near[node] for node in nodes],
        "line": {"color": outline, "width": 1.6},
        "marker": {
            "symbol": "circle",
            "size": 9 if name == "path" else 7,
            "color": fill,
            "line": {"width": 1.4, "color": outline},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_hover(reading, node, near[node]) for node in nodes],
        "cliponaxis": False,
    }


def _hover(reading: Reading, node: int, cosine: float) -> str:
    return f"After {chart_text(alone(reading.label(node)))}: {_cosine(cosine)}"


def _layout(deepest: int, least: float) -> dict[str, object]:
    x: dict[str, object] = {
        "range": [-0.3, deepest + 0.3],
        "tickvals": list(range(deepest + 1)),
        "ticktext": ["root", *map(str, range(1, deepest + 1))],
    }
    y: dict[str, object] = {
        "range": [least - _ROOM, 1 + _ROOM],
        "nticks": 5,
        "showgrid": True,
        "gridcolor": "@hair",
        "tickformat": ".2~f",
    }
    figure = layout(_HEIGHT, (44, 12, 8, 36), {"xaxis": x, "yaxis": y})
    name: dict[str, object] = {
        "text": "depth of the node whose token it was made with",
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "yref": "paper",
        "y": 0,
        "yanchor": "top",
        "yshift": -16,
        "showarrow": False,
        "font": {"size": 11, "color": "@mute"},
    }
    return figure | {"annotations": [name]}


def _laws(reading: Reading, extra: FeatureExtras) -> list[Law]:
    """Return the laws of both sides at the last nodes of the accepted path."""
    drafted = set(extra.node)
    path = [0, *reading.round.outcome.accepted]
    found = [reading.law_of.get(node) for node in path if node in drafted]
    both = [law for law in found if law is not None and law.q_raw is not None]
    return both[-_MOST_FILMS:]


def _film(reading: Reading, law: Law) -> Film:
    """Return the likeliest tokens of both laws at one node, side by side."""
    drafted, scalars = law.q_raw or [], reading.round.scalars
    best = {*_best(law.token, drafted), *_best(law.token, law.p_raw)}
    places = sorted(best, key=lambda place: -law.p_raw[place])
    return {
        "after": reading.label(law.node),
        "frames": [
            _frame("Drafted", "off the head's feature", scalars.entropy_q[law.node]),
            _frame("True", "off the target's", scalars.entropy_p[law.node]),
        ],
        "rows": [
            {
                "label": reading.candidate(law.token[place], law.node),
                "cells": [_cell(drafted[place]), _cell(law.p_raw[place])],
            }
            for place in places
        ],
    }


def _best(tokens: Sequence[int], mass: Sequence[float]) -> list[int]:
    """Return the places of the largest masses."""
    return sorted(range(len(tokens)), key=lambda place: -mass[place])[:_TOP]


def _frame(head: str, note: str, entropy: float | None) -> FilmFrame:
    return {"head": head, "note": note, "entropy": "" if entropy is None else nats(entropy)}


def _cell(share: float) -> FilmCell:
    return {"share": round(share, 6), "text": probability(share), "left": False, "tried": None}


def _told(means: Sequence[_Depth]) -> str:
    parts = [f"{'root' if each.depth == 0 else each.depth}: {_cosine(each.mean)}" for each in means]
    return f"Mean cosine of all rounds by depth: {', '.join(parts)}."


def _cosine(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)
