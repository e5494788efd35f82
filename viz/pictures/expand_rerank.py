"""EAGLE-2: how the draft was expanded step by step, and which candidates the rerank kept.

A column per forward of the drafter, its best candidates on top: those expanded and those kept are
always the first of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from core.extras import PoolExtras
from viz.branches import branches
from viz.chart_tokens import fitted, head, note, token_text, words
from viz.figure import layout
from viz.numbers import count, probability
from viz.payload import Figure, Label, Picture
from viz.reading import Reading

ORDER = 10
_RADIUS = 7.5  # px of a circle whose product is 1
_PITCH = 15  # px of a row
_HEAD = 46  # px over the rows
_FEWEST, _MOST = 6, 24  # rows


@dataclass(frozen=True, slots=True)
class _Circle:
    """A candidate that is drawn: `place` in the pool's columns, `above` its parent's."""

    place: int
    above: int | None
    step: int
    row: int
    score: float
    label: Label
    frontier: bool
    kept: bool
    accepted: bool

    @property
    def at(self) -> tuple[float, float]:
        return self.step, self.row

    @property
    def size(self) -> float:
        return round(max(3.0, 2 * _RADIUS * sqrt(self.score)), 1)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose tree was reranked."""
    pool = next((e for e in reading.round.extras if isinstance(e, PoolExtras)), None)
    if pool is None or not pool.token:
        return None
    columns = _columns(pool)
    rows = min(_MOST, max(_FEWEST, *(_wanted(pool, column) for column in columns)))
    circles = [
        _circle(reading, pool, place, row)
        for column in columns
        for row, place in enumerate(column[:rows])
    ]
    figure: Figure = {
        "data": [*_edges(circles), *_marks(circles, pool)],
        "layout": _layout(pool, columns, circles, rows),
    }
    return {
        "section": {
            "head": "Expand, then keep the best of all",
            "note": "A column per forward of the drafter, best candidates on top. Circle area: the "
            "product of its confidences from the root down. Ringed: expanded next. Filled: kept.",
            "figure": figure,
            "foot": _told(reading, pool),
            "legend": [],
            "alt": " ".join([*_steps(pool, columns), _told(reading, pool)]),
        },
        "html": "",
    }


def _columns(pool: PoolExtras) -> list[list[int]]:
    """Return the places of the candidates of every step, the best first."""
    found: list[list[int]] = [[] for _ in pool.sizes]
    for place, step in enumerate(pool.step):
        found[step].append(place)
    for column in found:
        column.sort(key=lambda place: (-pool.score[place], place))
    return found


def _wanted(pool: PoolExtras, column: Sequence[int]) -> int:
    """Return how many rows show all of a column that was kept or expanded."""
    return sum(pool.frontier[place] or pool.node[place] is not None for place in column)


def _circle(reading: Reading, pool: PoolExtras, place: int, row: int) -> _Circle:
    node, above = pool.node[place], pool.parent[place]
    parent = 0 if above is None else pool.node[above]
    token = pool.token[place]
    known = parent is not None
    return _Circle(
        place,
        above,
        pool.step[place],
        row,
        pool.score[place],
        reading.candidate(token, parent) if known else reading.vocabulary.label(token),
        pool.frontier[place],
        node is not None,
        node is not None and reading.state(node) in ("accepted", "relaxed"),
    )


def _marks(circles: Sequence[_Circle], pool: PoolExtras) -> list[dict[str, object]]:
    seen = [circle for circle in circles if not circle.kept]
    kept = [circle for circle in circles if circle.kept and not circle.accepted]
    accepted = [circle for circle in circles if circle.accepted]
    ringed = [circle for circle in circles if circle.frontier]
    ring = _dots("expanded", ringed, "rgba(0,0,0,0)", "@mute", 1.0, 6)
    ring["hoverinfo"] = "skip"
    return [
        ring,
        _dots("seen", seen, "@paper", "@faint", 1.2, told=[_hover(c, circles) for c in seen]),
        _dots("kept", kept, "@law", "@law", 1.0, told=[_hover(c, circles) for c in kept]),
        _dots(
            "accepted",
            accepted,
            "@accepted",
            "@accepted",
            1.0,
            told=[_hover(c, circles) for c in accepted],
        ),
    ]


