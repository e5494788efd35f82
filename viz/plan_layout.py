"""A planned tree on rows: the first child on top, a row per leaf, a parent in the middle of its
children. Says which node of a round fills which place of the plan; draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.extras import AccuracyTreeExtras, SequoiaExtras
from viz.reading import Reading


@dataclass(frozen=True, slots=True)
class Plan:
    """Columns per node, the root first: parent, place among the siblings, depth, y (downwards below
    0); `rows` that the leaves fill.
    """

    parents: list[int]
    ranks: list[int]
    depths: list[int]
    y: list[float]
    rows: int

    @property
    def nodes(self) -> range:
        """All nodes but the root."""
        return range(1, len(self.parents))


def laid_out(extra: SequoiaExtras | AccuracyTreeExtras) -> Plan:
    """Return the plan with its place on the page."""
    parents, ranks = [-1, *extra.tree_parent], [0, *extra.tree_rank]
    children: list[list[int]] = [[] for _ in parents]
    depths = [0]
    for node, parent in enumerate(parents[1:], start=1):
        children[parent].append(node)
        depths.append(depths[parent] + 1)
    y, rows = [0.0] * len(parents), 0
    for node in _leaves(children):
        y[node] = -float(rows)
        rows += 1
    for node in reversed(range(len(parents))):
        if children[node]:
            y[node] = (y[children[node][0]] + y[children[node][-1]]) / 2
    return Plan(parents, ranks, depths, y, rows)


def filled(reading: Reading, plan: Plan) -> dict[int, int]:
    """Return the node of the round at each node of the plan; a plan cut short has fewer."""
    nodes = reading.round.nodes
    there = {(nodes.parent[n], nodes.rank[n]): n for n in range(1, reading.size)}
    found = {0: 0}
    for node in plan.nodes:
        key = found.get(plan.parents[node], -1), plan.ranks[node]
        if key in there:
            found[node] = there[key]
    return found


def _leaves(children: list[list[int]]) -> Iterator[int]:
    """Yield the nodes without children, from the top."""
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if not children[node]:
            yield node
        waiting += reversed(children[node])
