"""Sequoia: the tree that was planned ahead, and how the acceptance that it counts on comes out.

Left the plan, lines as wide as a child of that place is likely to stay, with the path that this
round took. Right the acceptance by place, as planned for and as found in this run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from core.extras import SequoiaExtras
from core.trace import Round
from viz.chart_tokens import note, token_text
from viz.figure import CLEAR, SHARES, layout
from viz.numbers import count, ordinal, probability, rate
from viz.payload import Figure, Picture
from viz.plan_layout import Plan, filled, laid_out
from viz.reading import Reading

ORDER = 10
_SPLIT = (0.5, 0.62)  # where the tree ends and where the bars begin
_WIDEST, _THINNEST = 9.0, 0.8  # px of a line
_TOP, _BOTTOM = 40, 24  # px: the panels' heads, the axis
_SEEN = 50  # px of the column that counts what stayed
_LOWEST, _HIGHEST = 150, 406  # px of the panels
_LEAF, _BAR = 16, 26  # px of a row on either side
_MOST_PLACES = 8  # bars
_SO_FAR = 256  # rounds that are counted
_ROOM = 2.1  # end of the axis, so that numbers fit beside the bars


@dataclass(frozen=True, slots=True)
class _Place:
    """One place among siblings: how often it was planned to stay, and how often it did."""

    rank: int
    planned: float
    stayed: int
    tried: int

    @property
    def share(self) -> float:
        return self.stayed / self.tried if self.tried else 0.0

    @property
    def name(self) -> str:
        return ordinal(self.rank + 1)

    @property
    def told(self) -> str:
        seen = f"{self.stayed:,} of {self.tried:,} in this run" if self.tried else "not tried yet"
        return f"{self.name} child: planned {probability(self.planned)}, {seen}"


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that filled a plan."""
    extra = next((e for e in reading.round.extras if isinstance(e, SequoiaExtras)), None)
    if extra is None or not extra.tree_parent:
        return None
    places = _places(reading, extra)
    words = f"{_expectation(reading, extra)} {_origin(extra)}"
    return {
        "section": {
            "head": "The plan, and what came of it",
            "note": "One tree for every round: a line is as wide as a child of that place is "
            "likely to be the one that stays; blue is the path of this round. Bars: that chance "
            "by place, as planned for. Dots: the share that stayed so far in this run.",
            "figure": _figure(reading, extra, places),
            "foot": words,
            "legend": [],
            "alt": f"{words} {'. '.join(place.told for place in places)}.",
        },
        "html": "",
    }


def _places(reading: Reading, extra: SequoiaExtras) -> list[_Place]:
    """Count, by place, how often such a child stayed in the rounds up to this one."""
    stayed, tried = Counter[int](), Counter[int]()
    end = reading.round.index + 1
    for r in reading.trace.rounds[max(0, end - _SO_FAR) : end]:
        for rank, did_stay in _verdicts(r):
            tried[rank] += 1
            stayed[rank] += did_stay
    shown = range(min(_MOST_PLACES, len(extra.acceptance), max(extra.tree_rank) + 2))
    return [_Place(rank, extra.acceptance[rank], stayed[rank], tried[rank]) for rank in shown]


def _verdicts(r: Round) -> Iterator[tuple[int, bool]]:
    """Yield place and verdict of every child of the nodes where something was tried."""
    visited = {r.nodes.parent[check.node] for check in r.checks}
    kept = set(r.outcome.accepted)
    for node, parent in enumerate(r.nodes.parent):
        if parent in visited:
            yield r.nodes.rank[node], node in kept


def _figure(reading: Reading, extra: SequoiaExtras, places: list[_Place]) -> Figure:
    plan = laid_out(extra)
    found = filled(reading, plan)
    kept = [node for node in plan.nodes if found.get(node) in reading.path()]
    ranks = sorted(set(plan.ranks[1:]))
    return {
        "data": [
            *(_line(extra, plan, [n for n in plan.nodes if plan.ranks[n] == r]) for r in ranks),
            *(_line(extra, plan, [node], "@accepted") for node in kept),
            _nodes(reading, plan, found, kept),
            _bars(places),
            *([_dots(places)] if any(place.tried for place in places) else []),
        ],
        "layout": _layout(extra, plan, places),
    }


def _line(
    extra: SequoiaExtras, plan: Plan, nodes: list[int], colour: str = "@faint"
) -> dict[str, object]:
    """Return the lines to nodes of one place."""
    x: list[float | None] = []
    y: list[float | None] = []
    for node in nodes:
        parent, depth = plan.parents[node], plan.depths[node]
        x += [depth - 1, depth - 0.45, depth, None]
        y += [plan.y[parent], plan.y[node], plan.y[node], None]
    share = extra.acceptance[plan.ranks[nodes[0]]]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "plan" if colour == "@faint" else "path",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": round(max(_THINNEST, _WIDEST * share), 2)},
        "hoverinfo": "skip",
    }


