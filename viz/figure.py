"""What all charts share: quiet axes on a clear ground, and how token text enters a chart."""

from __future__ import annotations

import html

CLEAR = "rgba(0,0,0,0)"
FONT: dict[str, object] = {"size": 11, "color": "@mute"}

SHARES: dict[str, object] = {"tickvals": [0, 0.5, 1], "ticktext": ["0", ".5", "1"]}

Axes = dict[str, dict[str, object]]


def layout(height: float, margin: tuple[int, int, int, int], axes: Axes) -> dict[str, object]:
    """Return a layout `height` px high, with margins left, right, top, bottom and quiet axes.

    What `axes` says by name (`xaxis`) is laid over the quiet ones.
    """
    left, right, top, bottom = margin
    quiet: dict[str, object] = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }
    found: dict[str, object] = {
        "height": round(height),
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": FONT,
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
    }
    return found | {name: quiet | axis for name, axis in axes.items()}


def chart_text(text: str) -> str:
    """Return token text for a chart: no pseudo-markup, formula or theme key can begin in it.

    Charts know few entities by name, and any by number.
    """
    escaped = html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    return escaped.replace("$", "&#36;").replace("@", "&#64;")
