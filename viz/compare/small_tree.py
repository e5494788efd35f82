"""A round of one method as a small tree without words: where each drafted token would stand, and
what became of it.
"""

from __future__ import annotations

import math

from core.compare.overlay import Cover
from core.metrics import offered
from viz.compare.entry import Entry
from viz.compare.methods import LIVE
from viz.compare.payload import Dot, SmallTree
from viz.compare.tidy import tidy
from viz.numbers import count
from viz.reading import OWN, Reading
from viz.sentence import named
from viz.states import state_of


def small_tree(method: int, entry: Entry, cover: Cover, reading: Reading) -> SmallTree:
    """Return the dots of a round; `cover` says where it stands on the exact text."""
    dots = _dots(reading, cover.column)
    head, told = _head(reading), caption(reading)
    return {
        "method": method,
        "round": cover.round,
        "head": head,
        "dots": dots,
        "rows": 1 + math.ceil(max((dot["row"] for dot in dots), default=0)),
        "caption": told,
        "alt": f"{entry.name}, {head}: {told}.{_written(reading)}",
    }


def no_tree(method: int, entry: Entry) -> SmallTree:
    """Return the tree of a method that wrote nothing at the place."""
    told = "Not there yet" if entry.status in LIVE else "Its text ended before"
    return {
        "method": method,
        "round": None,
        "head": "",
        "dots": [],
        "rows": 1,
        "caption": told,
        "alt": f"{entry.name}: {told[0].lower()}{told[1:]}.",
    }


def caption(reading: Reading) -> str:
    """Return `24 drafted, 4 kept, 1 corrected`."""
    r = reading.round
    wrote = "1 written by the target" if reading.own is not None else "nothing written"
    if reading.is_prompt:
        return f"Prompt read, {wrote}"
    if not r.drafted:
        return f"Nothing drafted, {wrote}"
    kept = [reading.state(node) for node in r.outcome.accepted]
    relaxed = kept.count("relaxed")
    by_judge = f" ({relaxed:,} relaxed)" if relaxed else ""
    end = {"correction": ", 1 corrected", "bonus": ", 1 bonus"}.get(r.outcome.origin, "")
    return f"{r.drafted:,} drafted, {len(kept) or 'none'} kept{by_judge}{end}"


def _head(reading: Reading) -> str:
    return "prompt pass" if reading.is_prompt else f"round {reading.round.index:,}"


def _written(reading: Reading) -> str:
    """Name the tokens that the round wrote, as many as are read out with patience."""
    own = [] if reading.own is None else [OWN]
    nodes = [*reading.round.outcome.accepted, *own]
    if not nodes:
        return ""
    more = f" and {count(len(nodes) - 8, 'more token')}" if len(nodes) > 9 else ""
    told = [named(reading.label(node)) for node in (nodes[:8] if more else nodes)]
    return f" It wrote {', '.join(told)}{more}."


def _dots(reading: Reading, column: int) -> list[Dot]:
    """Return the offered nodes in their order, the target's own token last."""
    own = [OWN] if reading.own is not None else []
    shown = offered(reading.round.nodes)
    nodes = [*(node for node, ok in enumerate(shown) if ok), *own]
    rows = _rows(reading, shown)
    dot = {node: place for place, node in enumerate(nodes)}
    return [
        {
            "place": column + reading.depths[reading.parent(node)],
            "row": round(rows[node], 3),
            "state": state_of(reading, node),
            "parent": dot.get(reading.parent(node), -1),
        }
        for node in nodes
    ]


def _rows(reading: Reading, shown: list[bool]) -> list[float]:
    """Return the row of each node, of the target's own token last: it is the last child where the
    walk ended.
    """
    needed = list(shown)
    for node in reversed(range(1, reading.size)):
        needed[reading.parent(node)] |= needed[node]
    children = [[child for child in below if needed[child]] for below in reading.children]
    if reading.own is not None:
        children[reading.end].append(reading.size)
        children.append([])
    return tidy(children)
