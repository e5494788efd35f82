"""Edges of trees in charts: level to the end of a label, then one curve to the child."""

from __future__ import annotations

from collections.abc import Iterable

_BEND = 0.7  # where an edge leaves its row, as a share of the way across
_POINTS = 9  # of a curve

Point = tuple[float, float]


def branches(pairs: Iterable[tuple[Point, Point]], colour: str, width: float) -> dict[str, object]:
    """Return the lines from parent to child, each (x, y), as one trace."""
    x: list[float | None] = []
    y: list[float | None] = []
    for (left, from_row), (right, to_row) in pairs:
        x.append(left)
        y.append(from_row)
        for point in range(_POINTS):
            part = point / (_POINTS - 1)
            x.append(round(left + (right - left) * (_BEND + (1 - _BEND) * part), 4))
            y.append(round(from_row + (to_row - from_row) * part * part * (3 - 2 * part), 4))
        x.append(None)
        y.append(None)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
