"""Canonical decomposition: the drafts of a node, the chances with which one is selected, and p_I,
the law of the token selected, laid over the target's p.

One row per token: whether it was drafted, its chances against the others, its bars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import Pick
from viz.chart_tokens import note
from viz.figure import chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.rule_selection import selections, telling
from viz.sentence import named
from viz.text import alone, shortened

ORDER = 14
_PITCH, _TOP = 24, 40  # pixels of a row, of the heads
_ROWS = 8  # tokens shown; those drafted always are
_LETTERS = 9
_SIDE = 8  # tokens of the square, at most


@dataclass(frozen=True, slots=True)
class _Row:
    """One token, or all others: what three laws give it, and how often it was drafted."""

    token: int | None
    name: str
    p: float
    picked: float
    q: float | None
    drafted: int = 0
    selected: bool = False


def draw(reading: Reading) -> Picture | None:
    """Return the picture of the round's most telling selection."""
    pick = telling(reading)
    if pick is None:
        return None
    rows, side = _rows(reading, pick), _side(pick)
    return {
        "section": {
            "head": "From several drafts to one",
            "note": _note(pick, side),
            "figure": _figure(reading, pick, rows, side),
            "foot": _told(reading, pick),
            "legend": [
                ("target", "p"),
                ("draft", "law of the token selected"),
                ("overlap", "overlap: the chance to be kept"),
            ],
            "alt": " ".join(_told(reading, each) for each in selections(reading)),
        },
        "html": "",
    }


def _note(pick: Pick, side: int) -> str:
    told = ["Ring: drafted; disc: selected."]
    if side > 1:
        last = ", at the last meeting" if len(pick.candidates) > 2 else ""
        told.append(f"A cell{last}: how often its row is selected from it and its column.")
    if pick.q is not None:
        told.append("The tick is q, the law of one draft.")
    return " ".join(told)


def _rows(reading: Reading, pick: Pick) -> list[_Row]:
    """Return the rows: tokens of the square, those drafted, the largest, and all others."""
    nodes = reading.round.nodes
    drafted = [nodes.token[node] for node in pick.candidates]
    size = [max(p, picked) for p, picked in zip(pick.p, pick.picked, strict=True)]
    large = sorted(range(len(pick.token)), key=lambda place: -size[place])
    places = dict.fromkeys([*range(_side(pick)), *map(pick.token.index, drafted)])
    for place in large:
        if len(places) < _ROWS:
            places.setdefault(place)
    rows = [_row(reading, pick, place, drafted) for place in places]
    return [*rows, _others(pick, rows)]


def _row(reading: Reading, pick: Pick, place: int, drafted: Sequence[int]) -> _Row:
    token = pick.token[place]
    return _Row(
        token,
        alone(shortened(reading.candidate(token, pick.node), _LETTERS)),
        pick.p[place],
        pick.picked[place],
        None if pick.q is None else pick.q[place],
        drafted.count(token),
        token == reading.round.nodes.token[pick.selected],
    )


def _others(pick: Pick, rows: Sequence[_Row]) -> _Row:
    def rest(column: Sequence[float], shown: Sequence[float], tail: float) -> float:
        return min(1.0, max(0.0, sum(column) - sum(shown)) + tail)

    q = None
    if pick.q is not None:
        q = rest(pick.q, [row.q or 0.0 for row in rows], pick.q_rest or 0.0)
    return _Row(
        None,
        "all others",
        rest(pick.p, [row.p for row in rows], pick.p_rest),
        rest(pick.picked, [row.picked for row in rows], pick.picked_rest),
        q,
    )


def _side(pick: Pick) -> int:
    """Return how many tokens the square has."""
    return min(pick.free, _SIDE) if pick.free > 1 else 0


def _square(pick: Pick, side: int) -> list[list[float | None]]:
    """Return the chances (side, side) that the row's token is selected, None on the diagonal."""
    found: list[list[float | None]] = [[None] * side for _ in range(side)]
    pairs = ((i, j) for i in range(pick.free) for j in range(i + 1, pick.free))
    for (i, j), chance in zip(pairs, pick.chance, strict=True):
        if j < side:
            found[i][j], found[j][i] = chance, 1 - chance
    return found


