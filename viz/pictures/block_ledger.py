"""Block verification: the joint ratio along one draft, and the same darts under two rules, token by
token and as a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from core.extras import BlockExtras
from viz.chart_marks import MARKS
from viz.chart_tokens import head, note, token_text
from viz.figure import SHARES, Axes, layout
from viz.numbers import count, probability
from viz.payload import Picture
from viz.reading import Reading
from viz.rule_block import ledger, ratio

ORDER = 12
_PITCH, _TOP, _BOTTOM = 22, 40, 24  # px of a row, of the heads, of the axis
_LABELS = 92  # px of the tokens' names
_LETTERS = 13
_LINE, _QUOTIENT, _MARKS = (0.0, 0.46), 0.52, (0.66, 1.0)  # of the width
_ALONE, _BLOCK = 0.0, 1.0  # columns of marks


@dataclass(frozen=True, slots=True)
class _Row:
    """One drafted token: its name, its share of the ledger, and its dart, None where none was
    thrown.
    """

    name: str
    ratio: float
    joint: float
    stays: float
    u: float | None


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a draft of several tokens that was verified as a block."""
    extra = ledger(reading)
    if extra is None or len(extra.node) < 2:
        return None
    rows = _rows(reading, extra)
    words = _told(extra, rows)
    return {
        "section": {
            "head": "One draft, two rules",
            "note": "Left: the chance that the draft stays at least up to here. Right: the same "
            "darts under both rules. Alone, the first miss ends the draft; as a block, the last "
            "hit decides.",
            "figure": {"data": _traces(extra, rows), "layout": _layout(extra, rows)},
            "foot": words,
            "legend": [
                ("line", "w, as a block"),
                ("dashes", "every token alone"),
                ("accepted", "hit"),
                ("rejected", "missed"),
            ],
            "alt": " ".join([*map(_row_told, rows), words]),
        },
        "html": "",
    }


def _rows(reading: Reading, extra: BlockExtras) -> list[_Row]:
    darts = {check.node: check.u for check in reading.round.checks}
    names = [token_text(reading.label(node), _LETTERS) for node in extra.node]
    columns = zip(names, extra.ratio, extra.joint, extra.stays, extra.node, strict=True)
    return [_Row(name, r, w, h, darts.get(node)) for name, r, w, h, node in columns]


def _alone(rows: Sequence[_Row]) -> list[float]:
    """Return the chance that each token stays where every token is decided alone."""
    return list(accumulate((min(1.0, row.ratio) for row in rows), lambda a, b: a * b))


def _told(extra: BlockExtras, rows: Sequence[_Row]) -> str:
    block, alone = sum(row.joint for row in rows), sum(_alone(rows))
    return (
        f"Of {count(len(rows), 'token')} these darts keep {extra.kept_alone or 'none'} alone, "
        f"{extra.kept or 'none'} as a block. Added up, w gives {block:.1f} and the dashed line "
        f"{alone:.1f}; the mean of such sums over many drafts is what each rule keeps."
    )


def _row_told(row: _Row) -> str:
    return f"{row.name}: p/q {ratio(row.ratio)}, w {probability(row.joint)}."


def _traces(extra: BlockExtras, rows: Sequence[_Row]) -> list[dict[str, object]]:
    y = [-place for place in range(len(rows))]
    told = [
        f"{row.name}: p/q {ratio(row.ratio)}, w {probability(row.joint)}, chance of its dart "
        f"{probability(row.stays)}"
        for row in rows
    ]
    hover: dict[str, object] = {"hoverinfo": "text", "hovertext": told}
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "alone",
            "x": [1.0, *_alone(rows)],
            "y": [0.7, *y],
            "line": {"color": "@mute", "width": 1.2, "dash": "4px 3px"},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "joint",
            "x": [1.0, *(row.joint for row in rows)],
            "y": [0.7, *y],
            "line": {"color": "@law", "width": 2},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "tokens",
            "x": [row.joint for row in rows],
            "y": y,
            "marker": {"size": 7, "color": "@law"},
            **hover,
        },
        *_marks(rows),
    ]


