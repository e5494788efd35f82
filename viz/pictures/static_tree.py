"""A tree given ahead: what filled its places in this round, and how often each was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from core.extras import StaticExtras
from core.trace import Round, Trace
from viz.branches import Point, branches
from viz.chart_tokens import fitted, head, note, token_text, words
from viz.figure import layout
from viz.layout import place
from viz.numbers import count
from viz.payload import Figure, Picture
from viz.reading import Reading

ORDER = 10
_RADIUS = 7.5  # px of a circle that was accepted in every round
_PITCH = 16  # px of a row
_HEAD = 34  # px over the rows
_BENDS = 0.8  # of a column, where the lines to its children part: a label ends before

Ranks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A node of this round; `hits` of the `tries` rounds that filled its place accepted it."""

    node: int
    parent: int
    ranks: Ranks
    depth: int
    row: float
    hits: int
    tries: int
    accepted: bool

    @property
    def at(self) -> tuple[float, float]:
        return self.depth, self.row

    @property
    def size(self) -> float:
        return round(max(3.0, 2 * _RADIUS * sqrt(self.hits / self.tries)), 1)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that filled a tree given ahead."""
    extra = _block(reading.round)
    if extra is None or reading.size < 2:
        return None
    hits, tries = _pooled(reading.trace)
    places = _places(reading, extra, hits, tries)
    told = _told(extra, places, hits, tries)
    return {
        "section": {
            "head": "A tree given ahead",
            "note": "Every round fills the same places, a row of ranks from the root down. Circle "
            "area: share of all rounds that accepted this place. Blue: accepted in this round.",
            "figure": _figure(reading, places),
            "foot": told,
            "legend": [],
            "alt": told,
        },
        "html": "",
    }


def _block(r: Round) -> StaticExtras | None:
    return next((extra for extra in r.extras if isinstance(extra, StaticExtras)), None)


def _pooled(trace: Trace) -> tuple[Mapping[Ranks, int], Mapping[Ranks, int]]:
    """Return how often each place was accepted, and filled, over all rounds."""
    hits, tries = Counter[Ranks](), Counter[Ranks]()
    for r in trace.rounds:
        extra = _block(r)
        if extra is not None:
            tries.update(tuple(ranks) for ranks in extra.ranks)
            hits.update(tuple(extra.ranks[node]) for node in r.outcome.accepted)
    return hits, tries


def _places(
    reading: Reading, extra: StaticExtras, hits: Mapping[Ranks, int], tries: Mapping[Ranks, int]
) -> list[_Place]:
    edges = [(node, child) for node, found in enumerate(reading.children) for child in found]
    rows, path = place(edges).row, set(reading.round.outcome.accepted)
    found: list[_Place] = []
    for node in range(reading.size):
        ranks = tuple(extra.ranks[node])
        found.append(
            _Place(
                node,
                max(0, reading.parent(node)),
                ranks,
                len(ranks),
                rows[node],
                hits.get(ranks, 0),
                tries[ranks],
                node in path,
            )
        )
    return found


def _figure(reading: Reading, places: Sequence[_Place]) -> Figure:
    depth, rows = max(each.depth for each in places), max(each.row for each in places)
    x: dict[str, object] = {"range": [-0.06, depth + 0.86], "showticklabels": False}
    y: dict[str, object] = {"range": [rows + 0.7, -0.8], "showticklabels": False}
    figure = layout(_PITCH * (rows + 1.5) + _HEAD, (6, 2, _HEAD, 2), {"xaxis": x, "yaxis": y})
    inner = {each.parent for each in places}
    return {
        "data": [
            branches(_pairs(places, accepted=False), "@hair", 1.0),
            branches(_pairs(places, accepted=True), "@accepted", 2.0),
            _root(places[0]),
            *_marks(places),
        ],
        "layout": figure
        | words(
            [
                *(_label(reading, p, depth, p.node in inner) for p in places if p.node),
                *(line for level in range(1, depth + 1) for line in _head(places, level)),
            ]
        ),
    }


def _head(places: Sequence[_Place], level: int) -> list[dict[str, object]]:
    there = sum(each.depth == level for each in places)
    lines = head(level, [f"Depth {level}", f"{there:,} drafted"])
    return [{**line, "xshift": -6} for line in lines]


def _pairs(places: Sequence[_Place], accepted: bool) -> list[tuple[Point, Point]]:
    ends = [each for each in places if each.node and each.accepted == accepted]
    return [(places[end.parent].at, end.at) for end in ends]


def _root(root: _Place) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "root",
        "x": [root.depth],
        "y": [root.row],
        "marker": {"symbol": "square", "size": 8, "color": "@ink"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _marks(places: Sequence[_Place]) -> list[dict[str, object]]:
    drafted = [each for each in places if each.node]
    return [
        _dots("never", [p for p in drafted if not p.hits], "@paper", "@faint"),
        _dots("before", [p for p in drafted if p.hits and not p.accepted], "@law", "@law"),
        _dots("now", [p for p in drafted if p.accepted], "@accepted", "@accepted"),
    ]


def _dots(name: str, places: Sequence[_Place], fill: str, line: str) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [each.depth for each in places],
        "y": [each.row for each in places],
        "marker": {
            "symbol": "circle",
            "size": [each.size for each in places],
            "color": fill,
            "line": {"color": line, "width": 1.2},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_hover(each) for each in places],
        "cliponaxis": False,
    }


def _hover(each: _Place) -> str:
    ranks = " · ".join(str(rank + 1) for rank in each.ranks)
    return f"Ranks {ranks}: accepted in {each.hits:,} of {count(each.tries, 'round')}"


def _label(reading: Reading, each: _Place, deepest: int, inner: bool) -> dict[str, object]:
    """Return the token of a place; a leaf has its row to itself, up to the chart's end."""
    span = _BENDS if inner else deepest - each.depth + 0.86
    text = token_text(reading.label(each.node))
    colour = "@accepted" if each.accepted else "@ink" if each.hits else "@mute"
    shown = note(each.depth, each.row, text, colour, each.accepted)
    shift = round(each.size / 2 + 4)
    return fitted({**shown, "xshift": shift, "bgcolor": "@paper", "borderpad": 0}, span, shift)


def _told(
    extra: StaticExtras,
    places: Sequence[_Place],
    hits: Mapping[Ranks, int],
    tries: Mapping[Ranks, int],
) -> str:
    rounds = count(tries[()], "round")
    came = [each for each in places if each.accepted]
    ranks = " · ".join(str(each.ranks[-1] + 1) for each in came)
    now = f"This round accepted ranks {ranks}." if came else "This round accepted none."
    idle = extra.planned - len(hits)
    return f"{now} In {rounds}, {idle:,} of the {extra.planned:,} places were never accepted."
