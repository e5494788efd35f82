"""OPT-Tree: the layers that were drafted as a grid, and under it whether each step was worth it.

A column per draft step, a cell per candidate, the largest product of confidences on top; those
kept are always the first of a column.
"""

from __future__ import annotations

from core.extras import OptLayer, OptTreeExtras
from viz.chart_tokens import fitted, head, note, token_text, words
from viz.figure import layout
from viz.numbers import count, probability
from viz.opt_gains import AXIS, added_text, bars, gains, marks, value_axis
from viz.payload import Figure, Label, Picture
from viz.reading import Reading

ORDER = 10
_PITCH = 16  # px of a row
_FEWEST, _MOST = 4, 20  # rows
_HEAD, _GAP, _GAINS, _FOOT = 36, 22, 104, 6  # px: heads, between the panels, lower panel, below it
_HALF, _TALL = 0.45, 0.44  # half a cell, in columns and rows
_DARK = 0.7  # from here on a cell wants light letters


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose tree was the best by its own value."""
    extra = next((e for e in reading.round.extras if isinstance(e, OptTreeExtras)), None)
    if extra is None or not extra.layers:
        return None
    told = _told(reading, extra)
    return {
        "section": {
            "head": "Is another draft step worth it?",
            "note": "A column per draft step. A cell is a candidate, darker for a larger product "
            "of its confidences; framed: kept, blue: accepted. Below: what the step added to E(A), "
            f"the sum of the {extra.budget:,} largest products, and the dashed line that it had "
            "to pass.",
            "figure": _figure(reading, extra),
            "foot": told,
            "legend": [],
            "alt": " ".join([*_steps(extra), told]),
        },
        "html": "",
    }


def _figure(reading: Reading, extra: OptTreeExtras) -> Figure:
    rows = min(_MOST, max(_FEWEST, *(_kept(layer) for layer in extra.layers)) + 1)
    inner = _PITCH * (rows + 1) + _GAP + _GAINS
    steps = len(extra.layers)
    x: dict[str, object] = {
        "range": [0.5, steps + 0.5],
        "showticklabels": False,
        "anchor": "y2",
    }
    y: dict[str, object] = {
        "range": [rows + 0.5, -0.5],
        "domain": [(_GAINS + _GAP) / inner, 1],
        "showticklabels": False,
    }
    axes = {"xaxis": x, "yaxis": y, AXIS: value_axis(extra, _GAINS / inner)}
    figure = layout(inner + _HEAD + _FOOT, (26, 4, _HEAD, _FOOT), axes)
    labels = [label for step in range(steps) for label in _labels(reading, extra, step, rows)]
    frames = [frame for step in range(steps) for frame in _frames(reading, extra, step, rows)]
    heads = [line for step in range(steps) for line in _head(extra, step)]
    needed, numbers = marks(extra)
    return {
        "data": [_cells(reading, extra, rows), *bars(extra)],
        "layout": figure | words([*labels, *heads, *numbers]) | {"shapes": [*frames, *needed]},
    }


def _kept(layer: OptLayer) -> int:
    return sum(node is not None for node in layer.node)


def _head(extra: OptTreeExtras, step: int) -> list[dict[str, object]]:
    vain = step >= len(extra.expected)
    became = "in vain" if vain else f"{_kept(extra.layers[step]):,} kept"
    return head(step + 1 - _HALF, [f"Step {step + 1}", became])


def _cells(reading: Reading, extra: OptTreeExtras, rows: int) -> dict[str, object]:
    """Return the cells as a heat map of the root of each product, with gaps between."""
    steps = range(len(extra.layers))
    shades: list[list[float | None]] = []
    told: list[list[str]] = []
    for row in range(rows):
        there = [row < len(layer.value) for layer in extra.layers]
        cells = [_shade(extra.layers[s], row) if there[s] else None for s in steps]
        words = [_hover(reading, extra, s, row) if there[s] else "" for s in steps]
        shades.append([cell for each in cells for cell in (each, None)][:-1])
        told.append([word for each in words for word in (each, "")][:-1])
    return {
        "type": "heatmap",
        "name": "candidates",
        "x": [round(edge, 2) for s in steps for edge in (s + 1 - _HALF, s + 1 + _HALF)],
        "y": list(range(rows)),
        "z": shades,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "@paper"], [1, "@mute"]],
        "showscale": False,
        "ygap": 2,
        "hoverongaps": False,
        "hoverinfo": "text",
        "hovertext": told,
    }


def _shade(layer: OptLayer, row: int) -> float:
    return round(layer.value[row] ** 0.5, 4)


def _hover(reading: Reading, extra: OptTreeExtras, step: int, row: int) -> str:
    path: list[str] = []
    layer, place = step, row
    while True:
        path.append(token_text(_label(reading, extra, layer, place), 14))
        above = extra.layers[layer].parent[place]
        if above is None:
            break
        layer, place = layer - 1, above
    node = extra.layers[step].node[row]
    became = "not kept" if node is None else "accepted" if _came(reading, node) else "kept"
    value = probability(extra.layers[step].value[row])
    return f"{''.join(reversed(path))}: {value}, {became}"


def _label(reading: Reading, extra: OptTreeExtras, step: int, row: int) -> Label:
    """Return the label of a candidate, after its parent where that was kept."""
    layer = extra.layers[step]
    above, token = layer.parent[row], layer.token[row]
    after = 0 if above is None else extra.layers[step - 1].node[above]
    return reading.vocabulary.label(token) if after is None else reading.candidate(token, after)


def _came(reading: Reading, node: int | None) -> bool:
    return node is not None and reading.state(node) in ("accepted", "relaxed")


def _labels(
    reading: Reading, extra: OptTreeExtras, step: int, rows: int
) -> list[dict[str, object]]:
    """Return the tokens of a column, and how many candidates have no cell."""
    layer = extra.layers[step]
    found: list[dict[str, object]] = []
    for row, value in enumerate(layer.value[:rows]):
        colour = "@paper" if value**0.5 > _DARK else "@ink" if layer.node[row] else "@mute"
        text = token_text(_label(reading, extra, step, row))
        shown = note(step + 1 - _HALF, row, text, colour, _came(reading, layer.node[row]))
        found.append(fitted({**shown, "xshift": 3}, 2 * _HALF, 8))
    left = len(layer.value) - rows
    return [*found, note(step + 1 - _HALF, rows, f"+ {left}")] if left > 0 else found


def _frames(
    reading: Reading, extra: OptTreeExtras, step: int, rows: int
) -> list[dict[str, object]]:
    """Return frames around the cells that were kept; thick ones were accepted."""
    layer = extra.layers[step]
    return [
        _frame(step + 1, row, _came(reading, node))
        for row, node in enumerate(layer.node[:rows])
        if node is not None
    ]


def _frame(step: int, row: int, accepted: bool) -> dict[str, object]:
    return {
        "type": "rect",
        "x0": step - _HALF,
        "x1": step + _HALF,
        "y0": row - _TALL,
        "y1": row + _TALL,
        "line": {
            "color": "@accepted" if accepted else "@mute",
            "width": 2.4 if accepted else 1,
        },
    }


def _steps(extra: OptTreeExtras) -> list[str]:
    return [
        f"Step {step}: E(A) {total:.3f}, {added_text(gain)}, {_kept(layer):,} kept."
        for step, (total, gain, layer) in enumerate(
            zip(extra.expected, gains(extra), extra.layers, strict=False), start=1
        )
    ]


def _told(reading: Reading, extra: OptTreeExtras) -> str:
    came = len(reading.round.outcome.accepted)
    kept = sum(_kept(layer) for layer in extra.layers)
    expected = (
        f"The draft expected {extra.expected[-1]:.1f} of its {count(kept, 'node')} to be "
        f"accepted; {came or 'none'} {'was' if came == 1 else 'were'}."
    )
    return f"{_ended(reading, extra)} {expected}"


def _ended(reading: Reading, extra: OptTreeExtras) -> str:
    stop = reading.round.stop
    if stop is not None and stop.reason == "gain":
        step, least = len(extra.expected), probability(extra.threshold, 2)
        late = ", which the next one showed" if len(extra.layers) > step else ""
        return f"Step {step} added {added_text(gains(extra)[-1])[2:]}, not above {least}{late}."
    return f"Drafting ended at depth {len(extra.layers)}."
