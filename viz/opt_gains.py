"""What each draft step of OPT-Tree added to E(A), as bars that climb, against the threshold."""

from __future__ import annotations

from itertools import pairwise

from core.extras import OptTreeExtras
from viz.figure import FONT
from viz.numbers import probability

AXIS = "yaxis2"
_WIDTH = 0.18  # of a bar, in steps
_REACH = 0.26  # half of the dashed line


def gains(extra: OptTreeExtras) -> list[float]:
    """Return what each step added; a step made in vain has no entry."""
    return [round(after - before, 6) for before, after in pairwise([0.0, *extra.expected])]


def value_axis(extra: OptTreeExtras, share: float) -> dict[str, object]:
    """Return the axis of E(A) in the lowest `share` of the chart."""
    top = _top(extra)
    whole = range(int(top) + 1)
    step = 1 if len(whole) <= 5 else 2 if len(whole) <= 9 else 5
    return {
        "range": [0, top * 1.2],
        "domain": [0, share],
        "tickvals": list(whole)[::step],
        "showgrid": True,
        "gridcolor": "@hair",
        "anchor": "x",
    }


def bars(extra: OptTreeExtras) -> list[dict[str, object]]:
    """Return a bar per step, from the E(A) before to that after: solid where it was enough."""
    added = gains(extra)
    enough = [gain > extra.threshold for gain in added]
    return [
        {
            "type": "bar",
            "name": "added",
            "x": list(range(1, len(added) + 1)),
            "y": added,
            "base": [0.0, *extra.expected[:-1]],
            "width": _WIDTH,
            "marker": {
                "color": ["@law" if ok else "@paper" for ok in enough],
                "line": {"color": "@law", "width": 1.2},
            },
            "yaxis": "y2",
            "hoverinfo": "text",
            "hovertext": [
                f"Step {step}: E(A) {total:.3f}, {added_text(gain)}"
                for step, (total, gain) in enumerate(
                    zip(extra.expected, added, strict=True), start=1
                )
            ],
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "expected",
            "x": list(range(1, len(added) + 1)),
            "y": extra.expected,
            "line": {"color": "@law", "width": 1.2},
            "yaxis": "y2",
            "hoverinfo": "skip",
        },
    ]


def marks(extra: OptTreeExtras) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the dashed lines that steps had to pass, and what they added in numbers."""
    before = [0.0, *extra.expected[:-1]]
    needed = [_dashes(step, low + extra.threshold) for step, low in enumerate(before, start=1)]
    told = [
        _number(step, max(total, low + extra.threshold), added_text(gain))
        for step, (low, total, gain) in enumerate(
            zip(before, extra.expected, gains(extra), strict=True), start=1
        )
    ]
    least = _number(
        1 + _REACH, before[0] + extra.threshold, f"at least {added_text(extra.threshold)[2:]}"
    )
    beside = {"xanchor": "left", "yanchor": "middle", "xshift": 5, "yshift": 0}
    needs = least | beside | {"font": {**FONT, "color": "@rejected"}}
    return needed, [*told, needs, _number(0.5, _top(extra) * 1.2, "E(A)")]


def added_text(gain: float) -> str:
    return f"+ {gain:.2f}" if gain >= 1 else f"+ {probability(gain, 2)}"


def _top(extra: OptTreeExtras) -> float:
    before = [0.0, *extra.expected[:-1]]
    return max(1.0, *extra.expected, *(low + extra.threshold for low in before))


def _dashes(step: int, value: float) -> dict[str, object]:
    return {
        "type": "line",
        "x0": step - _REACH,
        "x1": step + _REACH,
        "y0": value,
        "y1": value,
        "yref": "y2",
        "line": {"color": "@rejected", "width": 1.4, "dash": "3px,2px"},
    }


def _number(x: float, y: float, text: str) -> dict[str, object]:
    return {
        "x": x,
        "y": y,
        "yref": "y2",
        "text": text,
        "showarrow": False,
        "yanchor": "bottom",
        "yshift": 1,
        "font": {**FONT, "color": "@ink"},
    }
