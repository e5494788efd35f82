"""The draft tree as an indented list of lines: for screen readers, terminals and plain text.

Branches that the walk never reached are counted, not listed.
"""

from __future__ import annotations

from viz.numbers import optional
from viz.payload import NodeState
from viz.reading import OWN, Reading
from viz.states import state_of
from viz.text import alone

GLYPHS: dict[NodeState, str] = {
    "root": "■",
    "accepted": "●",
    "relaxed": "◐",
    "rejected": "✕",
    "unreached": "○",
    "pruned": "▪",
    "probe": "▫",
    "correction": "◆",
    "bonus": "✚",
    "plain": "•",
}
_NAMES: dict[NodeState, str] = {"unreached": "not reached", "plain": "written by the target"}
_QUIET = frozenset({"unreached", "pruned", "probe"})


def outline(reading: Reading, whole: bool = False) -> list[str]:
    """Return one line per node, indented by depth; `whole` lists unreached branches as well."""
    return _branch(reading, 0, whole)


def _branch(reading: Reading, start: int, whole: bool) -> list[str]:
    """Walk without recursion: chains may be deep."""
    lines: list[str] = []
    stack: list[int | str] = [start]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        lines.append(_line(reading, item, whole))
        stack += reversed(_below(reading, item, whole))
    return lines


def _below(reading: Reading, node: int, whole: bool) -> list[int | str]:
    """Return what stands below a node: children to list, and a line for those that are counted."""
    if node == OWN:
        return []
    children = reading.children[node]
    own = [OWN] if reading.own is not None and node == reading.end else []
    if whole:
        return [*children, *own]
    if node not in reading.path():
        return []
    shown = [child for child in children if reading.state(child) not in _QUIET]
    hidden = sum(1 + _size(reading, child) for child in children if child not in shown)
    indent = "  " * (reading.depths[node] + 1)
    counted = [f"{indent}○ {hidden} not reached"] if hidden else []
    return [*shown, *own, *counted]


def _size(reading: Reading, node: int) -> int:
    """Return how many nodes stand below `node`."""
    found, stack = 0, list(reading.children[node])
    while stack:
        found += 1
        stack += reading.children[stack.pop()]
    return found


def _line(reading: Reading, node: int, whole: bool) -> str:
    state = state_of(reading, node)
    depth = 0 if node == 0 else reading.depths[reading.parent(node)] + 1
    place = reading.check_of.get(node)
    number = "" if place is None else f"{place + 1} "
    head = f"{'  ' * depth}{GLYPHS[state]} {number}{alone(reading.label(node))}"
    return ", ".join([head, *_facts(reading, node, state, whole)])


def _facts(reading: Reading, node: int, state: NodeState, whole: bool) -> list[str]:
    if node == 0:
        return []
    p, q = optional(reading.p(node)), optional(reading.q(node))
    facts = [_NAMES.get(state, state)]
    facts += [f"p {p}"] if p else []
    facts += [f"q {q}"] if q else []
    below = 0 if whole or node == OWN or node in reading.path() else _size(reading, node)
    return [*facts, f"{below} below not reached"] if below else facts
