"""Medusa and Hydra: the tree grown node by node, and what its nodes came to.

Left the tree, numbered in the order in which its nodes were added; a circle is as large as the
chance that was counted for it. Right the tokens that are expected to stay as the tree grows, and
those that did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt

from core.extras import AccuracyTreeExtras
from core.trace import Round
from viz.branches import branches
from viz.chart_tokens import note
from viz.figure import FONT, layout
from viz.numbers import count, ordinal, probability
from viz.payload import Figure, Picture
from viz.plan_layout import Plan, laid_out
from viz.reading import Reading

ORDER = 11
_SPLIT = (0.52, 0.62)  # where the tree ends and where the curves begin
_TOP, _BOTTOM = 26, 34  # px: the panels' heads, the axis
_LOWEST, _HIGHEST, _LEAF = 180, 420, 17  # px of the panels, of a row
_RADIUS = 13  # px of a circle whose value is 1
_SO_FAR = 256  # rounds that are counted


@dataclass(frozen=True, slots=True)
class _Growth:
    """`expected` and `found` (nodes + 1,): tokens that stay with the first n nodes, as counted on
    and in the `rounds` so far; `stayed`: in how many of these each node did; `path`: of this round.
    """

    expected: Sequence[float]
    found: Sequence[float]
    stayed: Sequence[int]
    rounds: int
    path: Sequence[int]


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose tree was made from how often its heads were right."""
    extra = next((e for e in reading.round.extras if isinstance(e, AccuracyTreeExtras)), None)
    if extra is None or not extra.value:
        return None
    plan, growth = laid_out(extra), _growth(reading, extra)
    told = _told(extra, growth)
    return {
        "section": {
            "head": "The tree, grown by value",
            "note": "Nodes are numbered in the order in which they were added, always the most "
            "valuable next. Circle area: the product of how often its candidates were right. "
            "Curves: drafted tokens that stay in a round, if the tree had stopped at so many "
            "nodes.",
            "figure": _figure(extra, plan, growth),
            "foot": told,
            "legend": [],
            "alt": told,
        },
        "html": "",
    }


def _growth(reading: Reading, extra: AccuracyTreeExtras) -> _Growth:
    """Count over the rounds up to this one that filled the whole tree."""
    size, end = len(extra.value), reading.round.index + 1
    stayed, rounds = [0] * (size + 1), 0
    for r in reading.trace.rounds[max(0, end - _SO_FAR) : end]:
        if r.drafted == size and r.outcome.final_token is not None:
            rounds += 1
            for node in _path(extra, r):
                stayed[node] += 1
    return _Growth(
        list(accumulate(extra.value, initial=0.0)),
        [each / max(1, rounds) for each in accumulate(stayed)],
        stayed,
        rounds,
        _path(extra, reading.round),
    )


def _path(extra: AccuracyTreeExtras, r: Round) -> list[int]:
    """Return the tree's nodes that a round accepted."""
    columns = zip(extra.tree_parent, extra.tree_rank, strict=True)
    node_at = {place: node for node, place in enumerate(columns, start=1)}
    found: list[int] = [0]
    for node in r.outcome.accepted:
        place = found[-1], r.nodes.rank[node]
        if place not in node_at:
            break
        found.append(node_at[place])
    return found[1:]


def _figure(extra: AccuracyTreeExtras, plan: Plan, growth: _Growth) -> Figure:
    return {
        "data": [
            _lines(plan, [n for n in plan.nodes if n not in growth.path], "@hair", 1.0),
            _lines(plan, growth.path, "@accepted", 2.0),
            _nodes(extra, plan, growth),
            _curve("expected", growth.expected, "@law", "dot"),
            *([_curve("found", growth.found, "@accepted", "solid")] if growth.rounds else []),
        ],
        "layout": _layout(extra, plan, growth),
    }


def _lines(plan: Plan, nodes: Sequence[int], colour: str, width: float) -> dict[str, object]:
    ends = [(plan.parents[node], node) for node in nodes]
    pairs = [((plan.depths[a], plan.y[a]), (plan.depths[b], plan.y[b])) for a, b in ends]
    return branches(pairs, colour, width) | {"name": "path" if colour == "@accepted" else "tree"}


def _nodes(extra: AccuracyTreeExtras, plan: Plan, growth: _Growth) -> dict[str, object]:
    sizes = [_size(value) for value in extra.value]
    lines = ["@accepted" if node in growth.path else "@law" for node in plan.nodes]
    fills = ["@accepted" if node in growth.path else "@paper" for node in plan.nodes]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "nodes",
        "x": plan.depths,
        "y": plan.y,
        "marker": {
            "symbol": ["square", *["circle"] * len(fills)],
            "size": [8, *sizes],
            "opacity": 1,
            "color": ["@ink", *fills],
            "line": {"width": 1.2, "color": ["@ink", *lines]},
        },
        "hoverinfo": "text",
        "hovertext": [
            "The last token of the text",
            *(_hover(extra, plan, growth, node) for node in plan.nodes),
        ],
        "cliponaxis": False,
    }


