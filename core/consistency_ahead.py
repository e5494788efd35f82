"""What must hold inside the records of heads that look ahead, and of the tree made for them."""

from __future__ import annotations

from collections.abc import Iterator

from core.consistency_common import masses, once
from core.extras import AccuracyTreeExtras, Extras, GroundedExtras, LookaheadExtras
from core.trace import Nodes


def ahead_problems(extra: Extras, nodes: Nodes) -> Iterator[str]:
    """Yield what is wrong with a block of Medusa or Hydra; nothing for other blocks."""
    if isinstance(extra, LookaheadExtras):
        for number, head in enumerate(extra.heads, start=1):
            where = f"extras, lookahead, head {number}"
            yield from masses(where, head.token, head.q, 0.0)
            yield from once(where, head.token)
            if not head.token:
                yield f"{where}: it names no token."
    elif isinstance(extra, GroundedExtras):
        yield from _grounded(extra, len(nodes.token))
    elif isinstance(extra, AccuracyTreeExtras):
        yield from _tree(extra)


def _grounded(extra: GroundedExtras, size: int) -> Iterator[str]:
    where = "extras, grounded"
    named = [hidden.node for hidden in extra.nodes]
    if len(set(named)) < len(named):
        yield f"{where}: a node stands there twice."
    for hidden in extra.nodes:
        if hidden.node >= size:
            yield f"{where}: node {hidden.node} is outside 0 to {size - 1}."
        yield from masses(where, hidden.token, hidden.q, 0.0)
        yield from once(where, hidden.token)


def _tree(extra: AccuracyTreeExtras) -> Iterator[str]:
    where = "extras, accuracy_tree"
    parents, ranks = extra.tree_parent, extra.tree_rank
    if not len(parents) == len(ranks) == len(extra.value):
        yield f"{where}: its columns differ in length."
        return
    depths = [0]
    for place, (parent, rank) in enumerate(zip(parents, ranks, strict=True)):
        if parent > place:
            yield f"{where}: a parent must come before its child."
            return
        depths.append(depths[parent] + 1)
        if depths[-1] > len(extra.accuracy) or rank >= len(extra.accuracy[depths[-1] - 1]):
            yield f"{where}: a node has a rank without an accuracy."
            return
    if len(set(zip(parents, ranks, strict=True))) < len(parents):
        yield f"{where}: two nodes have one place."
