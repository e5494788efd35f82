"""Words inside charts: tokens free of markup, the room that they have, and heads of columns.

Both are annotations, so that they begin where their column does.
"""

from __future__ import annotations

from collections.abc import Sequence

from viz.figure import chart_text
from viz.payload import Label
from viz.text import alone, shortened

SIZE = 11  # px of type
BOLD = 600
LINE = 14  # px from line to line of a head
_ROOM = "room"  # key of an annotation, taken out before it becomes part of a chart
LONGEST = 24  # letters of a token in a chart


def token_text(label: Label, most: int = LONGEST) -> str:
    """Return a token as text of a chart."""
    return chart_text(alone(shortened(label, most)))


def note(
    x: float, y: float, text: str, colour: str = "@mute", bold: bool = False
) -> dict[str, object]:
    """Return an annotation that begins at (x, y)."""
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "middle",
        "font": {"size": SIZE, "color": colour, "weight": BOLD if bold else 400},
        "align": "left",
    }


def fitted(annotation: dict[str, object], units: float, less: float) -> dict[str, object]:
    """Return an annotation whose words the page cuts to `units` of the x axis, less `less` px."""
    return annotation | {_ROOM: (units, less)}


def words(annotations: Sequence[dict[str, object]]) -> dict[str, object]:
    """Return the part of a layout that holds annotations, fitted ones among them."""
    plain = [{key: each[key] for key in each if key != _ROOM} for each in annotations]
    return {"annotations": plain, "meta": {"room": [each.get(_ROOM) for each in annotations]}}


def head(x: float, lines: Sequence[str]) -> list[dict[str, object]]:
    """Return the head of a column that begins at `x`: its name over further lines."""
    return [
        {
            **note(x, 1, line, "@mute" if place else "@ink", bold=not place),
            "yref": "paper",
            "yanchor": "bottom",
            "yshift": LINE * (len(lines) - 1 - place),
        }
        for place, line in enumerate(lines)
    ]