def _nodes(
    reading: Reading, plan: Plan, found: dict[int, int], kept: list[int]
) -> dict[str, object]:
    size = 6 if plan.rows * 10 <= _HIGHEST else 4
    lines = ["@accepted" if node in kept else "@mute" for node in plan.nodes]
    fills = [
        line if node in found else "@paper" for node, line in zip(plan.nodes, lines, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "nodes",
        "x": plan.depths,
        "y": plan.y,
        "marker": {
            "symbol": ["square", *["circle"] * len(fills)],
            "size": [8, *[size] * len(fills)],
            "opacity": 1,
            "color": ["@ink", *fills],
            "line": {"width": 1, "color": ["@ink", *lines]},
        },
        "hoverinfo": "text",
        "hovertext": [
            "The last token of the text",
            *(_hover(reading, plan, node, found.get(node)) for node in plan.nodes),
        ],
        "cliponaxis": False,
    }


def _hover(reading: Reading, plan: Plan, node: int, drafted: int | None) -> str:
    place = f"{ordinal(plan.ranks[node] + 1)} child"
    if drafted is None:
        return f"{place}: not drafted, the text was to end before"
    return f"{place}: {token_text(reading.label(drafted))}, {reading.state(drafted)}"


def _bars(places: list[_Place]) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": "planned",
        "x": [place.planned for place in places],
        "y": [-place.rank for place in places],
        "width": 0.56,
        "xaxis": "x2",
        "yaxis": "y2",
        "marker": {"color": CLEAR, "line": {"width": 1.2, "color": "@law"}},
        "hoverinfo": "text",
        "hovertext": [place.told for place in places],
    }


def _dots(places: list[_Place]) -> dict[str, object]:
    tried = [place for place in places if place.tried]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "found",
        "x": [place.share for place in tried],
        "y": [-place.rank for place in tried],
        "xaxis": "x2",
        "yaxis": "y2",
        "marker": {"size": 8, "color": "@accepted", "opacity": 1, "line": {"width": 0}},
        "hoverinfo": "text",
        "hovertext": [place.told for place in tried],
        "cliponaxis": False,
    }


def _layout(extra: SequoiaExtras, plan: Plan, places: list[_Place]) -> dict[str, object]:
    height = max(_LOWEST, min(_HIGHEST, _LEAF * plan.rows), _BAR * len(places))
    deepest = max(plan.depths)
    bars = _BAR * len(places) / height
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [-0.25, deepest + 0.25],
            "domain": [0, _SPLIT[0]],
            "tickvals": list(range(1, deepest + 1)),
            "anchor": "y",
        },
        "yaxis": {"range": [0.7 - plan.rows, 0.3], "showticklabels": False},
        "xaxis2": SHARES | {"range": [0, _ROOM], "domain": [_SPLIT[1], 1], "anchor": "y2"},
        "yaxis2": {
            "range": [0.4 - len(places), 0.6],
            "domain": [1 - bars, 1],
            "tickvals": [-place.rank for place in places],
            "ticktext": [place.name for place in places],
            "ticklabelstandoff": 6,
            "anchor": "x2",
        },
    }
    return layout(height + _TOP + _BOTTOM, (6, 6, _TOP, _BOTTOM), axes) | {
        "annotations": [*_heads(extra, plan), *(n for place in places for n in _numbers(place))],
        "barmode": "overlay",
    }


def _heads(extra: SequoiaExtras, plan: Plan) -> list[dict[str, object]]:
    nodes = count(len(plan.nodes), "node")
    at_top: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 20,
        "borderpad": 0,
    }
    below = at_top | {"xanchor": "right", "yshift": 3}
    title = f"{nodes}, {count(max(plan.depths), 'level')}"
    return [
        note(0, 1, title, "@ink", bold=True) | at_top,
        note(_SPLIT[1], 1, "stays, by place", "@ink", bold=True) | at_top,
        note(1, 1, "plan") | below | {"xshift": -_SEEN},
        note(1, 1, "so far") | below,
    ]


def _numbers(place: _Place) -> list[dict[str, object]]:
    """Return the numbers of a place, in two columns at the right edge."""
    at_edge: dict[str, object] = {
        "xref": "paper",
        "yref": "y2",
        "xanchor": "right",
        "align": "right",
        "borderpad": 0,
    }
    planned = note(1, -place.rank, probability(place.planned), "@ink")
    seen = note(1, -place.rank, f"{place.stayed:,} of {place.tried:,}", "@ink")
    columns = [planned | at_edge | {"xshift": -_SEEN}]
    return [*columns, seen | at_edge] if place.tried else columns


def _expectation(reading: Reading, extra: SequoiaExtras) -> str:
    """Compare what the plan promises with what this round and the run so far wrote."""
    whole = [
        len(r.outcome.emitted)
        for r in reading.trace.rounds[: reading.round.index + 1]
        if r.drafted == len(extra.tree_parent) and r.outcome.final_token is not None
    ]
    told = f"The plan expects {extra.expected:.2f} tokens a round"
    if extra.speedup is not None:
        told += f" and {rate(extra.speedup)} times the speed of plain decoding"
    if not whole:
        return f"{told}."
    wrote = count(len(reading.round.outcome.emitted), "token")
    return (
        f"{told}; this one wrote {wrote}, the {count(len(whole), 'round')} so far {_mean(whole)}."
    )


def _mean(whole: list[int]) -> str:
    return f"{sum(whole) / len(whole):.2f} on average"


def _origin(extra: SequoiaExtras) -> str:
    """Say whose acceptance the plan is for, and what to do where it is not this drafter's."""
    if extra.origin == "given":
        return "The acceptance was given as a setting."
    if extra.origin == "published":
        return (
            "The acceptance is that of the paper's code: this drafter's own was not measured yet "
            "(python -m core.measure acceptance)."
        )
    at = f" at temperature {extra.temperature:g}" if extra.temperature is not None else ""
    told = f"The acceptance was counted at {count(extra.counted, 'node')}{at}"
    return f"{told}." if extra.is_same else f"{told}, with other weights or another temperature."
