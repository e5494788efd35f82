"""Rows of a tree, as few as keep the nodes of each depth a row apart. Knows no pixels.

After Reingold and Tilford, Tidier Drawings of Trees (1981): subtrees stand as close as their edges
allow, siblings in order, a parent midway between its first and last child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class _Outline:
    """The first and last row of subtrees at each depth, the deepest depth first, all without
    `base`, so that they move in one step.
    """

    first: list[float]
    last: list[float]
    base: float = 0.0


def tidy(children: Sequence[Sequence[int]]) -> list[float]:
    """Return the row of each node, the first row 0; node 0 is the root, parents precede children.

    Nodes that no parent lists are left out: they have row 0.
    """
    below_parent = [0.0] * len(children)
    outlines: dict[int, _Outline] = {}
    for node in reversed(range(len(children))):
        below = [outlines.pop(child) for child in children[node]]
        if not below:
            outlines[node] = _Outline([0.0], [0.0])
            continue
        joined, shifts = below[0], [0.0]
        for outline in below[1:]:
            joined, shift = _joined(joined, outline)
            shifts.append(shift)
        own = shifts[-1] / 2
        for child, shift in zip(children[node], shifts, strict=True):
            below_parent[child] = shift - own
        joined.base -= own
        joined.first.append(-joined.base)
        joined.last.append(-joined.base)
        outlines[node] = joined
    return _from_the_top(children, below_parent)


def _joined(left: _Outline, right: _Outline) -> tuple[_Outline, float]:
    """Shift `right` below `left`, as little as it takes; return both as one, and the shift."""
    depths = range(1, 1 + min(len(left.last), len(right.last)))
    shift = max(1 + left.last[-d] + left.base - right.first[-d] - right.base for d in depths)
    right.base += shift
    if len(left.last) >= len(right.last):
        for d in depths:
            left.last[-d] = right.last[-d] + right.base - left.base
        return left, shift
    for d in depths:
        right.first[-d] = left.first[-d] + left.base - right.base
    return right, shift


def _from_the_top(children: Sequence[Sequence[int]], below: Sequence[float]) -> list[float]:
    rows, order = [0.0] * len(children), [0]
    for node in order:
        for child in children[node]:
            rows[child] = rows[node] + below[child]
            order.append(child)
    top = min(rows[node] for node in order)
    for node in order:
        rows[node] -= top
    return rows