def _hover(extra: AccuracyTreeExtras, plan: Plan, growth: _Growth, node: int) -> str:
    place = f"{ordinal(node)} node added, {ordinal(plan.ranks[node] + 1)} candidate"
    seen = f", stayed in {growth.stayed[node]:,} of {count(growth.rounds, 'round')}"
    value = probability(extra.value[node - 1])
    return f"{place}: value {value}{seen if growth.rounds else ''}"


def _curve(name: str, values: Sequence[float], colour: str, dash: str) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(range(len(values))),
        "y": [round(value, 4) for value in values],
        "xaxis": "x2",
        "yaxis": "y2",
        "line": {"color": colour, "width": 1.8, "dash": dash, "shape": "linear"},
        "hoverinfo": "text",
        "hovertext": [
            f"{count(nodes, 'node')}: {value:.2f} tokens stay, "
            f"{'as counted on' if name == 'expected' else 'so far in this run'}"
            for nodes, value in enumerate(values)
        ],
    }


def _layout(extra: AccuracyTreeExtras, plan: Plan, growth: _Growth) -> dict[str, object]:
    height = max(_LOWEST, min(_HIGHEST, _LEAF * plan.rows))
    deepest, size = max(plan.depths), len(extra.value)
    highest = max(growth.expected[-1], growth.found[-1], 0.1)
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [-0.2, deepest + 0.45],
            "domain": [0, _SPLIT[0]],
            "tickvals": list(range(1, deepest + 1)),
            "ticktext": [f"depth {level}" for level in range(1, deepest + 1)],
            "anchor": "y",
        },
        "yaxis": {"range": [0.6 - plan.rows, 0.6], "showticklabels": False},
        "xaxis2": {
            "range": [0, size * 1.02],
            "domain": [_SPLIT[1], 1],
            "anchor": "y2",
            "tickvals": sorted({0, (size + 1) // 2, size}),
            "title": {"text": "nodes", "standoff": 2, "font": FONT},
        },
        "yaxis2": {
            "range": [0, 1.15 * highest],
            "anchor": "x2",
            "nticks": 4,
            "showgrid": True,
            "gridcolor": "@hair",
        },
    }
    numbers = [_number(extra, plan, node, growth) for node in plan.nodes] if size <= 32 else []
    figure = layout(height + _TOP + _BOTTOM, (6, 6, _TOP, _BOTTOM), axes)
    return figure | {"annotations": [*numbers, *_heads(), *_ends(growth)]}


def _size(value: float) -> float:
    """Return the px across of a circle."""
    return round(max(3.0, 2 * _RADIUS * sqrt(value)), 1)


def _number(extra: AccuracyTreeExtras, plan: Plan, node: int, growth: _Growth) -> dict[str, object]:
    """Return when a node was added, at its right."""
    colour = "@accepted" if node in growth.path else "@mute"
    text = f"{node}"
    shift = round(_size(extra.value[node - 1]) / 2) + 2
    shown = note(plan.depths[node], plan.y[node], text, colour, node in growth.path)
    return shown | {"xshift": shift, "bgcolor": "@paper", "borderpad": 0}


def _heads() -> list[dict[str, object]]:
    at_top: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 6,
        "borderpad": 0,
    }
    return [
        note(0, 1, "order of growth", "@ink", bold=True) | at_top,
        note(_SPLIT[1], 1, "tokens that stay", "@ink", bold=True) | at_top,
    ]


def _ends(growth: _Growth) -> list[dict[str, object]]:
    """Return where the curves end, in the corner below them: both rise and flatten."""
    at_corner: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "bottom",
        "align": "right",
    }
    ends = [(f"dotted: expected {growth.expected[-1]:.2f}", "@ink")]
    ends += [(f"so far {growth.found[-1]:.2f}", "@accepted")] if growth.rounds else []
    return [
        note(1, 0, text, colour) | at_corner | {"yshift": 8 + 16 * place}
        for place, (text, colour) in enumerate(ends)
    ]


def _told(extra: AccuracyTreeExtras, growth: _Growth) -> str:
    size = count(len(extra.value), "node")
    told = f"With {size}, {growth.expected[-1]:.2f} drafted tokens a round are expected to stay"
    if growth.rounds:
        rounds = count(growth.rounds, "round")
        told += f"; {growth.found[-1]:.2f} did on average in the {rounds} so far"
    return f"{told}. {_origin(extra)}"


def _origin(extra: AccuracyTreeExtras) -> str:
    """Say what the tree was made from."""
    if extra.origin == "measured":
        return (
            f"How often candidates are right was counted at {extra.counted:,} places or more; "
            "their product takes each as independent of those before it."
        )
    return (
        "Nobody counted how often these heads are right: the tree is the one published for "
        "Vicuna-7B, so that order and expectation are not theirs."
    )
