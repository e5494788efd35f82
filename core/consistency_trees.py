"""What must hold inside the record of how a ranked or given tree was made: columns of one length,
parents before children, and what was kept is a node of the round with the same token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.extras import Extras, OptTreeExtras, PoolExtras, StaticExtras
from core.trace import Nodes


def tree_problems(extra: Extras, nodes: Nodes) -> Iterator[str]:
    """Yield what is wrong with a block about a tree; nothing for other blocks."""
    if isinstance(extra, StaticExtras):
        yield from _ranks(extra, nodes)
    elif isinstance(extra, PoolExtras):
        yield from _pool(extra, nodes)
    elif isinstance(extra, OptTreeExtras):
        yield from _layers(extra, nodes)


def _ranks(extra: StaticExtras, nodes: Nodes) -> Iterator[str]:
    ranks = extra.ranks
    if len(ranks) != len(nodes.token):
        yield f"extras, static: there are {len(ranks)} paths for {len(nodes.token)} nodes."
        return
    if any(ranks[i][:-1] != ranks[p] for i, p in enumerate(nodes.parent) if i) or ranks[0]:
        yield "extras, static: a node's ranks do not go on where its parent's end, as they must."


def _pool(extra: PoolExtras, nodes: Nodes) -> Iterator[str]:
    where = "extras, pool"
    columns = (extra.parent, extra.step, extra.score, extra.frontier, extra.node)
    yield from _alike(where, extra.token, columns)
    if any(step >= len(extra.sizes) for step in extra.step):
        yield f"{where}: a candidate is of a step that was not made."
    if any(parent is not None and parent >= i for i, parent in enumerate(extra.parent)):
        yield f"{where}: a candidate stands before its parent."
    yield from _kept(where, extra.token, extra.node, nodes)


def _layers(extra: OptTreeExtras, nodes: Nodes) -> Iterator[str]:
    if len(extra.expected) > len(extra.layers):
        yield "extras, opt_tree: there are more values of E(A) than layers."
    above = 0
    for place, layer in enumerate(extra.layers):
        where = f"extras, opt_tree, layer {place + 1}"
        yield from _alike(where, layer.token, (layer.parent, layer.value, layer.node))
        if any(not _stands_below(parent, place, above) for parent in layer.parent):
            yield f"{where}: a candidate's parent is not in the layer before."
        yield from _kept(where, layer.token, layer.node, nodes)
        above = len(layer.token)


def _stands_below(parent: int | None, place: int, above: int) -> bool:
    return place == 0 if parent is None else place > 0 and parent < above


def _alike(
    where: str, column: Sequence[object], others: Sequence[Sequence[object]]
) -> Iterator[str]:
    if any(len(other) != len(column) for other in others):
        yield f"{where}: its columns differ in length."


def _kept(
    where: str, tokens: Sequence[int], kept: Sequence[int | None], nodes: Nodes
) -> Iterator[str]:
    for token, node in zip(tokens, kept, strict=False):
        if node is not None and not (0 < node < len(nodes.token) and nodes.token[node] == token):
            yield f"{where}: node {node}, which was kept, is no node of the round with its token."
