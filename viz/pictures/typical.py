"""Typical acceptance: how unsure the target was where each candidate stands, what it gave the
candidate, and the curve above which a candidate stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10

from core.extras import TypicalExtras
from viz.figure import chart_text, layout
from viz.numbers import count, nats, probability
from viz.payload import Figure, Picture
from viz.reading import OWN, Reading
from viz.rule_typical import threshold
from viz.text import alone, shortened

ORDER = 12
_FLOOR = -4.0  # log10 of the least p shown
_TOP = 0.5  # room for the name of a token with p = 1
_WIDEST = 2.5  # nats, unless a law has more
_POINTS = 48  # of the curve
_LETTERS = 12  # of a label
_NEAR = (0.11, 0.4)  # labels closer than this, in widths and in powers of ten, are joined
_MARKS: Mapping[str, tuple[str, float, str, str]] = {  # symbol, size, fill, outline
    "unreached": ("circle-open", 6, "@faint", "@faint"),
    "outrun": ("circle-open", 11, "@accepted", "@accepted"),
    "rejected": ("circle-x-open", 11, "@rejected", "@rejected"),
    "accepted": ("circle", 11, "@accepted", "@accepted"),
    "relaxed": ("circle", 11, "@relaxed", "@relaxed-text"),
}
_TESTED = ("accepted", "relaxed", "rejected")
_LEGEND = {
    "accepted": "kept, by the exact rule too",
    "relaxed": "kept by this rule only",
    "rejected": "not typical",
    "unreached": "on another branch, or outrun",
}


@dataclass(frozen=True, slots=True)
class _Dot:
    """One candidate: entropy of the law that it was to follow, log10 of its p, and its kind."""

    node: int
    entropy: float
    p: float
    kind: str

    @property
    def height(self) -> float:
        return _height(self.p)


def _height(share: float) -> float:
    """Return where a share stands on the axis of powers of ten."""
    return max(_FLOOR, log10(share)) if share > 0 else _FLOOR


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round under typical acceptance; there is none at temperature 0."""
    extra = next((e for e in reading.round.extras if isinstance(e, TypicalExtras)), None)
    if extra is None or reading.greedy:
        return None
    dots = _dots(reading, extra)
    if not dots:
        return None
    words = _told(reading)
    told = [_dot_told(reading, extra, dot) for dot in dots if dot.kind in _TESTED]
    kinds = {dot.kind for dot in dots}
    curve = f"min({_short(extra.epsilon)}, {_short(extra.delta)} exp(−H))"
    return {
        "section": {
            "head": "What counts as typical",
            "note": "Lossy: no dart decides. A dot is a candidate: how unsure the target was there "
            f"(entropy H), and what it gave the token. Above {curve} it may stay.",
            "figure": _figure(reading, extra, dots),
            "foot": words,
            "legend": [(kind, name) for kind, name in _LEGEND.items() if kind in kinds],
            "alt": " ".join([*told, words]),
        },
        "html": "",
    }


def _figure(reading: Reading, extra: TypicalExtras, dots: Sequence[_Dot]) -> Figure:
    widest = max(_WIDEST, 1.06 * max(dot.entropy for dot in dots))
    marks = [*_curve(extra, widest), *_marks(reading, dots), _labels(reading, dots, widest)]
    return {"data": marks, "layout": _layout(widest)}


def _dots(reading: Reading, extra: TypicalExtras) -> list[_Dot]:
    found: list[_Dot] = []
    for node in range(1, reading.size):
        entropy, p = extra.entropy[reading.parent(node)], reading.round.nodes.p[node]
        if entropy is not None and p is not None:
            found.append(_Dot(node, entropy, p, _kind(reading, node)))
    return found


def _kind(reading: Reading, node: int) -> str:
    if reading.round.nodes.reason[node] == "outrun":
        return "outrun"
    state = reading.state(node)
    return state if state in _MARKS else "unreached"


def _told(reading: Reading) -> str:
    states = [reading.state(node) for node in reading.round.outcome.accepted]
    kept, relaxed = len(states), states.count("relaxed")
    if not kept:
        return f"No candidate is typical.{_own(reading)}"
    exact = (
        f" The exact rule's darts would have let {relaxed} go."
        if relaxed
        else (" The exact rule's darts would have kept them too.")
    )
    return f"{count(kept, 'candidate')} kept.{exact}{_own(reading)}"


def _own(reading: Reading) -> str:
    own = "" if reading.own is None else alone(reading.label(OWN))
    return f" The target adds {own}." if own else ""


def _dot_told(reading: Reading, extra: TypicalExtras, dot: _Dot) -> str:
    return (
        f"{alone(reading.label(dot.node))}: p {probability(dot.p)}, threshold "
        f"{probability(threshold(extra, dot.entropy))} at {nats(dot.entropy)} nats, {dot.kind}."
    )


