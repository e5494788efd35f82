"""Words inside charts: tokens cut to the room there is and free of markup, and heads of columns.

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
_PHONE = 330  # px that a chart has at least
_LETTER = 6.2  # px, mean width at `SIZE`


def letters(columns: int, marks: float, span: float = 1.0) -> int:
    """Return how many letters fit beside `marks` px in `span` of `columns` on the narrowest
    page.
    """
    room = _PHONE * span / max(1, columns) - marks
    return max(4, min(14, int(room / _LETTER)))


def token_text(label: Label, most: int = 40) -> str:
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
