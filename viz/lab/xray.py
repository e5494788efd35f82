"""Six trees over one place, as the page draws them: every node once, at one place for all trees,
and per tree which of them it has, what became of each, and what it is worth in words.

Places are rows and depths; pixels are the page's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from core.trace import Trace
from viz.lab.trees import NAMES, Node, Tree, Trees
from viz.lab.where import labelled
from viz.lab.xray_words import foot, listed, note, tokens, words
from viz.layout import place
from viz.numbers import count, optional, probability
from viz.payload import Label, Run
from viz.reading import Reading
from viz.sentence import plain, say

State = Literal["accepted", "rejected", "unreached"]


class NodeView(TypedDict):
    parent: int  # -1: the root
    depth: int
    row: float
    label: Label
    p: float
    q: float | None
    path_q: float | None  # product of q from the root down
    p_text: str
    q_text: str


class TreeView(TypedDict):
    """`states`, `reach` and their words stand in the order of `nodes`, parents first."""

    key: str
    name: str
    idea: str
    nodes: list[int]
    states: list[State]
    reach: list[float]
    reach_text: list[str]
    believed: float
    expected: float
    believed_text: str
    expected_text: str
    accepted: int
    wasted: int
    words: list[Run]
    cost: str
    alt: str


class Xray(TypedDict):
    head: list[Run]
    note: str
    foot: str
    round: int
    budget: int
    least: int
    most: int
    root: Label
    root_row: float
    rows: int
    depth: int
    nodes: list[NodeView]
    oracle: list[int]
    oracle_words: list[Run]
    trees: list[TreeView]


def xray(
    trace: Trace, index: int, seen: Trees, spelled: Mapping[int, bytes], special: frozenset[int]
) -> Xray:
    """Return what the page shows of the trees grown where round `index` of the trace began.

    `spelled`: bytes of all tokens of `seen`; `special`: those that are control tokens.
    """
    reading = labelled(trace, index, spelled, special)
    labels, pending = _labels(reading, seen.nodes)
    row, rows = _rows(seen.nodes)
    views = _nodes(seen.nodes, labels, row)
    after = [*pending, reading.pending[0]]  # place -1 is the root
    return {
        "head": say("Six trees after ", reading.label(0), f", where round {index} began"),
        "note": note(trace, seen),
        "foot": foot(reading, seen),
        "round": index,
        "budget": seen.budget,
        "least": seen.bounds[0],
        "most": seen.bounds[1],
        "root": reading.label(0),
        "root_row": row[-1],
        "rows": rows,
        "depth": max((view["depth"] for view in views), default=0),
        "nodes": views,
        "oracle": list(seen.oracle),
        "oracle_words": say("The target alone would write", *listed(labels, seen.oracle), "."),
        "trees": [_tree(tree, seen, reading, labels, after) for tree in seen.trees],
    }


def _labels(reading: Reading, nodes: Sequence[Node]) -> tuple[list[Label], list[bytes]]:
    """Return the label of every node, and the unfinished character after it."""
    labels, pending = list[Label](), list[bytes]()
    for node in nodes:
        before = reading.pending[0] if node.parent < 0 else pending[node.parent]
        labels.append(reading.vocabulary.label(node.token, before))
        pending.append(reading.vocabulary.after(before, node.token))
    return labels, pending


def _rows(nodes: Sequence[Node]) -> tuple[dict[int, float], int]:
    """Return the row of every node, -1 the root, and how many rows there are.

    Siblings stand in the order of the draft's liking, whichever tree has them.
    """
    order = sorted(range(len(nodes)), key=lambda place: (-(nodes[place].q or 0.0), place))
    layout = place([(nodes[node].parent + 1, node + 1) for node in order])
    return {node - 1: row for node, row in layout.row.items()}, layout.rows


def _nodes(
    nodes: Sequence[Node], labels: Sequence[Label], row: Mapping[int, float]
) -> list[NodeView]:
    views: list[NodeView] = []
    for here, (node, label) in enumerate(zip(nodes, labels, strict=True)):
        above = views[node.parent] if node.parent >= 0 else None
        product = 1.0 if above is None else above["path_q"]
        views.append(
            {
                "parent": node.parent,
                "depth": 1 if above is None else above["depth"] + 1,
                "row": row[here],
                "label": label,
                "p": node.p,
                "q": node.q,
                "path_q": None if product is None or node.q is None else product * node.q,
                "p_text": probability(node.p),
                "q_text": optional(node.q),
            }
        )
    return views


def _tree(
    tree: Tree, seen: Trees, reading: Reading, labels: Sequence[Label], after: Sequence[bytes]
) -> TreeView:
    end = tree.accepted[-1] if tree.accepted else -1
    final = None if tree.final is None else reading.vocabulary.label(tree.final, after[end])
    size, kept = len(tree.nodes), len(tree.accepted)
    told = words(tree, seen, reading, labels, final)
    cost = (
        f"{count(tree.forwards, 'draft forward')}, {size + 1} tokens wide to verify; "
        f"{size - kept} of {count(size, 'node')} wasted"
    )
    return {
        "key": tree.shape,
        "name": NAMES[tree.shape],
        "idea": tree.idea,
        "nodes": list(tree.nodes),
        "states": [_state(tree, node) for node in tree.nodes],
        "reach": list(tree.reach),
        "reach_text": [probability(chance) for chance in tree.reach],
        "believed": tree.believed,
        "expected": tree.expected,
        "believed_text": tokens(tree.believed),
        "expected_text": tokens(tree.expected),
        "accepted": kept,
        "wasted": size - kept,
        "words": told,
        "cost": f"{cost}.",
        "alt": f"{NAMES[tree.shape]}: {plain(told)} {cost}.",
    }


def _state(tree: Tree, node: int) -> State:
    if node in tree.accepted:  # also where an earlier try of a token drawn twice failed
        return "accepted"
    return "rejected" if node in tree.rejected else "unreached"
