"""DySpec: the slots in the order in which they were filled, as a growing tree and as a ranked list.

A row per filled slot: its place in the tree on the left, its value as a bar on the right. Below
them the best slots that stayed open, and across the bars the threshold that could have ended it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from core.extras import DySpecExtras
from viz.chart_tokens import note, token_text
from viz.figure import CLEAR, SHARES, layout
from viz.numbers import count, ordinal, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone

ORDER = 10
_PITCH = 17  # px of a row
_TOP, _BOTTOM = 24, 24  # px: the panels' heads, the axis
_MOST, _LAST = 24, 4  # rows of filled slots; beyond that the middle is folded, but for the last
_MOST_OPEN = 5
_LETTERS = 10  # of a token
_ROOM = 5.5  # columns right of the deepest node, for its token
_SPLIT = (0.5, 0.54)  # where the tree ends and where the bars begin
_AREA = 15  # px across a node of value 1
_LINES: dict[str, str] = {"accepted": "@accepted", "rejected": "@rejected"}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which slots are shown, and where: y counts rows downwards, the root's first."""

    extra: DySpecExtras
    row: dict[int, int]  # node -> row
    fold: int | None  # row that stands for those left out
    first_open: int

    @property
    def open(self) -> range:
        """Places of the open slots that are shown."""
        return range(min(_MOST_OPEN, len(self.extra.open_value)))

    @property
    def count(self) -> int:
        return self.first_open + len(self.open)

    def of(self, node: int) -> int:
        """Return the row of a node, or of the fold that hides it."""
        return self.row.get(node, self.fold or 0)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose slots had values."""
    extra = next((e for e in reading.round.extras if isinstance(e, DySpecExtras)), None)
    if extra is None or not extra.node:
        return None
    foot = _foot(extra)
    return {
        "section": {
            "head": "Which slot next?",
            "note": _note(reading, extra),
            "figure": _figure(reading, _rows(extra)),
            "foot": foot,
            "legend": [],
            "alt": f"{_told(reading, extra)} {foot}",
        },
        "html": "",
    }


def _rows(extra: DySpecExtras) -> _Rows:
    filled, fold = extra.node, None
    rows = {0: 0} | {node: place for place, node in enumerate(filled, start=1)}
    if len(filled) > _MOST:
        head = _MOST - _LAST - 1
        fold = head + 1
        shown = [*filled[:head], *filled[-_LAST:]]
        rows = {0: 0} | {node: i + 1 + (i >= head) for i, node in enumerate(shown)}
    return _Rows(extra, rows, fold, max(rows.values()) + (2 if extra.open_value else 1))


def _note(reading: Reading, extra: DySpecExtras) -> str:
    how = "the best of all" if extra.threshold is None else "the best of the layer"
    told = (
        "A slot's value is the draft's chance that it will be tried, known before its token is "
        f"drawn. A row is a slot in the order filled, {how} each time; dot area and bar are its "
        "value."
    )
    return f"{told} Values are those of temperature 1." if reading.greedy else told


def _figure(reading: Reading, rows: _Rows) -> Figure:
    return {
        "data": [
            *_branches(reading, rows),
            _dots(reading, rows),
            _bars(reading, rows),
            *([_open_bars(reading, rows)] if rows.open else []),
        ],
        "layout": _layout(reading, rows),
    }


def _shown(rows: _Rows) -> list[tuple[int, int]]:
    """Return place in the columns and node of the filled slots that are shown."""
    return [(place, node) for place, node in enumerate(rows.extra.node) if node in rows.row]


def _branches(reading: Reading, rows: _Rows) -> list[dict[str, object]]:
    """Return the tree's lines, those of the accepted path on top."""
    kept = set(reading.round.outcome.accepted)
    found: list[dict[str, object]] = []
    for on_path, colour, width in ((False, "@faint", 1.0), (True, "@accepted", 2.2)):
        x: list[float | None] = []
        y: list[float | None] = []
        for place, node in _shown(rows):
            if (node in kept) is on_path:
                parent, depth = rows.extra.parent[place], reading.depths[node]
                x += [depth - 1, depth - 1, depth, None]
                y += [-rows.of(parent), -rows.of(node), -rows.of(node), None]
        found.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "path" if on_path else "branches",
                "x": x,
                "y": y,
                "line": {"color": colour, "width": width},
                "hoverinfo": "skip",
            }
        )
    return found


