"""Hydra: the children of every node, and what they would have been without the node's own token.

Two lines per node whose head ran: the children drafted after it, and below, what the same head
would have drafted had it not seen the node. Filled: a child that is there only because of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from core.extras import GroundedExtras, Hidden
from viz.chart_tokens import fitted, note, token_text, words
from viz.figure import layout
from viz.numbers import count, probability
from viz.payload import Figure, Label, Picture
from viz.reading import Reading

ORDER = 10
_MOST_NODES, _MOST_CHILDREN = 9, 5  # drawn
_RADIUS = 7  # px of a circle whose share is 1
_PITCH, _HEAD = 20, 8  # px of a line, over all
_PER_NODE = 2.5  # lines of a node, with the gap to the next
_FIRST = 1.1  # column of the first child; 0 holds the node itself


@dataclass(frozen=True, slots=True)
class _Child:
    """A token after a node. `own`: there only because its head saw the node; None: on the line of
    what would have been there.
    """

    column: int
    label: Label
    share: float
    own: bool | None
    accepted: bool

    @property
    def size(self) -> float:
        return round(max(4.0, 2 * _RADIUS * sqrt(self.share)), 1)


@dataclass(frozen=True, slots=True)
class _Row:
    """A node with its children, and those that it would have had unseen."""

    node: int
    label: Label
    y: float
    seen: Sequence[_Child]
    unseen: Sequence[_Child]


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose heads saw the path before them."""
    extra = next((e for e in reading.round.extras if isinstance(e, GroundedExtras)), None)
    if extra is None:
        return None
    asked = [h for h in sorted(extra.nodes, key=lambda h: h.node) if _drafted(reading, h.node)]
    if not asked:
        return None
    path = reading.path()
    first = sorted(asked, key=lambda h: (h.node not in path, h.node))[:_MOST_NODES]
    shown = sorted(first, key=lambda h: h.node)
    rows = [_row(reading, hidden, _PER_NODE * place) for place, hidden in enumerate(shown)]
    told = _told(reading, extra, asked, len(asked) - len(shown))
    return {
        "section": {
            "head": "What each token brings about",
            "note": "After each node its first children, and in grey below what the same head "
            "would have drafted without seeing that node. Filled: there only because of it. Circle "
            "area: the head's share. Blue: accepted.",
            "figure": _figure(rows),
            "foot": told,
            "legend": [],
            "alt": " ".join([*map(_alt, rows), told]),
        },
        "html": "",
    }


def _drafted(reading: Reading, node: int) -> Sequence[int]:
    """Return the children of a node that were offered."""
    return [n for n in reading.children[node] if reading.round.nodes.role[n] == "draft"]


def _would(reading: Reading, hidden: Hidden) -> Sequence[int]:
    """Return as many of the tokens that the head likes without the node as it drafted with it."""
    return hidden.token[: len(_drafted(reading, hidden.node))]


def _row(reading: Reading, hidden: Hidden, y: float) -> _Row:
    node, would = hidden.node, _would(reading, hidden)
    children = _drafted(reading, node)[:_MOST_CHILDREN]
    seen = [
        _Child(
            column,
            reading.label(child),
            reading.q(child) or 0.0,
            reading.token(child) not in would,
            child in reading.round.outcome.accepted,
        )
        for column, child in enumerate(children)
    ]
    unseen = [
        _Child(column, reading.candidate(token, node), share, None, False)
        for column, (token, share) in enumerate(zip(would, hidden.q, strict=False))
        if column < _MOST_CHILDREN
    ]
    return _Row(node, reading.label(node), y, seen, unseen)


def _figure(rows: Sequence[_Row]) -> Figure:
    columns = max(len(row.seen) for row in rows)
    end = _PER_NODE * (len(rows) - 1) + 1.6
    x: dict[str, object] = {"range": [-0.08, _FIRST + columns - 0.1], "showticklabels": False}
    y: dict[str, object] = {"range": [end, -0.6], "showticklabels": False}
    figure = layout(_PITCH * (end + 0.6) + _HEAD, (4, 2, _HEAD, 2), {"xaxis": x, "yaxis": y})
    seen = [(row.y, child) for row in rows for child in row.seen]
    unseen = [(row.y + 1, child) for row in rows for child in row.unseen]
    names = [line for row in rows for line in _name(row)]
    return {
        "data": [
            _dots("unseen", unseen, "@paper", "@faint"),
            _dots("anyway", [e for e in seen if not e[1].own and not e[1].accepted], "@paper"),
            _dots("own", [e for e in seen if e[1].own and not e[1].accepted], "@law"),
            _dots(
                "accepted anyway",
                [e for e in seen if not e[1].own and e[1].accepted],
                "@paper",
                "@accepted",
            ),
            _dots(
                "accepted own",
                [e for e in seen if e[1].own and e[1].accepted],
                "@accepted",
                "@accepted",
            ),
        ],
        "layout": figure | words([*names, *(_word(*each) for each in (*seen, *unseen))]),
    }


def _dots(
    name: str, children: Sequence[tuple[float, _Child]], fill: str, line: str = "@law"
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [_FIRST + child.column for _, child in children],
        "y": [y for y, _ in children],
        "marker": {
            "symbol": "circle",
            "size": [child.size for _, child in children],
            "color": fill,
            "line": {"color": line, "width": 1.2},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_hover(child) for _, child in children],
        "cliponaxis": False,
    }


def _hover(child: _Child) -> str:
    told = {
        True: ", only because the token before it was seen",
        False: ", with or without the token before it",
        None: ", had the token before it not been seen",
    }[child.own]
    kept = ", accepted" if child.accepted else ""
    return f"{token_text(child.label)}: {probability(child.share)}{told}{kept}"


def _word(y: float, child: _Child) -> dict[str, object]:
    colour = "@accepted" if child.accepted else "@mute" if child.own is None else "@ink"
    shown = note(_FIRST + child.column, y, token_text(child.label), colour, child.accepted)
    shift = round(_RADIUS + 4)
    return fitted({**shown, "xshift": shift}, 1, shift + _RADIUS + 4)


def _name(row: _Row) -> list[dict[str, object]]:
    token = note(0, row.y, token_text(row.label), "@ink", bold=True)
    return [fitted(token, 1, 2), fitted(note(0, row.y + 1, "unseen"), 1, 2)]


def _told(reading: Reading, extra: GroundedExtras, asked: Sequence[Hidden], left: int) -> str:
    if extra.is_hidden:
        return "The heads were shown no token of the path: they guess as blindly as Medusa's."
    pairs = [(child, hidden) for hidden in asked for child in _drafted(reading, hidden.node)]
    own = sum(reading.token(child) not in _would(reading, hidden) for child, hidden in pairs)
    nodes = count(left, "more node")
    more = f" {nodes} {'is' if left == 1 else 'are'} not drawn." if left else ""
    return (
        f"{own:,} of {count(len(pairs), 'token')} are in the tree only because a head saw the "
        f"token before them.{more}"
    )


def _alt(row: _Row) -> str:
    seen = ", ".join(token_text(child.label) for child in row.seen)
    unseen = ", ".join(token_text(child.label) for child in row.unseen)
    return f"After {token_text(row.label)}: {seen}; unseen: {unseen}."
