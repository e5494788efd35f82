"""DynaSD: the strands that leave the target's last law, how each fared, and what choosing the
longest does to the law of the next token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile

from core.extras import DecisionExtras
from viz.figure import chart_text, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone, shortened

ORDER = 12
_HEAD = "Strands from the target's law"
_ROOT = "other_root"  # reason of a root whose strand was not the longest
_WON = "longest_strand"
_MOST = 10  # strands
_PITCH = 30
_LETTERS = 10


@dataclass(frozen=True, slots=True)
class _Strand:
    """A path from a root to a leaf, and how many tokens below the root were kept in a row."""

    nodes: list[int]
    run: int
    won: bool


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that the longest strand decided."""
    reasons = set(reading.round.nodes.reason)
    if not reasons & {_ROOT, _WON}:
        return None
    strands = _strands(reading)
    extra = next((e for e in reading.round.extras if isinstance(e, DecisionExtras)), None)
    words = " ".join(_told(reading, strands, extra))
    note = "A row per strand, its root first. Roots are drawn from the target and never tested."
    if extra is not None:
        note += (
            f" Numbers: what the decision model gave; drafting goes on above {extra.threshold:g}."
        )
    return {
        "section": {
            "head": _HEAD,
            "note": note,
            "figure": _figure(reading, strands, extra),
            "foot": words,
            "legend": [
                ("accepted", "the longest run"),
                ("rejected", "failed its test"),
                ("unreached", "not taken"),
            ],
            "alt": words,
        },
        "html": "",
    }


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
    places = [
        (column, -row, node)
        for row, strand in enumerate(strands)
        for column, node in enumerate(strand.nodes)
    ]
    colours = {"accepted": "@accepted", "rejected": "@rejected"}
    tokens: dict[str, object] = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _, _ in places],
        "y": [y for _, y, _ in places],
        "text": [
            chart_text(alone(shortened(reading.label(node), _LETTERS))) for _, _, node in places
        ],
        "textposition": "top center",
        "textfont": {"color": "@ink", "size": 11},
        "cliponaxis": False,
        "marker": {
            "size": 9,
            "symbol": ["square" if x == 0 else "circle" for x, _, _ in places],
            "color": [colours.get(reading.state(node), "@hair") for _, _, node in places],
            "line": {"width": 1, "color": "@mute"},
        },
        "hoverinfo": "text",
        "hovertext": [_hover(reading, node) for _, _, node in places],
    }
    longest = max(len(strand.nodes) for strand in strands)
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [-0.5, longest - 0.3],
            "tickvals": list(range(longest)),
            "ticktext": ["root", *(str(depth) for depth in range(1, longest))],
        },
        "yaxis": {"range": [0.5 - len(strands), 0.8], "showticklabels": False},
    }
    lines = [_line(row, strand) for row, strand in enumerate(strands)]
    found = layout(_PITCH * (len(strands) + 0.6) + 24, (10, 10, 8, 22), axes)
    scores = [] if extra is None else _scores(strands, extra)
    return {"data": [tokens], "layout": found | {"shapes": lines, "annotations": scores}}


def _line(row: int, strand: _Strand) -> dict[str, object]:
    return {
        "type": "line",
        "layer": "below",
        "x0": 0,
        "x1": len(strand.nodes) - 1,
        "y0": -row,
        "y1": -row,
        "line": {"color": "@accepted" if strand.won else "@hair", "width": 2 if strand.won else 1},
    }


def _scores(strands: list[_Strand], extra: DecisionExtras) -> list[dict[str, object]]:
    """Write each node's decision score below it."""
    found: list[dict[str, object]] = []
    for row, strand in enumerate(strands):
        for column, node in enumerate(strand.nodes):
            score = extra.score[node]
            if score is not None:
                found.append(
                    {
                        "x": column,
                        "y": -row,
                        "yshift": -12,
                        "text": f"{score:.2f}",
                        "showarrow": False,
                        "font": {
                            "size": 10,
                            "color": "@mute" if score > extra.threshold else "@rejected",
                        },
                    }
                )
    return found


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
    chances = _chances(reading)
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


def _chances(reading: Reading) -> dict[int, float]:
    """Return for each root the chance, over all darts, that its strand is the longest.

    Roots before it must be shorter and roots after it no longer, since the first wins a tie.
    """
    roots = [node for node in range(1, reading.size) if reading.parent(node) == 0]
    longest = max(reading.depths)
    within = {root: [_within(reading, root, run) for run in range(longest + 1)] for root in roots}
    found: dict[int, float] = {}
    for place, root in enumerate(roots):
        total = 0.0
        for run in range(longest + 1):
            below = within[root][run - 1] if run else 0.0
            others = [
                (within[other][run - 1] if run else 0.0) if before < place else within[other][run]
                for before, other in enumerate(roots)
                if other != root
            ]
            total += (within[root][run] - below) * math.prod(others)
        found[root] = total
    return found


def _within(reading: Reading, node: int, run: int) -> float:
    """Return the chance that no path below `node` keeps more than `run` tokens in a row."""
    chance = 1.0
    for child in reading.children[node]:
        check = reading.check(child)
        keep = check.accept_probability if check is not None else 0.0
        deeper = _within(reading, child, run - 1) if run else 0.0
        chance *= 1 - keep + keep * deeper
    return chance
