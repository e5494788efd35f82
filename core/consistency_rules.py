"""What must hold inside the records of block verification and of SpecTr's rules: columns of one
length, nodes and columns that exist, chances that add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.consistency_common import MAX_NODES
from core.extras import BlockExtras, Extras, KSeqExtras, KSeqNode, TransportExtras, TransportNode
from core.trace import Nodes

_MASS_TOLERANCE = 1e-2  # rows of rounded cells
_SIDE = 64  # most rows, and most columns, of a plan


def rule_problems(extra: Extras, nodes: Nodes) -> Iterator[str]:
    """Yield what is wrong with a block about one of these rules; nothing for other blocks."""
    if isinstance(extra, BlockExtras):
        yield from _ledger(extra, nodes)
    elif isinstance(extra, KSeqExtras):
        for found in extra.nodes:
            yield from _curves(found, nodes)
    elif isinstance(extra, TransportExtras):
        for found in extra.nodes:
            yield from _coupling(found, nodes)


def _ledger(extra: BlockExtras, nodes: Nodes) -> Iterator[str]:
    size = len(extra.node)
    columns = (extra.ratio, extra.joint, extra.left, extra.stays)
    if any(len(column) != size for column in columns):
        yield "extras, block: its columns differ in length."
    parent = 0
    for node in extra.node:
        if not (node < len(nodes.parent) and nodes.parent[node] == parent):
            yield f"extras, block: node {node} does not follow node {parent}, as it must."
            return
        parent = node
    if max(extra.kept, extra.kept_alone) > size:
        yield f"extras, block: more is kept than the {size} tokens of the draft."


def _curves(found: KSeqNode, nodes: Nodes) -> Iterator[str]:
    where = f"extras, k_seq at node {found.node}"
    yield from _exists(where, found, nodes)
    if not 1 <= len(found.grid) == len(found.reach) == len(found.spent):
        yield f"{where}: its curves are empty, or differ in length."
    if not 1 <= found.rho <= max(1, found.drafts):
        yield f"{where}: rho is {found.rho:g}; it lies between 1 and the number of drafts."


def _coupling(found: TransportNode, nodes: Nodes) -> Iterator[str]:
    where = f"extras, transport at node {found.node}"
    yield from _exists(where, found, nodes)
    width, rows = len(found.token), len(found.sets)
    if not (1 <= width <= _SIDE and 1 <= rows <= _SIDE):
        yield f"{where}: it has {rows} rows of {width} columns; 1 to {_SIDE} are allowed of each."
    if any(len(column) != width for column in (found.size, found.p, found.q)):
        yield f"{where}: its columns differ in length."
    if any(not 1 <= len(t) <= s for t, s in zip(found.token[:-1], found.size, strict=False)):
        yield f"{where}: a column but the last names no token, or more than its size."
    used = [column for row in found.sets for column in row]
    used += [] if found.free is None else [found.free]
    if any(column >= width for column in used) or found.drawn >= rows:
        yield f"{where}: a set names a column, or drawn a row, that does not exist."
    if any(len(column) != rows for column in (found.mass, found.by_plan, found.by_k_seq)):
        yield f"{where}: its rows differ in number."
        return
    for cells in (found.by_plan, found.by_k_seq):
        yield from _rows(where, found.mass, cells, width)


def _rows(
    where: str, mass: Sequence[float], cells: Sequence[Sequence[float]], width: int
) -> Iterator[str]:
    for total, row in zip(mass, cells, strict=True):
        if len(row) != width:
            yield f"{where}: a row has {len(row)} cells for {width} columns."
        if abs(sum(row) - total) > _MASS_TOLERANCE:
            yield f"{where}: a row adds up to {sum(row):.4g}, but its mass is {total:.4g}."


def _exists(where: str, found: KSeqNode | TransportNode, nodes: Nodes) -> Iterator[str]:
    if found.node >= len(nodes.token):
        yield f"{where}: there is no such node."
    if not 1 <= found.drafts <= MAX_NODES:
        yield f"{where}: there are {found.drafts:,} drafts; 1 to {MAX_NODES:,} are allowed."
