"""Acceptance by depth: a dot and its 95 % interval for each depth, with the counts."""

from __future__ import annotations

from dataclasses import dataclass

from core.metrics import acceptance_by_depth, tests_made, tests_reached, wilson
from core.trace import Trace
from viz.figure import layout
from viz.numbers import count
from viz.payload import Section

_MOST = 12  # rows; deeper ones are joined in the last
_FEW = 5  # tries below which the dot is hollow
_PITCH = 24
_HEAD = "Acceptance by depth"


@dataclass(frozen=True, slots=True)
class Row:
    """Acceptances and tries at one depth or from it on, with the interval of their share."""

    name: str
    hits: int
    tries: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.hits / self.tries

    @property
    def counts(self) -> str:
        return f"{self.hits:,} of {self.tries:,}"


def acceptance(trace: Trace) -> Section:
    """Return the section; without a figure when nothing was ever tried."""
    rows = _rows(trace)
    if not rows:
        return {
            "head": _HEAD,
            "note": "Nothing was drafted.",
            "figure": None,
            "foot": "",
            "legend": [],
            "alt": "",
        }
    return {
        "head": _HEAD,
        "note": "Of the rounds that got this far, how many went one deeper. Lines: 95 % intervals.",
        "figure": {"data": [_dots(rows), _counts(rows)], "layout": _layout(rows)},
        "foot": " ".join(
            filter(None, [foot(rows, sum(r.drafted > 0 for r in trace.rounds)), not_counted(trace)])
        ),
        "legend": [("few", f"fewer than {_FEW} tries")]
        if any(row.tries < _FEW for row in rows)
        else [],
        "alt": " ".join(
            f"{row.name}: {row.counts} accepted, {100 * row.share:.0f} %." for row in rows
        ),
    }


def not_counted(trace: Trace) -> str:
    """Say how many darts no acceptance counts, since they fell behind a token that was not kept."""
    made = sum(len(tests_made(r)) for r in trace.rounds)
    left = made - sum(len(tests_reached(r)) for r in trace.rounds)
    if not left:
        return ""
    return (
        "This rule throws its darts at the whole draft before it decides: "
        f"{left:,} of {count(made, 'dart')} fell behind a token that was not kept and "
        f"{'is' if left == 1 else 'are'} not counted."
    )


def _rows(trace: Trace) -> list[Row]:
    found = [(d.depth, *map(int, d.ratio.counts)) for d in acceptance_by_depth(trace)]
    tried = [(depth, hits, tries) for depth, hits, tries in found if tries]
    head, tail = tried[:_MOST], tried[_MOST:]
    rows = [_row(f"Depth {depth}", hits, tries) for depth, hits, tries in head]
    if tail:
        name = f"Depth {tail[0][0]} on" if len(tail) > 1 else f"Depth {tail[0][0]}"
        rows.append(_row(name, sum(t[1] for t in tail), sum(t[2] for t in tail)))
    return rows


def _row(name: str, hits: int, tries: int) -> Row:
    interval = wilson(hits, tries)
    assert interval is not None
    return Row(name, hits, tries, *interval)


def foot(rows: list[Row], rounds: int) -> str:
    """Say whether the counts can rank the depths at all."""
    if len(rows) < 2:
        return ""
    if max(row.low for row in rows) <= min(row.high for row in rows):
        few = "is" if rounds == 1 else "are"
        return f"All intervals overlap: {count(rounds, 'round')} {few} too few to rank the depths."
    best, worst = max(rows, key=lambda row: row.low), min(rows, key=lambda row: row.high)
    apart = "their intervals do not overlap"
    return f"{best.name} is accepted more often than {worst.name.lower()}: {apart}."


def _dots(rows: list[Row]) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [100 * row.share for row in rows],
        "y": [row.name for row in rows],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [100 * (row.high - row.share) for row in rows],
            "arrayminus": [100 * (row.share - row.low) for row in rows],
            "color": "@accepted",
            "thickness": 1.6,
            "width": 4,
        },
        "marker": {
            "size": 9,
            "color": ["@paper" if row.tries < _FEW else "@accepted" for row in rows],
            "line": {"width": 1.6, "color": "@accepted"},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_hover(row) for row in rows],
    }


def _hover(row: Row) -> str:
    between = f"{100 * row.low:.0f} to {100 * row.high:.0f} %"
    return f"{row.name}: {row.counts}, {100 * row.share:.0f} % (95 % interval {between})"


def _counts(rows: list[Row]) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "text",
        "x": [107] * len(rows),
        "y": [row.name for row in rows],
        "text": [row.counts for row in rows],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": "@ink"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _layout(rows: list[Row]) -> dict[str, object]:
    x: dict[str, object] = {
        "range": [-3, 107],
        "tickvals": [0, 50, 100],
        "ticktext": ["0 %", "50 %", "100 %"],
        "showgrid": True,
        "gridcolor": "@hair",
    }
    y: dict[str, object] = {
        "type": "category",
        "range": [len(rows) - 0.5, -0.5],
        "tickfont": {"size": 12, "color": "@ink"},
    }
    right = 12 + 7 * max(len(row.counts) for row in rows)
    return layout(_PITCH * len(rows) + 36, (72, right, 4, 28), {"xaxis": x, "yaxis": y})