def _marks(rows: Sequence[_Row]) -> list[dict[str, object]]:
    """Return the darts of both rules: hit, missed, or not looked at."""
    alone = [row.u is not None and row.u < row.ratio for row in rows]
    seen = [*alone, False].index(False) + 1  # alone, the first miss ends it
    found: list[tuple[float, int, str]] = []
    for place, row in enumerate(rows):
        if row.u is None:
            found += [(_ALONE, place, "open"), (_BLOCK, place, "open")]
            continue
        kind = "hit" if alone[place] else "missed"
        found.append((_ALONE, place, kind if place < seen else "open"))
        found.append((_BLOCK, place, "hit" if row.u < row.stays else "missed"))
    return [_mark_trace(kind, [m for m in found if m[2] == kind]) for kind in _LOOKS]


_LOOKS: dict[str, dict[str, object]] = {
    "hit": MARKS["accepted"].marker() | {"size": 11},
    "missed": MARKS["rejected"].marker() | {"size": 11},
    "open": {"symbol": "circle", "size": 3, "color": "@faint"},
}


def _mark_trace(kind: str, marks: Sequence[tuple[float, int, str]]) -> dict[str, object]:
    words = {"hit": "the dart hit", "missed": "the dart missed", "open": "not looked at"}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": kind,
        "xaxis": "x2",
        "x": [column for column, _, _ in marks],
        "y": [-place for _, place, _ in marks],
        "marker": _LOOKS[kind],
        "hoverinfo": "text",
        "hovertext": [words[kind]] * len(marks),
    }


def _layout(extra: BlockExtras, rows: Sequence[_Row]) -> dict[str, object]:
    size = len(rows)
    axes: Axes = {
        "xaxis": SHARES | {"range": [0, 1.03], "domain": list(_LINE)},
        "xaxis2": {"range": [-0.5, 1.5], "domain": list(_MARKS), "showticklabels": False},
        "yaxis": {
            "range": [0.3 - size, 0.7],
            "tickvals": [-place for place in range(size)],
            "ticktext": [
                f"<b>{row.name}</b>" if place < extra.kept else row.name
                for place, row in enumerate(rows)
            ],
        },
    }
    quotients = [
        {
            **note(_QUOTIENT, -place, ratio(row.ratio), "@ink" if row.ratio >= 1 else "@mute"),
            "xref": "paper",
        }
        for place, row in enumerate(rows)
    ]
    heads = [
        *head(0.0, ["w"]),
        *[{**line, "xref": "paper"} for line in head(_QUOTIENT, ["p/q"])],
        *_column_head(_ALONE, "alone", extra.kept_alone),
        *_column_head(_BLOCK, "block", extra.kept),
    ]
    bands = [*_band(_ALONE, extra.kept_alone), *_band(_BLOCK, extra.kept)]
    found = layout(_PITCH * size + _TOP + _BOTTOM, (_LABELS, 6, _TOP, _BOTTOM), axes)
    return found | {"annotations": [*quotients, *heads], "shapes": bands}


def _column_head(column: float, name: str, kept: int) -> list[dict[str, object]]:
    lines = head(column, [name, f"{kept} kept"])
    return [{**line, "xref": "x2", "xanchor": "center", "align": "center"} for line in lines]


def _band(column: float, kept: int) -> list[dict[str, object]]:
    """Return the band behind the tokens that a rule keeps, and the line where it stops."""
    left, right, end = column - 0.42, column + 0.42, 0.5 - kept
    place: dict[str, object] = {"xref": "x2", "x0": left, "x1": right, "layer": "below"}
    stop = {
        **place,
        "type": "line",
        "y0": end,
        "y1": end,
        "line": {"color": "@ink", "width": 1.6},
    }
    if not kept:
        return [stop]
    band = {
        **place,
        "type": "rect",
        "y0": 0.5,
        "y1": end,
        "fillcolor": "@kept",
        "line": {"width": 0},
    }
    return [band, stop]
