"""What must hold inside the record of how a ranked or given tree was made: columns of one length,
parents before children, and what was kept is a node of the round with the same token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from core.consistency_common import MASS_TOLERANCE, MAX_NODES
from core.extras import Extras, OptTreeExtras, PoolExtras, StaticExtras
from core.trace import Nodes

_DEEPEST = 64  # levels of a tree given ahead


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
    deepest = max(map(len, ranks))
    if deepest > _DEEPEST:
        yield f"extras, static: a path has {deepest:,} ranks; {_DEEPEST} are allowed."
    if any(not _goes_on(ranks[i], ranks[p]) for i, p in enumerate(nodes.parent) if i) or ranks[0]:
        yield "extras, static: a node's ranks do not go on where its parent's end, as they must."
    if extra.planned < len(ranks) - 1:
        yield f"extras, static: {extra.planned} nodes were planned, but {len(ranks) - 1} are there."


def _goes_on(ranks: Sequence[int], above: Sequence[int]) -> bool:
    return len(ranks) == len(above) + 1 and ranks[:-1] == above


def _pool(extra: PoolExtras, nodes: Nodes) -> Iterator[str]:
    where = "extras, pool"
    columns = (extra.parent, extra.step, extra.score, extra.frontier, extra.node)
    if any(len(column) != len(extra.token) for column in columns):
        yield f"{where}: its columns differ in length."
        return
    if any(step >= len(extra.sizes) for step in extra.step):
        yield f"{where}: a candidate is of a step that was not made."
    listed = Counter(extra.step)
    if any(listed[step] > size for step, size in enumerate(extra.sizes)):
        yield f"{where}: more candidates of a step are listed than were seen."
    for place, parent in enumerate(extra.parent):
        if parent is not None and parent >= place:
            yield f"{where}: a candidate stands before its parent."
        elif extra.step[place] != (0 if parent is None else extra.step[parent] + 1):
            yield f"{where}: a candidate's parent is not of the step before."
    yield from _kept(where, extra.token, extra.node, nodes)


def _layers(extra: OptTreeExtras, nodes: Nodes) -> Iterator[str]:
    layers, judged = len(extra.layers), len(extra.expected)
    if judged != layers and not (extra.lags and 1 <= judged == layers - 1):
        yield f"extras, opt_tree: there are {judged} values of E(A) for {layers} layers."
    if extra.budget > MAX_NODES:
        yield f"extras, opt_tree: the budget is {extra.budget:,}; {MAX_NODES:,} are allowed."
    for value in (*extra.expected, extra.threshold):
        if value > extra.budget + MASS_TOLERANCE:
            yield f"extras, opt_tree: E(A) and its threshold are at most the budget, not {value:g}."
    above = 0
    for place, layer in enumerate(extra.layers):
        where = f"extras, opt_tree, layer {place + 1}"
        if not len(layer.token) == len(layer.parent) == len(layer.value) == len(layer.node):
            yield f"{where}: its columns differ in length."
        if any(not _stands_below(parent, place, above) for parent in layer.parent):
            yield f"{where}: a candidate's parent is not in the layer before."
        yield from _kept(where, layer.token, layer.node, nodes)
        above = len(layer.token)


def _stands_below(parent: int | None, place: int, above: int) -> bool:
    return place == 0 if parent is None else place > 0 and parent < above


def _kept(
    where: str, tokens: Sequence[int], kept: Sequence[int | None], nodes: Nodes
) -> Iterator[str]:
    for token, node in zip(tokens, kept, strict=False):
        if node is not None and not (0 < node < len(nodes.token) and nodes.token[node] == token):
            yield f"{where}: node {node}, which was kept, is no node of the round with its token."
