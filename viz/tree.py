"""The draft tree of a round as nodes with a place, a state and their numbers. Decides no pixel."""

from __future__ import annotations

from core.trace import Round
from viz.layout import Layout
from viz.numbers import optional
from viz.payload import Depth, TreeNode
from viz.reading import OWN, Reading
from viz.sentence import named
from viz.states import state_of

_OWN_NOTES = {
    "bonus": "one more, for free",
    "plain": "nothing drafted",
    "correction": "correction",
    "none": "",
}


def tree_nodes(reading: Reading, layout: Layout) -> list[TreeNode]:
    """Return the nodes by id, the target's own token last."""
    ids = [*range(reading.size), *([OWN] if reading.own is not None else [])]
    path = reading.path() | {OWN}
    return [_node(reading, layout, node, node in path) for node in ids]


def _node(reading: Reading, layout: Layout, node: int, on_path: bool) -> TreeNode:
    place = reading.check_of.get(node)
    state = state_of(reading, node)
    p, q = reading.p(node), reading.q(node)
    parent = reading.parent(node)
    return {
        "id": node,
        "parent": parent,
        "depth": reading.depths[parent] + 1 if node else 0,
        "row": layout.row[node],
        "label": reading.label(node),
        "state": state,
        "tested": place is not None or state in ("accepted", "relaxed", "rejected"),
        "dart": None if place is None else place + 1,
        "p": p,
        "q": q,
        "p_text": optional(p),
        "q_text": "chosen" if reading.is_chosen(node) else optional(q),
        "path": on_path,
        "words": spoken(reading, node),
    }


def depth_heads(reading: Reading) -> list[Depth]:
    """Return the column heads, that over the root first."""
    heads: list[Depth] = [{"head": "Text so far", "note": ""}]
    deepest = max(reading.depths)
    heads += [_head(d, _counts(reading, d)) for d in range(1, deepest + 1)]
    if reading.own is not None and reading.depths[reading.end] == deepest:
        heads.append(_head(deepest + 1, _OWN_NOTES[reading.round.outcome.origin]))
    return heads


def _head(depth: int, note: str) -> Depth:
    return {"head": f"Depth {depth}", "note": note}


def _counts(reading: Reading, depth: int) -> str:
    nodes = [node for node, d in enumerate(reading.depths) if d == depth]
    kinds = [_kind(reading.round, node) for node in nodes]
    tested = sum(node in reading.check_of for node in nodes)
    parts = [f"{kinds.count('drafted')} drafted", f"{tested} tested"]
    parts += [f"{kinds.count(kind)} {kind}" for kind in ("pruned", "probe") if kind in kinds]
    return ", ".join(parts)


def _kind(r: Round, node: int) -> str:
    if r.nodes.role[node] == "probe":
        return "probe"
    return "pruned" if r.nodes.state[node] == "pruned" else "drafted"


def spoken(reading: Reading, node: int) -> str:
    """Return one sentence on a node for screen readers and titles."""
    label, depth = (
        named(reading.label(node)),
        reading.depths[reading.parent(node)] + 1 if node else 0,
    )
    state = (
        {"unreached": "not reached"}.get(reading.state(node), reading.state(node))
        if node != OWN
        else ""
    )
    if node == OWN:
        state = {"plain": "written by the target"}.get(
            reading.round.outcome.origin, reading.round.outcome.origin
        )
    if node == 0:
        return f"Text so far, ending with {label}."
    p, q = optional(reading.p(node)), optional(reading.q(node))
    numbers = [f"target {p}"] if p else []
    if reading.is_chosen(node):
        numbers.append("chosen by the draft, not drawn")
    elif q:
        numbers.append(f"draft {q}")
    told = ", ".join([f"{label}, depth {depth}, {state}", *numbers])
    place = reading.check_of.get(node)
    return (
        f"{told}."
        if place is None
        else f"{told}, {'check' if reading.greedy else 'dart'} {place + 1}."
    )
