"""SpecTr: how K-SEQ finds its factor, as two curves that cross, or what the best transport plan
does with every set of candidates, beside K-SEQ.
"""

from __future__ import annotations

from core.extras import KSeqNode, TransportNode
from viz.chart_tokens import note, token_text
from viz.coupling_map import Coupling
from viz.crossing_curves import Crossing
from viz.figure import SHARES, Axes, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.rule_spectr import k_seq_nodes, transport_nodes
from viz.text import alone, shortened

ORDER = 12
_MOST = 3  # plots of one round
_PLOT, _GAP, _AXIS = 104, 40, 34  # px of a plot, above it, below the last
_NEARLY_ALL = 0.995  # of the sets' chance
_CELL, _HEAD = 17, 26  # px of a row of a map, above it
_NAMES = 66  # px for the names of the columns
_LETTERS = 8
_LEFT = 46  # px for the numbers on the left
_THOUSAND = 1000


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round in which one of several independent drafts was chosen."""
    found = [node for node in k_seq_nodes(reading) if node.drafts > 1]
    if found:
        return _crossings(reading, found)
    planned = [node for node in transport_nodes(reading) if node.drafts > 1]
    if not planned:
        return None
    return _plan(reading, max(planned, key=lambda node: node.accept - node.k_seq), planned)


def _crossings(reading: Reading, nodes: list[KSeqNode]) -> Picture:
    words = " ".join(_k_seq_told(reading, node) for node in nodes)
    return {
        "section": {
            "head": "How far every draft must hold back",
            "note": "Each draft stays with chance p / (ρ q): the larger ρ, the more rarely. From "
            "ρ* on, where the lines meet, the text keeps its law (blue); so ρ* is the one to take.",
            "figure": _curves(reading, nodes[:_MOST]),
            "foot": words,
            "legend": [
                ("line", "one of the drafts stays"),
                ("dashes", "the most that may, for this ρ"),
                ("dots", "the best rule"),
            ],
            "alt": words,
        },
        "html": "",
    }


def _after(reading: Reading, node: int) -> str:
    return f"“{alone(shortened(reading.label(node), 12))}”"


def _k_seq_told(reading: Reading, node: KSeqNode) -> str:
    return (
        f"After {_after(reading, node.node)} {count(node.drafts, 'draft')} together keep a token "
        f"with chance {probability(node.accept)} (ρ* {node.rho:.2f}); one draft alone would with "
        f"{probability(node.spent[0])}, the best rule with {probability(node.best)}."
    )


def _curves(reading: Reading, nodes: list[KSeqNode]) -> Figure:
    height = len(nodes) * (_PLOT + _GAP)
    data, axes = list[dict[str, object]](), Axes()
    shapes, texts = list[dict[str, object]](), list[dict[str, object]]()
    for row, node in enumerate(nodes):
        end = str(row + 1) if row else ""
        plot = Crossing(node, f"x{end}", f"y{end}")
        top = 1 - (row * (_PLOT + _GAP) + _GAP) / height
        axes[f"xaxis{end}"] = {
            "range": [1, node.drafts],
            "tickvals": list(range(1, node.drafts + 1)),
            "anchor": plot.y,
        }
        axes[f"yaxis{end}"] = SHARES | {
            "range": [0, plot.top],
            "domain": [max(0.0, top - _PLOT / height), top],
            "ticklabelstandoff": 6,
            "anchor": plot.x,
        }
        data += plot.traces()
        shapes += plot.shapes()
        texts += [*plot.annotations(), _title(reading, node, top)]
    texts.append(
        {**note(1, 0, "ρ"), "xref": "paper", "yref": "paper", "xanchor": "center", "yshift": -26}
    )
    found = layout(height + _AXIS, (_LEFT, 8, 0, _AXIS), axes)
    return {"data": data, "layout": found | {"shapes": shapes, "annotations": texts}}


def _title(reading: Reading, node: KSeqNode, top: float) -> dict[str, object]:
    text = f"After {token_text(reading.label(node.node), 14)}: {count(node.drafts, 'draft')}"
    return {
        **note(0, top, text, "@ink", bold=True),
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 4,
    }


def _plan(reading: Reading, node: TransportNode, nodes: list[TransportNode]) -> Picture:
    words = " ".join(_plan_told(reading, each) for each in nodes)
    bundles = (
        ""
        if node.is_exact
        else " Unlikely tokens share a column, and all sets that hold one of them a row."
    )
    shown = sum(node.mass)
    rest = "" if shown > _NEARLY_ALL else f" The rows make up {probability(shown)} of all sets."
    return {
        "section": {
            "head": "What every set of candidates leads to",
            "note": f"After {_after(reading, node.node)}: a row is a set of tokens that "
            f"{count(node.drafts, 'draft')} can offer (outlined), with its chance; the shade says "
            f"what is written then. ▸ the set of this round.{bundles}{rest}",
            "figure": _maps(reading, node),
            "foot": words,
            "legend": [
                ("accepted", "a candidate stays"),
                ("correction", "the target writes its own"),
            ],
            "alt": words,
        },
        "html": "",
    }


def _plan_told(reading: Reading, node: TransportNode) -> str:
    return (
        f"After {_after(reading, node.node)} the plan keeps one of {count(node.drafts, 'draft')} "
        f"with chance {probability(node.accept)}, K-SEQ would with {probability(node.k_seq)}, the "
        f"best of all rules with {probability(node.best)}."
    )


def _maps(reading: Reading, node: TransportNode) -> Figure:
    names = [_column(reading, node, column) for column in range(len(node.token))]
    rows = len(node.sets)
    high = rows * _CELL
    height = 2 * (high + _HEAD)
    data, axes = list[dict[str, object]](), Axes()
    shapes, texts = list[dict[str, object]](), list[dict[str, object]]()
    for place, (title, cells) in enumerate(
        (
            (f"Plan, keeps {probability(node.accept)}", node.by_plan),
            (f"K-SEQ, keeps {probability(node.k_seq)}", node.by_k_seq),
        )
    ):
        end = "2" if place else ""
        plot = Coupling(node, cells, names, f"x{end}", f"y{end}")
        top = 1 - (place * (high + _HEAD) + _HEAD) / height
        axes[f"xaxis{end}"] = {
            "range": [-0.5, len(names) - 0.5],
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickangle": -50,
            "showticklabels": bool(place),
            "anchor": plot.y,
        }
        axes[f"yaxis{end}"] = {
            "range": [0.5 - rows, 0.5],
            "domain": [max(0.0, top - high / height), top],
            "tickvals": [-row for row in range(rows)],
            "ticktext": [_chance(node, row) for row in range(rows)],
            "anchor": plot.x,
        }
        data += plot.traces()
        shapes += plot.shapes()
        texts.append(
            {
                **note(0, top, title, "@ink", bold=True),
                "xref": "paper",
                "yref": "paper",
                "yanchor": "bottom",
                "yshift": 3,
            }
        )
    found = layout(height + _NAMES, (_LEFT, 8, 0, _NAMES), axes)
    return {"data": data, "layout": found | {"shapes": shapes, "annotations": texts}}


def _chance(node: TransportNode, row: int) -> str:
    text = probability(node.mass[row])
    return f"<b>▸ {text}</b>" if row == node.drawn else text


def _column(reading: Reading, node: TransportNode, column: int) -> str:
    """Return the name of a column: its token, the first of several, or all others."""
    if column == len(node.token) - 1:
        return "others"
    first = token_text(reading.candidate(node.token[column][0], node.node), _LETTERS)
    more = node.size[column] - 1
    if not more:
        return first
    return f"{first} +{more}" if more < _THOUSAND else f"{first} +{more / _THOUSAND:.0f}k"