def _figure(reading: Reading, pick: Pick, rows: list[_Row], side: int) -> Figure:
    data: list[dict[str, object]] = [_marks(rows), *_bars(rows)]
    if side:
        data += _heat(pick, rows, side)
    return {"data": data, "layout": _layout(reading, pick, rows, side)}


def _marks(rows: Sequence[_Row]) -> dict[str, object]:
    """A ring for each token drafted, a disc for the one selected."""
    drafted = [(place, row) for place, row in enumerate(rows) if row.drafted]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [0] * len(drafted),
        "y": [place for place, _ in drafted],
        "marker": {
            "size": 10,
            "color": ["@ink" if row.selected else "@paper" for _, row in drafted],
            "line": {"width": 1.6, "color": "@ink"},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [
            f"{chart_text(row.name)}: drafted {_times(row.drafted)}"
            f"{', selected' if row.selected else ''}"
            for _, row in drafted
        ],
        "cliponaxis": False,
    }


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _heat(pick: Pick, rows: Sequence[_Row], side: int) -> list[dict[str, object]]:
    chances = _square(pick, side)
    heat: dict[str, object] = {
        "type": "heatmap",
        "xaxis": "x2",
        "x": list(range(side)),
        "y": list(range(side)),
        "z": chances,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "@cut"], [0.5, "@paper"], [1, "@kept"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "text",
        "hovertext": [
            [_meets(rows, chances[i][j], i, j) for j in range(side)] for i in range(side)
        ],
    }
    cells = [(i, j, z) for i, line in enumerate(chances) for j, z in enumerate(line)]
    known = [(i, j, z) for i, j, z in cells if z is not None]
    numbers: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "xaxis": "x2",
        "x": [j for _, j, _ in known],
        "y": [i for i, _, _ in known],
        "text": [probability(z, 2) for _, _, z in known],
        "textfont": {"size": 11, "color": "@ink"},
        "hoverinfo": "skip",
    }
    return [heat, numbers]


def _meets(rows: Sequence[_Row], chance: float | None, i: int, j: int) -> str:
    if chance is None:
        return ""
    mine, other = chart_text(rows[i].name), chart_text(rows[j].name)
    return f"{mine} from {mine} and {other}: {probability(chance)}"


def _bars(rows: Sequence[_Row]) -> list[dict[str, object]]:
    y = list(range(len(rows)))
    hover = [_hover(row) for row in rows]

    def bar(values: list[float], offset: float, width: float, marker: object) -> dict[str, object]:
        return {
            "type": "bar",
            "orientation": "h",
            "xaxis": "x3",
            "x": values,
            "y": y,
            "offset": offset,
            "width": width,
            "marker": marker,
            "hoverinfo": "text",
            "hovertext": hover,
        }

    plain: dict[str, object] = {"width": 0}
    hollow = {"color": "@paper", "line": {"width": 1.2, "color": "@law"}}
    covered = [min(row.p, row.picked) for row in rows]
    bars = [
        bar(covered, -0.42, 0.84, {"color": "@kept", "line": plain}),
        bar([row.p for row in rows], -0.3, 0.27, {"color": "@law", "line": plain}),
        bar([row.picked for row in rows], 0.04, 0.26, hollow),
    ]
    known = [(place, row.q) for place, row in enumerate(rows) if row.q is not None]
    ticks: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "xaxis": "x3",
        "x": [q for _, q in known],
        "y": [place + 0.17 for place, _ in known],
        "marker": {"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": "@mute"}},
        "hoverinfo": "skip",
    }
    return [*bars, ticks] if known else bars


def _hover(row: _Row) -> str:
    q = "" if row.q is None else f", q {probability(row.q)}"
    return f"{chart_text(row.name)}: p {probability(row.p)}, selected {probability(row.picked)}{q}"