def _dots(reading: Reading, rows: _Rows) -> dict[str, object]:
    shown = _shown(rows)
    states = [reading.state(node) for _, node in shown]
    sizes = [max(2.5, round(_AREA * sqrt(rows.extra.value[place]), 2)) for place, _ in shown]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "growth",
        "x": [0, *(reading.depths[node] for _, node in shown)],
        "y": [0, *(-rows.of(node) for _, node in shown)],
        "marker": {
            "symbol": ["square", *["circle"] * len(shown)],
            "size": [8, *sizes],
            "opacity": 1,
            "color": ["@ink", *("@kept" if s == "accepted" else "@paper" for s in states)],
            "line": {
                "width": 1.4,
                "color": ["@ink", *(_LINES.get(state, "@mute") for state in states)],
            },
        },
        "hoverinfo": "text",
        "hovertext": ["The last token of the text", *(_hover(reading, rows, s) for s in shown)],
        "cliponaxis": False,
    }


def _hover(reading: Reading, rows: _Rows, slot: tuple[int, int]) -> str:
    place, node = slot
    extra = rows.extra
    after = token_text(reading.label(extra.parent[place]))
    return (
        f"{ordinal(place + 1).capitalize()}: {token_text(reading.label(node))}, "
        f"{ordinal(extra.rank[place] + 1)} child of {after}, value "
        f"{probability(extra.value[place])}, after {count(extra.forward[place], 'forward')} of the "
        f"drafter; {reading.state(node)}"
    )


def _bars(reading: Reading, rows: _Rows) -> dict[str, object]:
    shown = _shown(rows)
    states = [reading.state(node) for _, node in shown]
    return _bar(
        "filled",
        [rows.extra.value[place] for place, _ in shown],
        [-rows.of(node) for _, node in shown],
        ["@kept" if state == "accepted" else CLEAR for state in states],
        [_LINES.get(state, "@law") for state in states],
        [_hover(reading, rows, slot) for slot in shown],
    )


def _open_bars(reading: Reading, rows: _Rows) -> dict[str, object]:
    values = [rows.extra.open_value[place] for place in rows.open]
    told = [
        f"Open: {_open_name(reading, rows.extra, place)}, value {probability(value)}"
        for place, value in zip(rows.open, values, strict=True)
    ]
    y = [-(rows.first_open + place) for place in rows.open]
    size = len(values)
    return _bar("open", values, y, [CLEAR] * size, ["@faint"] * size, told)


def _bar(
    name: str,
    values: Sequence[float],
    rows: Sequence[int],
    fills: Sequence[str],
    lines: Sequence[str],
    told: Sequence[str],
) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": list(values),
        "y": list(rows),
        "width": 0.56,
        "xaxis": "x2",
        "marker": {"color": list(fills), "line": {"width": 1.2, "color": list(lines)}},
        "text": [probability(value) for value in values],
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": 11, "color": "@ink"},
        "cliponaxis": False,
        "hoverinfo": "text",
        "hovertext": list(told),
    }


def _open_name(reading: Reading, extra: DySpecExtras, place: int) -> str:
    after = token_text(reading.label(extra.open_parent[place]), _LETTERS)
    return f"{ordinal(extra.open_rank[place] + 1)} child of {after}"


def _layout(reading: Reading, rows: _Rows) -> dict[str, object]:
    deepest = max(reading.depths[node] for node in rows.row)
    height = _PITCH * (rows.count + 0.5) + _TOP + _BOTTOM
    blank: dict[str, object] = {"showticklabels": False}
    axes: dict[str, dict[str, object]] = {
        "xaxis": blank | {"range": [-0.4, deepest + _ROOM], "domain": [0, _SPLIT[0]]},
        "xaxis2": SHARES | {"range": [0, 1.12], "domain": [_SPLIT[1], 1], "anchor": "y"},
        "yaxis": blank | {"range": [-rows.count + 0.4, 0.8]},
    }
    return layout(height, (6, 6, _TOP, _BOTTOM), axes) | {
        "annotations": [*_heads(), *_tokens(reading, rows), *_gaps(reading, rows), *_limit(rows)],
        "shapes": [_limit_line(rows)],
        "barmode": "overlay",
    }


