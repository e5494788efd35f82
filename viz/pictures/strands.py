"""DynaSD: the strands that leave the target's last law, how each fared, and what choosing the
longest does to the law of the next token.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from core.extras import DecisionExtras
from viz.chart_marks import MARKS
from viz.chart_tokens import SIZE, token_text
from viz.figure import Axes, chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, NodeState, Picture
from viz.reading import Reading
from viz.strand_odds import chances as winners
from viz.text import alone

ORDER = 12
_HEAD = "Strands from the target's law"
_WORDS = {
    "accepted": "the longest run",
    "rejected": "failed its test",
    "unreached": "not taken",
}
_ROOT = "other_root"  # reason of a root whose strand was not the longest
_WON = "longest_strand"
_MOST = 10  # strands
_PITCH, _SCORE = 44, 36  # px of a row, and more where it has scores
_NAME, _GAUGE = 31, 42  # px from a mark to the score below its name, and to its gauge
_WIDE = 0.3  # half of a gauge, in columns
_EDGES = (8, 8, 24, 2)
_STATES: tuple[NodeState, ...] = ("accepted", "rejected", "unreached")


@dataclass(frozen=True, slots=True)
class _Strand:
    """A path from a root to a leaf, and how many tokens below the root were kept in a row."""

    nodes: list[int]
    run: int
    won: bool


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that the longest strand decided."""
    reasons = set(reading.round.nodes.reason[1:])
    if not reasons & {_ROOT, _WON}:
        return None
    strands = _strands(reading)
    extra = next((e for e in reading.round.extras if isinstance(e, DecisionExtras)), None)
    words = " ".join(_told(reading, strands, extra))
    note = "A row per strand, its root first: square, drawn from the target and never tested."
    if extra is not None:
        least = probability(extra.threshold, 2)
        note += f" Gauges: what the decision model gave; drafting goes on above {least}, the tick."
    return {
        "section": {
            "head": _HEAD,
            "note": note,
            "figure": _figure(reading, strands, extra),
            "foot": words,
            "legend": [(state, _WORDS[state]) for state in _STATES if _any(reading, state)],
            "alt": words,
        },
        "html": "",
    }


def _any(reading: Reading, state: NodeState) -> bool:
    return state in reading.round.nodes.state


def _strands(reading: Reading) -> list[_Strand]:
    passed = {check.node for check in reading.round.checks if check.passed}
    path, found = set(reading.round.outcome.accepted), list[_Strand]()
    parents = set(reading.round.nodes.parent)
    for leaf in (node for node in range(1, reading.size) if node not in parents):
        nodes = [leaf]
        while reading.parent(nodes[0]):
            nodes.insert(0, reading.parent(nodes[0]))
        run = len(list(takewhile(passed.__contains__, nodes[1:])))
        won = path == set(nodes[: run + 1])
        found.append(_Strand(nodes, run, won and not any(s.won for s in found)))
    found.sort(key=lambda strand: (not strand.won, strand.nodes[0], -strand.run))
    return found[:_MOST]


def _figure(reading: Reading, strands: list[_Strand], extra: DecisionExtras | None) -> Figure:
    longest = max(len(strand.nodes) for strand in strands)
    pitch = _PITCH if extra is None else _PITCH + _SCORE
    axes: Axes = {
        "xaxis": {
            "range": [-0.5, longest - 0.5],
            "side": "top",
            "tickvals": list(range(longest)),
            "ticktext": ["root", *(str(depth) for depth in range(1, longest))],
        },
        "yaxis": {"range": [0.4 - len(strands), 0.4], "showticklabels": False},
    }
    data = [_line(row, strand) for row, strand in enumerate(strands)]
    data += [_band(strands), *(_marks(reading, strands, state) for state in _STATES)]
    if extra is not None:
        data.append(_scores(strands, extra, _NAME / pitch))
        data += _gauges(strands, extra, _GAUGE / pitch)
    return {
        "data": data,
        "layout": layout(pitch * len(strands) + _EDGES[2] + _EDGES[3], _EDGES, axes),
    }


def _line(row: int, strand: _Strand) -> dict[str, object]:
    last = len(strand.nodes) - 1
    return _stretch("strand", [0, last], row, {"color": "@hair", "width": 1.2})


def _band(strands: list[_Strand]) -> dict[str, object]:
    """Return the band under the strand that won, as far as it was kept."""
    row, won = next(((row, s) for row, s in enumerate(strands) if s.won), (0, None))
    end = [] if won is None else [0, won.run]
    return _stretch("path", end, row, {"color": "@kept", "width": 13})


