"""DynaSD: what choosing the longest strand does to the law of the next token, given the roots and
strands of the round.
"""

from __future__ import annotations

from viz.chart_tokens import note, token_text
from viz.figure import SHARES, Axes, layout
from viz.numbers import probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.rule_longest import REASONS
from viz.strand_odds import Drift, drift
from viz.text import alone

ORDER = 13
_PITCH, _BOTTOM = 34, 24  # px of a row, below the last
_LEFT, _RIGHT = 96, 40  # px for names, and for numbers
_LETTERS = 13
_THICK = 0.26  # of a row


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round in which strands competed."""
    if not set(reading.round.nodes.reason[1:]) & REASONS:
        return None
    found = drift(reading)
    if found is None:
        return None
    words = _told(reading, found)
    return {
        "section": {
            "head": "The longest strand against the target's own choice",
            "note": "The chance of each root to be the next token, given these roots and strands, "
            "over all darts and all orders in which the roots can be drawn. An exact rule keeps "
            "the root that the target drew first.",
            "figure": _figure(reading, found),
            "foot": words,
            "legend": [
                ("target", "as the target draws"),
                ("relaxed", "as the longest strand wins"),
            ],
            "alt": words,
        },
        "html": "",
    }


def _told(reading: Reading, found: Drift) -> str:
    told = [
        f"“{alone(reading.label(root))}” {probability(found.exact[root])}, here "
        f"{probability(chance)}"
        for root, chance in found.longest.items()
    ]
    return (
        f"By the target {'; '.join(told)}. The rule moves {probability(found.distance)} of the "
        "next token's law."
    )


def _figure(reading: Reading, found: Drift) -> Figure:
    roots = list(found.exact)
    names = [token_text(reading.label(root), _LETTERS) for root in roots]
    rows = len(roots) + 1
    axes: Axes = {
        "xaxis": SHARES | {"range": [0, 1]},
        "yaxis": {
            "range": [0.5 - rows, 0.5],
            "tickvals": [-row for row in range(rows)],
            "ticktext": [*names, "<b>drift</b>"],
        },
    }
    exact = [found.exact[root] for root in roots]
    longest = [*(found.longest[root] for root in roots), found.distance]
    data = [
        _bars("target", exact, [_THICK / 2 - row for row in range(len(roots))], "@law"),
        _bars(
            "longest",
            longest,
            [*(-_THICK / 2 - row for row in range(len(roots))), float(-len(roots))],
            "@relaxed",
        ),
    ]
    numbers = [_number(share, _THICK / 1.6 - row) for row, share in enumerate(exact)]
    numbers += [_number(share, -_THICK / 1.6 - row) for row, share in enumerate(longest[:-1])]
    numbers.append(_number(found.distance, -len(roots)))
    drawn = layout(_PITCH * rows + _BOTTOM, (_LEFT, _RIGHT, 0, _BOTTOM), axes)
    return {"data": data, "layout": drawn | {"annotations": numbers, "barmode": "overlay"}}


def _bars(name: str, shares: list[float], y: list[float], colour: str) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": shares,
        "y": y,
        "width": _THICK,
        "marker": {"color": colour, "line": {"width": 0}},
        "hoverinfo": "text",
        "hovertext": [probability(share) for share in shares],
    }


def _number(share: float, y: float) -> dict[str, object]:
    return {**note(1, y, probability(share)), "xref": "paper", "xshift": 6}