def _short(value: float) -> str:
    return f"{value:g}".replace("0.", ".", 1)


def _curve(extra: TypicalExtras, widest: float) -> list[dict[str, object]]:
    """Return the region above the threshold, and the threshold."""
    x = [widest * i / (_POINTS - 1) for i in range(_POINTS)]
    y = [_height(threshold(extra, entropy)) for entropy in x]
    region: dict[str, object] = {
        "type": "scatter",
        "mode": "none",
        "name": "typical",
        "x": [*x, widest, 0.0],
        "y": [*y, _TOP, _TOP],
        "fill": "toself",
        "fillcolor": "@kept",
        "hoverinfo": "skip",
    }
    line: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "threshold",
        "x": x,
        "y": y,
        "line": {"color": "@ink", "width": 1.4},
        "hoverinfo": "skip",
    }
    return [region, line]


def _marks(reading: Reading, dots: Sequence[_Dot]) -> list[dict[str, object]]:
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": kind,
            "x": [dot.entropy for dot in dots if dot.kind == kind],
            "y": [dot.height for dot in dots if dot.kind == kind],
            "marker": {
                "symbol": symbol,
                "size": size,
                "color": fill,
                "line": {"width": 1.4, "color": outline},
            },
            "hoverinfo": "text",
            "hovertext": [_hover(reading, dot) for dot in dots if dot.kind == kind],
            "cliponaxis": False,
        }
        for kind, (symbol, size, fill, outline) in _MARKS.items()
        if any(dot.kind == kind for dot in dots)
    ]


def _hover(reading: Reading, dot: _Dot) -> str:
    name = chart_text(alone(reading.label(dot.node)))
    return f"{name}: p {probability(dot.p)} at {nats(dot.entropy)} nats, {dot.kind}"


def _labels(reading: Reading, dots: Sequence[_Dot], widest: float) -> dict[str, object]:
    """Return the names of the kept candidates; those that stand together share a label."""
    groups: list[list[_Dot]] = []
    for dot in (dot for dot in dots if dot.kind in ("accepted", "relaxed")):
        near = [g for g in groups if any(_touch(dot, other, widest) for other in g)]
        joined = [*(other for group in near for other in group), dot]
        groups = [*(group for group in groups if group not in near), joined]
    return {
        "type": "scatter",
        "mode": "text",
        "name": "labels",
        "x": [_end(group, widest) for group in groups],
        "y": [0.07 + max(dot.height for dot in group) for group in groups],
        "text": [_joined(reading, group) for group in groups],
        "textposition": [
            f"top {'left' if _is_right(group, widest) else 'right'}" for group in groups
        ],
        "textfont": {"size": 12, "color": "@ink"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _is_right(group: Sequence[_Dot], widest: float) -> bool:
    return max(dot.entropy for dot in group) > 0.7 * widest


def _end(group: Sequence[_Dot], widest: float) -> float:
    """Return where the name begins, or where it ends so as not to leave the chart."""
    places = [dot.entropy for dot in group]
    return max(places) if _is_right(group, widest) else min(places)


def _touch(one: _Dot, other: _Dot, widest: float) -> bool:
    across, up = _NEAR
    near = abs(one.entropy - other.entropy) < across * widest
    return near and abs(one.height - other.height) < up


def _joined(reading: Reading, group: Sequence[_Dot]) -> str:
    ordered = sorted(group, key=lambda dot: (dot.entropy, dot.node))  # as they stand
    names = [alone(shortened(reading.label(dot.node), _LETTERS)) for dot in ordered]
    return chart_text("  ".join(names))


def _layout(widest: float) -> dict[str, object]:
    powers = [0, -1, -2, -3, -4]
    axes: dict[str, dict[str, object]] = {
        "xaxis": {"range": [-0.03 * widest, widest], "nticks": 6},
        "yaxis": {
            "range": [_FLOOR - 0.25, _TOP],
            "tickvals": powers,
            "ticktext": ["1", ".1", ".01", ".001", "≤ .0001"],
        },
    }
    badge: dict[str, object] = {
        "text": "lossy",
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "yref": "paper",
        "y": 0,
        "yanchor": "bottom",
        "xshift": -6,
        "yshift": 6,
        "showarrow": False,
        "bordercolor": "@relaxed-text",
        "borderwidth": 1.4,
        "borderpad": 3,
        "font": {"size": 12, "color": "@relaxed-text"},
    }
    across: dict[str, object] = {
        "text": "entropy of p, nats",
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "yref": "paper",
        "y": 0,
        "yanchor": "top",
        "yshift": -16,
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": 11, "color": "@mute"},
    }
    up = {**across, "text": "p", "x": 0, "xanchor": "left", "xshift": -30, "y": 1, "yshift": 4}
    return layout(250, (52, 10, 8, 38), axes) | {"annotations": [badge, across, up]}
