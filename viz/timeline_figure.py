"""The timeline as a figure: blocks and marks above the line, hollow and solid bars below it."""

from __future__ import annotations

from collections.abc import Sequence

from core.trace import Origin
from viz.columns import DEEPEST, Column, Scale
from viz.figure import CLEAR, layout
from viz.numbers import count, duration, rate
from viz.payload import Figure

_UNIT = 12  # px
_LEFT = 84  # px, for the names of the two directions and the numbers
_NAMED = 3.2  # units on either side of the line that the direction's name needs
_BLOCK = 0.72  # of a unit; the rest is the gap between blocks
_MARKS: tuple[tuple[Origin, str, str], ...] = (
    ("correction", "diamond", "@correction"),
    ("bonus", "cross", "@bonus"),
    ("plain", "circle", "@mute"),
)


def timeline_figure(found: Sequence[Column], unit: Scale) -> Figure:
    """Return the figure of one column or more; x counts rounds, y counts units."""
    single = found[0].first == found[0].last
    won = _won_blocks(found) if single else _won_means(found)
    return {"data": [*won, *_paid(found, unit)], "layout": _layout(found, unit)}


def _won_blocks(found: Sequence[Column]) -> list[dict[str, object]]:
    """One block per accepted token, the target's own token as a mark on top."""
    kept = [(c, i) for c in found for i in range(int(c.accepted))]
    relaxed = [(c, int(c.accepted) + i) for c in found for i in range(int(c.relaxed))]
    traces = [_blocks(kept, "accepted")]
    if relaxed:
        traces.append(_blocks(relaxed, "relaxed"))
    return [
        *traces,
        *[
            mark
            for origin, symbol, colour in _MARKS
            if (mark := _marks(found, origin, symbol, colour))
        ],
    ]


def _blocks(places: Sequence[tuple[Column, int]], name: str) -> dict[str, object]:
    gap = (1 - _BLOCK) / 2
    return {
        "type": "bar",
        "name": name,
        "x": [c.first for c, _ in places],
        "y": [_BLOCK] * len(places),
        "base": [i + gap for _, i in places],
        "width": 0.52,
        "marker": {"color": f"@{name}", "line": {"width": 0}},
        "customdata": [c.first for c, _ in places],
        "hoverinfo": "text",
        "hovertext": [_told_won(c) for c, _ in places],
    }


def _marks(
    found: Sequence[Column], origin: Origin, symbol: str, colour: str
) -> dict[str, object] | None:
    some = [c for c in found if c.own and c.origin == origin]
    if not some:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": origin,
        "x": [c.first for c in some],
        "y": [c.accepted + c.relaxed + 0.55 for c in some],
        "marker": {"symbol": symbol, "size": 8, "color": colour, "line": {"width": 0}},
        "customdata": [c.first for c in some],
        "hoverinfo": "text",
        "hovertext": [_told_won(c) for c in some],
    }


def _won_means(found: Sequence[Column]) -> list[dict[str, object]]:
    """Whole bars for means: accepted tokens, then those that the target wrote."""
    kept = [c.accepted + c.relaxed for c in found]
    zero = [0.0] * len(found)
    own = [c.own for c in found]
    return [
        _bar(found, "accepted", zero, kept, "@accepted"),
        _bar(found, "own", kept, own, "@correction"),
    ]


def _paid(found: Sequence[Column], unit: Scale) -> list[dict[str, object]]:
    """Draft, hollow, then verify, solid; cut at the deepest unit with a break mark."""
    draft = [min(unit.units(c.draft_ms), DEEPEST) for c in found]
    total = [min(unit.units(c.paid_ms), DEEPEST) for c in found]
    verify = [t - d for t, d in zip(total, draft, strict=True)]
    bars = [
        _bar(found, "draft", [0.0] * len(found), [-d for d in draft], CLEAR),
        _bar(found, "verify", [-d for d in draft], [-v for v in verify], "@law"),
    ]
    cut = [c for c in found if unit.units(c.paid_ms) > DEEPEST]
    for bar in bars:
        bar["hovertext"] = [_told_paid(c, unit) for c in found]
    return [*bars, _breaks(cut, unit)] if cut else bars