def _heads() -> list[dict[str, object]]:
    return [
        _words("<b>tree, as it grew</b>", 0, 1) | {"yref": "paper", "xref": "paper", "yshift": 12},
        _words("<b>value of the slot</b>", _SPLIT[1], 1)
        | {"yref": "paper", "xref": "paper", "yshift": 12},
    ]


def _words(text: str, x: float, y: float) -> dict[str, object]:
    return note(x, y, text, "@ink") | {"borderpad": 0}


def _tokens(reading: Reading, rows: _Rows) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for node, row in rows.row.items():
        colour = "@mute" if reading.state(node) == "unreached" else "@ink"
        label = token_text(reading.label(node), _LETTERS)
        found.append(
            note(reading.depths[node], -row, label, colour)
            | {"xshift": 11, "borderpad": 1, "bgcolor": "@paper"}
        )
    return found


def _gaps(reading: Reading, rows: _Rows) -> list[dict[str, object]]:
    """Return what stands for folded rows, and the names of the open slots."""
    found: list[dict[str, object]] = []
    if rows.fold is not None:
        hidden = len(rows.extra.node) - len(rows.row) + 1
        found.append(note(0, -rows.fold, f"... {hidden:,} more") | {"borderpad": 0})
    if rows.open:
        head = "still open" + (", the best" if len(rows.extra.open_value) > _MOST_OPEN else "")
        found.append(_words(f"<b>{head}</b>", -0.4, 1 - rows.first_open))
    for place in rows.open:
        name = _open_name(reading, rows.extra, place)
        found.append(note(-0.4, -(rows.first_open + place), name) | {"borderpad": 0})
    return found


def _least(extra: DySpecExtras) -> float:
    """Return the threshold in use, or the one that the heap is compared with."""
    return 1 / extra.budget if extra.threshold is None else extra.threshold


def _limit_line(rows: _Rows) -> dict[str, object]:
    least = _least(rows.extra)
    return {
        "type": "line",
        "xref": "x2",
        "x0": least,
        "x1": least,
        "y0": 0.3,
        "y1": 0.4 - rows.count,
        "line": {"color": "@ink", "width": 1.2, "dash": "1.5px 2.5px"},
    }


def _limit(rows: _Rows) -> list[dict[str, object]]:
    text = f"C = {probability(_least(rows.extra))}"
    return [note(_least(rows.extra), 0, text, "@ink") | {"xref": "x2", "xshift": 5}]


def _foot(extra: DySpecExtras) -> str:
    """Say what was filled, in how many forwards, and what the threshold makes of it."""
    told = f"{count(len(extra.node), 'slot')} filled in {count(extra.forward[-1], 'forward')} of "
    told += f"the drafter, the last one worth {probability(extra.value[-1])}"
    best = extra.open_value[0] if extra.open_value else None
    told += f"; the best left open is worth {probability(best)}." if best is not None else "."
    least = _least(extra)
    if extra.threshold is not None:
        early = " The budget ended it first." if best is not None and best >= least else ""
        return f"{told} C = {probability(least)} is the least value of a slot to be filled.{early}"
    worth = sum(value >= least for value in (*extra.value, *extra.open_value))
    more = "at least " if best is not None and best >= least else ""
    return (
        f"{told} The threshold variant with C = {probability(least)}, one over the budget, would "
        f"fill {more}{worth:,} of them."
    )


def _told(reading: Reading, extra: DySpecExtras) -> str:
    """Return the filled slots in words, at most as many as are drawn."""
    told = [
        f"{alone(reading.label(node))} after {alone(reading.label(parent))} at "
        f"{probability(value)}, {reading.state(node)}"
        for node, parent, value in zip(extra.node, extra.parent, extra.value, strict=True)
    ]
    more = f" and {len(told) - _MOST:,} more" if len(told) > _MOST else ""
    return f"Slots in the order filled: {'; '.join(told[:_MOST])}{more}."