def _stretch(name: str, x: list[int], row: int, line: dict[str, object]) -> dict[str, object]:
    drawn: dict[str, object] = {"type": "scatter", "mode": "lines", "name": name, "line": line}
    return drawn | {"x": x, "y": [-row] * len(x), "hoverinfo": "skip"}


def _marks(reading: Reading, strands: list[_Strand], state: NodeState) -> dict[str, object]:
    """Return the nodes of one state with their names below; a root is square, for no test chose
    it.
    """
    places = [
        (column, row, node)
        for row, strand in enumerate(strands)
        for column, node in enumerate(strand.nodes)
        if reading.state(node) == state
    ]
    mark = MARKS[state]
    symbols = ["square" if column == 0 else mark.symbol for column, _, _ in places]
    if state == "unreached":
        symbols = ["square-open" if column == 0 else mark.symbol for column, _, _ in places]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": state,
        "x": [column for column, _, _ in places],
        "y": [-row for _, row, _ in places],
        "text": [token_text(reading.label(node)) for _, _, node in places],
        "textposition": "bottom center",
        "textfont": {"color": "@mute" if state == "unreached" else "@ink", "size": SIZE},
        "meta": {"room": (1, 6)},
        "cliponaxis": False,
        "marker": mark.marker() | {"symbol": symbols},
        "hoverinfo": "text",
        "hovertext": [_hover(reading, node) for _, _, node in places],
    }


def _scores(strands: list[_Strand], extra: DecisionExtras, down: float) -> dict[str, object]:
    """Return each node's decision score, `down` rows below its mark, under its name."""
    scored = _scored(strands, extra)
    colours = ["@mute" if score > extra.threshold else "@rejected" for _, _, score in scored]
    return {
        "type": "scatter",
        "mode": "text",
        "name": "scores",
        "x": [column for column, _, _ in scored],
        "y": [-row - down for _, row, _ in scored],
        "text": [probability(score, 2) for _, _, score in scored],
        "textfont": {"size": SIZE, "color": colours},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _scored(strands: list[_Strand], extra: DecisionExtras) -> list[tuple[int, int, float]]:
    """Return column, row and score of every node that has one."""
    return [
        (column, row, score)
        for row, strand in enumerate(strands)
        for column, node in enumerate(strand.nodes)
        if (score := extra.score[node]) is not None
    ]


def _gauges(strands: list[_Strand], extra: DecisionExtras, down: float) -> list[dict[str, object]]:
    """Return the scores as gauges from 0 to 1, `down` rows below the marks, and the threshold as a
    tick on each.
    """
    scored = _scored(strands, extra)
    levels = [-row - down for _, row, _ in scored]
    begins = [column - _WIDE for column, _, _ in scored]
    ends = [begin + 2 * _WIDE * score for begin, (_, _, score) in zip(begins, scored, strict=True)]
    ticks: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": "threshold",
        "x": [begin + 2 * _WIDE * extra.threshold for begin in begins],
        "y": levels,
        "marker": {"symbol": "line-ns", "size": 9, "line": {"width": 1.2, "color": "@ink"}},
        "hoverinfo": "skip",
    }
    return [
        _rails("track", begins, [begin + 2 * _WIDE for begin in begins], levels, "@hair"),
        _rails("gauge", begins, ends, levels, "@mute"),
        ticks,
    ]


def _rails(
    name: str, begins: list[float], ends: list[float], levels: list[float], colour: str
) -> dict[str, object]:
    """Return level lines, with a gap after each."""
    pairs = zip(begins, ends, strict=True)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [x for begin, end in pairs for x in (begin, end, None)],
        "y": [y for level in levels for y in (level, level, None)],
        "line": {"color": colour, "width": 4},
        "hoverinfo": "skip",
    }


def _hover(reading: Reading, node: int) -> str:
    check, label = reading.check(node), chart_text(alone(reading.label(node)))
    if check is None:
        return f"{label}: a root, not tested"
    word = "kept" if check.passed else "failed"
    return f"{label}: {word}, chance {probability(check.accept_probability)}"


def _told(reading: Reading, strands: list[_Strand], extra: DecisionExtras | None) -> list[str]:
    won = next((strand for strand in strands if strand.won), strands[0])
    root = alone(reading.label(won.nodes[0]))
    told = [f"The strand of “{root}” won, with {count(won.run, 'token')} kept below it."]
    chances = winners(reading)
    if len(chances) > 1:
        first = next(iter(chances))
        name = alone(reading.label(first))
        told.append(
            f"An exact rule would always keep the root drawn first, “{name}”; given these strands, "
            f"the longest-run rule keeps it with chance {probability(chances[first])}."
        )
    stop = reading.round.stop
    if extra is not None and stop is not None and stop.reason == "decision":
        told.append("The decision model ended the draft.")
    return told