def _dots(
    name: str,
    circles: Sequence[_Circle],
    fill: str,
    line: str,
    width: float,
    more: float = 0,
    told: Sequence[str] = (),
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [circle.step for circle in circles],
        "y": [circle.row for circle in circles],
        "marker": {
            "symbol": "circle",
            "size": [circle.size + more for circle in circles],
            "color": fill,
            "line": {"color": line, "width": width},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": list(told),
        "cliponaxis": False,
    }


def _hover(circle: _Circle, circles: Sequence[_Circle]) -> str:
    by_place = {other.place: other for other in circles}
    path, above = [circle], circle.above
    while above is not None and above in by_place:
        path.append(by_place[above])
        above = by_place[above].above
    text = "".join(token_text(other.label, 14) for other in reversed(path))
    became = "accepted" if circle.accepted else "kept" if circle.kept else "not kept"
    also = ", expanded" if circle.frontier else ""
    return f"{'… ' if above is not None else ''}{text}: {probability(circle.score)}{also}, {became}"


def _edges(circles: Sequence[_Circle]) -> list[dict[str, object]]:
    """Return the lines to what was kept or expanded, those of the accepted path last."""
    by_place = {circle.place: circle for circle in circles}
    drawn = [c for c in circles if (c.kept or c.frontier) and c.above in by_place]
    groups = (
        ("@hair", 1.0, [c for c in drawn if not c.kept]),
        ("@faint", 1.0, [c for c in drawn if c.kept and not c.accepted]),
        ("@accepted", 2.0, [c for c in drawn if c.accepted]),
    )
    return [
        branches([(by_place[c.above].at, c.at) for c in some if c.above is not None], colour, width)
        for colour, width, some in groups
    ]


def _layout(
    pool: PoolExtras, columns: Sequence[Sequence[int]], circles: Sequence[_Circle], rows: int
) -> dict[str, object]:
    steps = len(columns)
    x: dict[str, object] = {"range": [-0.1, steps - 0.1], "showticklabels": False}
    y: dict[str, object] = {"range": [rows + 0.4, -0.9], "showticklabels": False}
    figure = layout(_PITCH * (rows + 1.3) + _HEAD, (4, 2, _HEAD, 2), {"xaxis": x, "yaxis": y})
    labels = [_label(circle) for circle in circles if circle.kept or circle.frontier]
    heads = [
        line
        for step, (size, column) in enumerate(zip(pool.sizes, columns, strict=True))
        for line in _head(pool, step, size, column, rows)
    ]
    return figure | words([*labels, *heads])


def _label(circle: _Circle) -> dict[str, object]:
    colour = "@accepted" if circle.accepted else "@ink" if circle.kept else "@mute"
    shown = note(circle.step, circle.row, token_text(circle.label), colour, circle.accepted)
    shift = round(circle.size / 2 + 4)
    placed = {**shown, "xshift": shift, "bgcolor": "@paper", "borderpad": 0}
    return fitted(placed, 1, shift + _RADIUS + 10)


def _head(
    pool: PoolExtras, step: int, size: int, column: Sequence[int], rows: int
) -> list[dict[str, object]]:
    """Return what stands over a column, and below it how many of its candidates are not drawn."""
    lines = [f"Step {step + 1}", f"{size:,} seen", f"{_kept(pool, column):,} kept"]
    left = size - min(rows, len(column))
    more = [note(step, rows, f"+ {left:,}")] if left else []
    return [{**each, "xshift": -6} for each in (*head(step, lines), *more)]


def _kept(pool: PoolExtras, column: Sequence[int]) -> int:
    return sum(pool.node[place] is not None for place in column)


def _steps(pool: PoolExtras, columns: Sequence[Sequence[int]]) -> list[str]:
    return [
        f"Step {step + 1}: {count(size, 'candidate')} seen, "
        f"{sum(pool.frontier[place] for place in column)} expanded next, "
        f"{_kept(pool, column)} kept."
        for step, (size, column) in enumerate(zip(pool.sizes, columns, strict=True))
    ]


def _told(reading: Reading, pool: PoolExtras) -> str:
    kept = [s for s, node in zip(pool.score, pool.node, strict=True) if node is not None]
    came = len(reading.round.outcome.accepted)
    return (
        f"{count(sum(pool.sizes), 'candidate')} seen, the best {len(kept):,} kept. By the draft's "
        f"own confidence {fsum(kept):.1f} of them would be accepted; {came or 'none'} "
        f"{'was' if came == 1 else 'were'}."
    )
