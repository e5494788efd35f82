"""Where the nodes of a draft tree stand: rows and depths, no pixels.

Every leaf has a row of its own, in the order tried, the first on top; a parent is midway between
its first and last child. The target's own token is the last child of the node where the walk ended,
so that it never sits on a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from viz.reading import OWN, Reading


@dataclass(frozen=True, slots=True)
class Layout:
    """Row of every node, `OWN` included; row 0 is the first."""

    row: dict[int, float]
    rows: int


def lay_out(reading: Reading) -> Layout:
    """Place the tree of a round."""
    edges = [(node, child) for node, children in enumerate(reading.children) for child in children]
    if reading.own is not None:
        edges.append((reading.end, OWN))
    return place(edges)


def place(edges: Sequence[tuple[int, int]]) -> Layout:
    """Place a tree with root 0; the edges of one parent stand in the order tried."""
    tree: nx.DiGraph[int] = nx.DiGraph()
    tree.add_node(0)
    tree.add_edges_from(edges)
    row: dict[int, float] = {}
    leaves = 0
    for node in nx.dfs_postorder_nodes(tree, 0):
        children = list(tree.successors(node))
        if children:
            row[node] = (row[children[0]] + row[children[-1]]) / 2
        else:
            row[node] = float(leaves)
            leaves += 1
    return Layout(row, leaves)
