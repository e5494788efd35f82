"""What must hold inside the record of how DySpec's slots were filled, and of Sequoia's plan."""

from __future__ import annotations

from collections.abc import Iterator

from core.extras import DySpecExtras, Extras, SequoiaExtras
from core.trace import Nodes

_MASS_TOLERANCE = 1e-3  # shares are rounded numbers


def plan_problems(extra: Extras, nodes: Nodes) -> Iterator[str]:
    """Yield what is wrong with a block about slots or a plan; nothing for other blocks."""
    if isinstance(extra, DySpecExtras):
        yield from _slots(extra, nodes)
    elif isinstance(extra, SequoiaExtras):
        yield from _plan(extra)


def _slots(extra: DySpecExtras, nodes: Nodes) -> Iterator[str]:
    filled = (extra.node, extra.parent, extra.rank, extra.value, extra.forward)
    still_open = (extra.open_parent, extra.open_rank, extra.open_value)
    if any(len({len(column) for column in columns}) > 1 for columns in (filled, still_open)):
        yield "extras, dyspec: its columns differ in length."
        return
    if extra.budget < 1:
        yield "extras, dyspec: the budget is 0; at least one node may be drafted."
    if len(set(extra.node)) < len(extra.node):
        yield "extras, dyspec: a node fills two slots."
    size = len(nodes.parent)
    for node, parent in zip(extra.node, extra.parent, strict=True):
        if not (0 < node < size and nodes.parent[node] == parent):
            yield f"extras, dyspec: node {node} is no child of node {parent} in the round."
    if any(parent >= size for parent in extra.open_parent):
        yield f"extras, dyspec: an open slot is below a node outside 0 to {size - 1}."


def _plan(extra: SequoiaExtras) -> Iterator[str]:
    if len(extra.tree_parent) != len(extra.tree_rank):
        yield "extras, sequoia: its columns differ in length."
    if any(parent > place for place, parent in enumerate(extra.tree_parent)):
        yield "extras, sequoia: a parent must come before its child."
    if any(rank >= len(extra.acceptance) for rank in extra.tree_rank):
        yield "extras, sequoia: a node has a rank without an acceptance."
    if sum(extra.acceptance) > 1 + _MASS_TOLERANCE:
        yield f"extras, sequoia: the acceptance adds up to {sum(extra.acceptance):.4g}, above 1."
