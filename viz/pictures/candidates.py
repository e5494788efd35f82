"""Candidates level by level (MCSD's k-config, SpecInfer's expansion config): who was tried where
the walk came by, who stood in, and where a single candidate would have stopped.

A column per level, the candidates of the visited node below one another in the order tried. What
was drafted below a candidate that was not kept is lost with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from core.extras import LevelsExtras, TypicalExtras
from core.trace import Check
from viz.chart_marks import MARKS
from viz.chart_tokens import LONGEST
from viz.figure import chart_text, layout
from viz.numbers import count, ordinal, probability
from viz.payload import NodeState, Picture
from viz.reading import OWN, Reading
from viz.rule_longest import REASONS as STRANDS
from viz.rules import by_quotient
from viz.states import ORDER as STATES
from viz.states import state_of
from viz.text import alone, shortened

ORDER = 15
_ROWS = 6  # candidates shown at a node
_PITCH = 40  # px from one candidate to the next
_TOP = 44  # px, for the numbers over the columns
_LEFT = 66  # px, for the names of the rows
_BESIDE = "\u00a0" * 4  # what keeps a number beside a mark off it
_DRAWN = {
    "likeliest": "the likeliest first",
    "distinct": "drawn without replacement, in this order",
    "independent": "drawn with replacement, in this order",
}
_WORDS: Mapping[NodeState, str] = {
    "accepted": "kept",
    "relaxed": "kept by the relaxed rule",
    "rejected": "tried and rejected",
    "unreached": "not tried",
    "correction": "correction",
    "bonus": "bonus",
}


@dataclass(frozen=True, slots=True)
class _Slot:
    """One candidate: its place in the grid from 1, and how many nodes stand below it."""

    node: int
    level: int
    place: int
    state: NodeState
    below: int


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose nodes had a set number of candidates, tried in turn."""
    extra = next((e for e in reading.round.extras if isinstance(e, LevelsExtras)), None)
    if extra is None or not reading.round.checks or not _in_turn(reading):
        return None
    slots, alone_kept = _slots(reading), _kept_by_one(reading)
    kept = len(reading.round.outcome.accepted)
    told = " ".join(filter(None, [_told(kept, alone_kept), _never(reading, slots)]))
    return {
        "section": {
            "head": "Candidates, level by level",
            "note": f"Config {' · '.join(map(str, extra.widths))}: the candidates where the walk "
            f"came by, {_DRAWN[extra.drawing]}. +6: so many nodes below one were lost with it.",
            "figure": {
                "data": _traces(reading, slots),
                "layout": _layout(reading, extra, slots, alone_kept),
            },
            "foot": told,
            "legend": [(state, _WORDS[state]) for state in _present(slots)],
            "alt": f"{_levels_told(reading, slots)} {told}",
        },
        "html": "",
    }


def _in_turn(reading: Reading) -> bool:
    """Return whether the rule tries the candidates of a node one after the other."""
    typical = any(isinstance(e, TypicalExtras) for e in reading.round.extras)
    return not typical and STRANDS.isdisjoint(reading.round.nodes.reason)


def _slots(reading: Reading) -> list[_Slot]:
    """Return the candidates at every visited node, and the target's own token where it stands."""
    size = _sizes(reading)
    path = [0, *reading.round.outcome.accepted]
    slots = [
        _Slot(node, level, place, state_of(reading, node), size[node] - 1)
        for level, visited in enumerate(path, start=1)
        for place, node in enumerate(_shown(reading, visited), start=1)
    ]
    if reading.own is not None:
        row = 1 + max((slot.place for slot in slots if slot.level == len(path)), default=0)
        slots.append(_Slot(OWN, len(path), row, state_of(reading, OWN), 0))
    return slots


def _shown(reading: Reading, visited: int) -> Sequence[int]:
    """Return the first children offered at a node, those tried always among them."""
    offered = [n for n in reading.children[visited] if reading.state(n) not in ("pruned", "probe")]
    tried = [node for node in offered if node in reading.check_of]
    return offered[: max(_ROWS, len(tried))]


def _sizes(reading: Reading) -> list[int]:
    """Return the number of nodes in the subtree of every node, itself included."""
    sizes = [1] * reading.size
    for node in range(reading.size - 1, 0, -1):
        sizes[reading.parent(node)] += sizes[node]
    return sizes


def _kept_by_one(reading: Reading) -> int | None:
    """Return how far the first candidates alone would have come with the same luck; None where the
    rule tests a first candidate otherwise than a single one.
    """
    depth = 0
    for visited in (0, *reading.round.outcome.accepted):
        checks = [c for c in reading.round.checks if reading.parent(c.node) == visited]
        if not checks:
            return depth
        if not _is_plain(checks[0]):
            return None
        if not checks[0].passed:
            return depth
        depth += 1
    return depth


def _is_plain(check: Check) -> bool:
    """Return whether a test is that of a single candidate: p/q, or p of a fixed one."""
    if check.q is not None:
        return by_quotient(check)
    return check.p is not None and isclose(check.p, check.accept_probability, abs_tol=1e-4)


def _told(kept: int, single: int | None) -> str:
    if single is None:
        return ""
    if single == kept:
        return f"A single candidate would have come as far: {kept or 'none'} kept."
    return f"{kept} kept; a single candidate would have kept {single or 'none'}."


def _never(reading: Reading, slots: Sequence[_Slot]) -> str:
    """Say which levels have no column, since the walk ended above."""
    last = max(slot.level for slot in slots)
    if reading.round.max_depth <= last:
        return ""
    below = "Level" if reading.round.max_depth == last + 1 else f"Levels {last + 1} to"
    return f"{below} {reading.round.max_depth} came into no test."