def _bar(
    found: Sequence[Column], name: str, base: list[float], height: list[float], colour: str
) -> dict[str, object]:
    return {
        "type": "bar",
        "name": name,
        "x": [c.first for c in found],
        "y": height,
        "base": base,
        "width": 0.52 * (found[0].last - found[0].first + 1),
        "marker": {
            "color": colour,
            "line": {"width": 1 if colour == CLEAR else 0, "color": "@law"},
        },
        "customdata": [c.first for c in found],
        "hoverinfo": "text",
        "hovertext": [_told_won(c) for c in found],
    }


def _breaks(cut: Sequence[Column], unit: Scale) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "text",
        "name": "break",
        "x": [c.first for c in cut],
        "y": [-DEEPEST - 0.6] * len(cut),
        "text": ["≈"] * len(cut),
        "textfont": {"size": 13, "color": "@ink"},
        "customdata": [c.first for c in cut],
        "hoverinfo": "text",
        "hovertext": [_told_paid(c, unit) for c in cut],
    }


def _told_won(column: Column) -> str:
    if column.first != column.last:
        return f"{column.name}: {rate(column.won)} tokens each"
    return f"{column.name}: {count(int(column.won), 'token')}"


def _told_paid(column: Column, unit: Scale) -> str:
    steps = f", {rate(unit.units(column.paid_ms))} plain steps" if unit.plain else ""
    times = f"draft {duration(column.draft_ms)}, verify {duration(column.verify_ms)}"
    return f"{column.name}: {times}{steps}"


def _layout(found: Sequence[Column], unit: Scale) -> dict[str, object]:
    top = max(_NAMED, max(c.won for c in found) + 0.7)
    deepest = max(unit.units(c.paid_ms) for c in found)
    bottom = DEEPEST + 1.2 if deepest > DEEPEST else max(_NAMED, deepest + 0.4)
    step = 5 if max(top, bottom) < 25 else 10
    up, down = range(step, int(top) + 1, step), range(step, int(bottom) + 1, step)
    names = [f"{value}" if unit.plain else f"{value * unit.unit_ms:.0f} ms" for value in down]
    y: dict[str, object] = {
        "range": [-bottom, top],
        "tickvals": [*(-value for value in down), *up],
        "ticktext": [*names, *map(str, up)],
        "showgrid": True,
        "gridcolor": "@hair",
        "zeroline": True,
        "zerolinecolor": "@ink",
        "zerolinewidth": 1,
    }
    size = found[0].last - found[0].first + 1
    x: dict[str, object] = {
        "range": [found[0].first - 0.7, found[-1].first + 0.7 * size],
        **_ticks(found),
    }
    figure = layout(_UNIT * (top + bottom) + 28, (_LEFT, 4, 4, 24), {"xaxis": x, "yaxis": y})
    below = "plain steps" if unit.plain else "time"
    return figure | {
        "barmode": "overlay",
        "annotations": [*_axis_name("won", "tokens", 1), *_axis_name("paid", below, -1)],
    }


def _ticks(found: Sequence[Column]) -> dict[str, object]:
    if len(found) <= 40:
        return {"tickvals": [c.first for c in found], "ticktext": [str(c.first) for c in found]}
    return {"nticks": 12, "tickformat": "d"}


def _axis_name(name: str, unit: str, side: int) -> list[dict[str, object]]:
    """Return the name of a direction over its unit, in the middle of the room it surely has."""
    return [_word(f"<b>{name}</b>", "@ink", 7, side), _word(unit, "@mute", -7, side)]


def _word(text: str, colour: str, shift: int, side: int) -> dict[str, object]:
    return {
        "text": text,
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "xshift": -_LEFT,
        "y": side * _NAMED / 2,
        "yshift": shift,
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": 11, "color": colour},
    }
