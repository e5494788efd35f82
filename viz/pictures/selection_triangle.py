"""All targets over three tokens as a triangle: how much of each the best rule for K drafts accepts,
and the region where nothing need be lost.

The largest acceptance alpha* = 1 + min over sets S of p(S) - q(S)^K is concave in p and made of
planes, so that the targets with at least some acceptance form a polygon: the triangle, cut by a
line for every set. No grid is needed, and every edge is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from core.extras import Pick
from viz.figure import chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, Label, Picture
from viz.reading import Reading
from viz.rule_selection import telling
from viz.sentence import named
from viz.text import alone, shortened

ORDER = 15
_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_HEIGHT = 3**0.5 / 2
_LETTERS = 12
_EDGE = 1e-9
_CLOSE = 0.1  # of a side

Point = tuple[float, float, float]  # shares of the three tokens
_CORNERS: tuple[Point, Point, Point] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_SETS = [each for size in (1, 2) for each in combinations(range(3), size)]


@dataclass(frozen=True, slots=True)
class _Three:
    """The three largest tokens of p: labels, the laws rescaled to them, and the mass they had."""

    labels: tuple[Label, Label, Label]
    p: Point
    q: Point
    p_mass: float
    q_mass: float
    drafts: int


def draw(reading: Reading) -> Picture | None:
    """Return the triangle of the round's most telling selection."""
    pick = telling(reading)
    three = None if pick is None else _three(reading, pick)
    if three is None:
        return None
    words = _told(three)
    return {
        "section": {
            "head": f"What {count(three.drafts, 'draft')} could win, for every target",
            "note": "A point is a target law over three tokens, a corner all of its mass on one. "
            "Lines: the largest acceptance of any rule, for this q. Inside the blue line nothing "
            "need be rejected.",
            "figure": _figure(three),
            "foot": words,
            "legend": [],
            "alt": words,
        },
        "html": "",
    }


def _three(reading: Reading, pick: Pick) -> _Three | None:
    if pick.q is None or len(pick.token) < 3:
        return None
    a, b, c = sorted(range(len(pick.token)), key=lambda place: -pick.p[place])[:3]
    columns = [(each[a], each[b], each[c]) for each in (pick.p, pick.q)]
    p, q = (_rescaled(column) for column in columns)
    if p is None or q is None:
        return None
    first, second, third = (
        shortened(reading.candidate(pick.token[place], pick.node), _LETTERS) for place in (a, b, c)
    )
    masses = min(1.0, sum(columns[0])), min(1.0, sum(columns[1]))
    return _Three((first, second, third), p, q, *masses, len(pick.candidates))


def _rescaled(column: Point) -> Point | None:
    total = sum(column)
    if total <= 0:
        return None
    a, b, c = column
    return a / total, b / total, c / total


def best_acceptance(p: Point, q: Point, drafts: int) -> float:
    """Return the largest acceptance for laws over three tokens."""
    gaps = [_share(p, each) - _share(q, each) ** drafts for each in _SETS]
    return 1 + min(0.0, *gaps)


def region(q: Point, drafts: int, least: float) -> list[Point]:
    """Return the corners, in order, of all targets with an acceptance of at least `least`."""
    polygon: list[Point] = list(_CORNERS)
    for each in _SETS:
        polygon = _cut(polygon, each, _share(q, each) ** drafts - (1 - least))
    return polygon


def _share(law: Point, tokens: Sequence[int]) -> float:
    return sum(law[token] for token in tokens)


def _cut(polygon: Sequence[Point], tokens: Sequence[int], least: float) -> list[Point]:
    """Keep the part of a convex polygon where `tokens` have a share of at least `least`."""
    found: list[Point] = []
    for place, here in enumerate(polygon):
        before = polygon[place - 1]
        inside, was = _share(here, tokens) - least, _share(before, tokens) - least
        if (inside > _EDGE and was < -_EDGE) or (inside < -_EDGE and was > _EDGE):
            found.append(_between(before, here, was / (was - inside)))
        if inside >= -_EDGE:
            found.append(here)
    return found


def _between(one: Point, other: Point, share: float) -> Point:
    a, b, c = (x + share * (y - x) for x, y in zip(one, other, strict=True))
    return a, b, c


def _place(law: Point) -> tuple[float, float]:
    """Return where a law lies: the first token's corner is left, the second's right."""
    return law[1] + law[2] / 2, law[2] * _HEIGHT