def _levels_told(reading: Reading, slots: Sequence[_Slot]) -> str:
    levels = range(1, 1 + max((slot.level for slot in slots), default=0))
    rows = [
        "; ".join(_words(reading, slot) for slot in slots if slot.level == level)
        for level in levels
    ]
    return " ".join(f"Level {level}: {row}." for level, row in zip(levels, rows, strict=True))


def _words(reading: Reading, slot: _Slot) -> str:
    times = "" if slot.node == OWN else _times(reading, slot.node)
    return f"{alone(reading.label(slot.node))}{times}, {_WORDS.get(slot.state, slot.state)}"


def _times(reading: Reading, node: int) -> str:
    drawn = reading.round.nodes.count[node]
    return f" drawn {drawn} times" if drawn > 1 else ""


def _traces(reading: Reading, slots: Sequence[_Slot]) -> list[dict[str, object]]:
    path = [slot for slot in slots if slot.state in ("accepted", "relaxed")]
    lost = [slot for slot in slots if slot.below and slot not in path]
    band: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "path",
        "x": [slot.level for slot in path],
        "y": [-slot.place for slot in path],
        "line": {"color": "@kept", "width": 13},
        "hoverinfo": "skip",
    }
    below: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "name": "below",
        "x": [slot.level for slot in lost],
        "y": [-slot.place for slot in lost],
        "text": [f"{_BESIDE}+{slot.below}" for slot in lost],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": "@mute"},
        "hoverinfo": "skip",
    }
    return [band, below, *(_marks(reading, slots, state) for state in _present(slots))]


def _present(slots: Sequence[_Slot]) -> list[NodeState]:
    """Return the states met, in the order of the legend."""
    met = {slot.state for slot in slots}
    return [state for state in STATES if state in met and state in MARKS]


def _marks(reading: Reading, slots: Sequence[_Slot], state: NodeState) -> dict[str, object]:
    some = [slot for slot in slots if slot.state == state]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": state,
        "x": [slot.level for slot in some],
        "y": [-slot.place for slot in some],
        "marker": MARKS[state].marker(),
        "text": [chart_text(_name_of(reading, slot)) for slot in some],
        "meta": {"room": (1, 4)},
        "textposition": "bottom center",
        "textfont": {"size": 11, "color": "@mute" if state == "unreached" else "@ink"},
        "hoverinfo": "text",
        "hovertext": [chart_text(_hover(reading, slot)) for slot in some],
        "cliponaxis": False,
    }


def _name_of(reading: Reading, slot: _Slot) -> str:
    drawn = 1 if slot.node == OWN else reading.round.nodes.count[slot.node]
    name = alone(shortened(reading.label(slot.node), LONGEST))
    return f"{name} ×{drawn}" if drawn > 1 else name


def _hover(reading: Reading, slot: _Slot) -> str:
    check = None if slot.node == OWN else reading.check(slot.node)
    chance = "" if check is None else f" with chance {probability(check.accept_probability)}"
    below = f", {count(slot.below, 'node')} below" if slot.below else ""
    return f"{_words(reading, slot)}{chance}{below}"


def _layout(
    reading: Reading, extra: LevelsExtras, slots: Sequence[_Slot], single: int | None
) -> dict[str, object]:
    drafted = Counter(
        depth
        for depth, state in zip(reading.depths, reading.round.nodes.state, strict=True)
        if state not in ("root", "pruned", "probe")
    )
    last = max(slot.level for slot in slots)
    levels = range(1, min(last, reading.round.max_depth) + 1)
    rows = max(slot.place for slot in slots)
    axes: dict[str, dict[str, object]] = {
        "xaxis": {"range": [0.5, last + 0.5], "showticklabels": False},
        "yaxis": {
            "range": [-rows - 0.6, -0.4],
            "tickvals": [-place for place in range(1, rows + 1)],
            "ticktext": [ordinal(place) for place in range(1, rows + 1)],
        },
    }
    heads = [_number(level, str(extra.widths[level - 1]), 26, "@ink") for level in levels]
    sizes = [_number(level, str(drafted[level]), 10, "@mute") for level in levels]
    names = [_name("candidates", 26, "@ink"), _name("nodes", 10, "@mute")]
    stop = [] if single is None or single == len(reading.round.outcome.accepted) else [single + 1]
    figure = layout(_TOP + _PITCH * rows + 20, (_LEFT, 8, _TOP, 20), axes)
    told = [*names, *heads, *sizes, *(_stopped(level, last) for level in stop)]
    return figure | {"annotations": told, "shapes": [_line(level) for level in stop]}


def _number(level: int, text: str, shift: int, colour: str) -> dict[str, object]:
    """Return a number over a column."""
    return _word(text, shift, colour) | {"x": level, "xanchor": "center"}


def _name(text: str, shift: int, colour: str) -> dict[str, object]:
    """Return what the numbers of a row over the columns are."""
    return _word(text, shift, colour) | {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "xshift": -_LEFT,
    }


def _word(text: str, shift: int, colour: str) -> dict[str, object]:
    return {
        "text": text,
        "yref": "paper",
        "y": 1,
        "yanchor": "middle",
        "yshift": shift,
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": 12 if shift > 20 else 11, "color": colour},
    }


def _line(level: int) -> dict[str, object]:
    """Return the line behind the column where the first candidate failed."""
    return {
        "type": "line",
        "x0": level + 0.5,
        "x1": level + 0.5,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": "@ink", "width": 1.2, "dash": "4px 3px"},
    }


def _stopped(level: int, last: int) -> dict[str, object]:
    right = level + 0.5 > last / 2
    return {
        "text": "a single candidate stops here",
        "x": level + 0.5,
        "xanchor": "right" if right else "left",
        "yref": "paper",
        "y": 0,
        "yanchor": "top",
        "yshift": -4,
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": 11, "color": "@ink"},
    }