def _layout(reading: Reading, pick: Pick, rows: list[_Row], side: int) -> dict[str, object]:
    square = min(0.5, 0.07 * side + 0.02) if side else 0.0
    most = max(max(row.p, row.picked, row.q or 0.0) for row in rows)
    names = [
        f"{chart_text(row.name)} {place + 1}" if place < side else chart_text(row.name)
        for place, row in enumerate(rows)
    ]
    axes: dict[str, dict[str, object]] = {
        "xaxis": {"range": [-1, 1], "domain": [0, 0.05], "showticklabels": False},
        "xaxis2": {
            "range": [-0.5, max(side, 1) - 0.5],
            "domain": [0.05, 0.05 + square],
            "tickvals": list(range(side)),
            "ticktext": [str(place + 1) for place in range(side)],
            "side": "top",
        },
        "xaxis3": {
            "range": [0, 1.04 * most or 1],
            "domain": [0.1 + square, 1],
            "side": "top",
            **_ticks(most),
        },
        "yaxis": {
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(range(len(rows))),
            "ticktext": names,
            "tickfont": {"size": 12, "color": "@ink"},
        },
    }
    figure = layout(_PITCH * len(rows) + _TOP + 4, (92, 8, _TOP, 4), axes)
    heads = [_head("p, and what is selected", 0.1 + square)]
    heads += [_head("against", 0.05)] if side else []
    return figure | {
        "barmode": "overlay",
        "shapes": _outlined(reading, pick, side),
        "annotations": heads,
    }


def _ticks(most: float) -> dict[str, object]:
    """Return the ticks of an axis that ends at `most`: about four, written as probabilities."""
    step = next((step for step in (0.02, 0.05, 0.1, 0.2) if most < 4 * step), 0.5)
    values = [round(step * place, 2) for place in range(int(most / step + 1e-9) + 1)]
    return {"tickvals": values, "ticktext": [f"{value:g}".lstrip("0") or "0" for value in values]}


def _head(text: str, x: float) -> dict[str, object]:
    """Return what a part of the figure shows, over its scale."""
    at_top = {"xref": "paper", "yref": "paper", "yanchor": "bottom", "yshift": 18}
    return note(x, 1, text, "@ink", bold=True) | at_top | {"borderpad": 0}


def _outlined(reading: Reading, pick: Pick, side: int) -> list[dict[str, object]]:
    """Outline the squares of the last two drafts that met, where these chances decided."""
    token, chances = reading.round.nodes.token, _square(pick, side)
    places = {each: place for place, each in enumerate(pick.token[:side])}
    found: list[dict[str, object]] = []
    for duel in pick.duels[-1:]:
        i, j = places.get(token[duel.held]), places.get(token[duel.new])
        if i is None or j is None:
            continue
        chance = chances[i][j]
        if chance is not None and math.isclose(chance, duel.chance, abs_tol=1e-4):
            found += [_outline(i, j), _outline(j, i)]
    return found


def _outline(row: int, column: int) -> dict[str, object]:
    return {
        "type": "rect",
        "xref": "x2",
        "x0": column - 0.46,
        "x1": column + 0.46,
        "y0": row - 0.46,
        "y1": row + 0.46,
        "line": {"width": 1.6, "color": "@ink"},
    }


def _told(reading: Reading, pick: Pick) -> str:
    """Say what was drafted, what was selected, and how much that covers."""
    nodes = reading.round.nodes
    drafts = [named(reading.candidate(nodes.token[node], pick.node)) for node in pick.candidates]
    selected = named(reading.label(pick.selected))
    single = reading.round.scalars.overlap[pick.node]
    apart = f", one draft alone {probability(single)}" if single is not None else ""
    best = (
        f", the best rule for {count(len(drafts), 'draft')} {probability(pick.best)}"
        if pick.q is not None
        else ""
    )
    return (
        f"After {named(reading.label(pick.node))}: {_listed(drafts)} drafted, {selected} selected. "
        f"The law of the token selected covers {probability(pick.overlap)} of p{apart}{best}."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