def _figure(three: _Three) -> Figure:
    regions = [(level, region(three.q, three.drafts, level)) for level in _LEVELS]
    shown = [(level, polygon) for level, polygon in regions if polygon]
    data = [_area(polygon, level) for level, polygon in shown]
    data += [_border(), _levels(three), _points(three), _names(three)]
    return {"data": data, "layout": _layout()}


def _area(polygon: Sequence[Point], level: float) -> dict[str, object]:
    places = [_place(law) for law in [*polygon, polygon[0]]]
    whole = level == 1
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [round(x, 4) for x, _ in places],
        "y": [round(y, 4) for _, y in places],
        "fill": "toself",
        "fillcolor": "@kept",
        "line": {"width": 2 if whole else 0.8, "color": "@accepted" if whole else "@mute"},
        "opacity": 1 if whole else 0.25,
        "hoverinfo": "skip",
    }


def _border() -> dict[str, object]:
    places = [_place(law) for law in (*_CORNERS, _CORNERS[0])]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "line": {"width": 1, "color": "@mute"},
        "hoverinfo": "skip",
    }


def _levels(three: _Three) -> dict[str, object]:
    """Write each line's level where it meets the way from q to the corner that loses most."""
    worst = min(_CORNERS, key=lambda corner: best_acceptance(corner, three.q, three.drafts))
    least = best_acceptance(worst, three.q, three.drafts)
    found = [(level, _reach(three, worst, level)) for level in _LEVELS if least < level < 1]
    written = [
        (level, _place(_between(three.q, worst, reach)))
        for level, reach in found
        if reach < 1 - _CLOSE
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [round(x, 4) for _, (x, _) in written],
        "y": [round(y, 4) for _, (_, y) in written],
        "text": [probability(level, 1) for level, _ in written],
        "textfont": {"size": 11, "color": "@ink"},
        "hoverinfo": "skip",
    }


def _reach(three: _Three, corner: Point, level: float) -> float:
    """Return how far one can go from q to the corner until acceptance falls to `level`."""
    near, far = 0.0, 1.0
    for _ in range(30):
        middle = (near + far) / 2
        law = _between(three.q, corner, middle)
        if best_acceptance(law, three.q, three.drafts) >= level:
            near = middle
        else:
            far = middle
    return near


def _points(three: _Three) -> dict[str, object]:
    places = [_place(law) for law in (three.q, three.p)]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [round(x, 4) for x, _ in places],
        "y": [round(y, 4) for _, y in places],
        "text": ["q", "p"],
        "textposition": _sides(*places),
        "textfont": {"size": 12, "color": "@ink"},
        "marker": {
            "size": [9, 10],
            "color": ["@paper", "@law"],
            "line": {"width": 1.6, "color": "@law"},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [
            f"{name}: {', '.join(probability(share) for share in law)}"
            for name, law in (("q", three.q), ("p", three.p))
        ],
        "cliponaxis": False,
    }


def _sides(q: tuple[float, float], p: tuple[float, float]) -> list[str]:
    """Return on which side of its point each name stands: apart where the points are close."""
    if abs(q[0] - p[0]) < _CLOSE and abs(q[1] - p[1]) < _CLOSE:
        upper, lower = "top right", "middle right"
        return [upper, lower] if q[1] > p[1] else [lower, upper]
    return ["middle left" if x > 1 - _CLOSE else "middle right" for x, _ in (q, p)]


def _names(three: _Three) -> dict[str, object]:
    places = [_place(law) for law in _CORNERS]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [x for x, _ in places],
        "y": [y if y else -0.02 for _, y in places],
        "text": [chart_text(alone(label)) for label in three.labels],
        "textposition": ["bottom center", "bottom center", "top center"],
        "textfont": {"size": 12, "color": "@ink"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _layout() -> dict[str, object]:
    axes: dict[str, dict[str, object]] = {
        "xaxis": {"range": [-0.12, 1.12], "showticklabels": False},
        "yaxis": {
            "range": [-0.11, _HEIGHT + 0.09],
            "showticklabels": False,
            "scaleanchor": "x",
            "scaleratio": 1,
        },
    }
    return layout(270, (8, 8, 0, 0), axes)


def _told(three: _Three) -> str:
    best = best_acceptance(three.p, three.q, three.drafts)
    first, second, third = map(named, three.labels)
    verdict = (
        "p lies inside the blue line: a rule can accept always"
        if best >= 1 - _EDGE
        else f"p lies outside the blue line: no rule accepts more than {probability(best)}"
    )
    return (
        f"The three largest tokens of p alone: {first}, {second} and {third}, with "
        f"{probability(three.p_mass)} of p and {probability(three.q_mass)} of q, rescaled to 1. "
        f"Among them {verdict}."
    )
