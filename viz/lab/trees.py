"""The trees of an X-ray as plain numbers: what the views are made from. See `core.lab.xray`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NAMES = {
    "sequoia": "Sequoia",
    "expansion": "SpecInfer",
    "static": "EAGLE-1",
    "eagle2": "EAGLE-2",
    "dyspec": "DySpec",
    "opt_tree": "OPT-Tree",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node of any tree, or of the target's own greedy text; `parent` -1 is the root."""

    token: int
    parent: int
    p: float
    q: float | None


@dataclass(frozen=True, slots=True)
class Tree:
    """One shape's tree over these nodes; see `core.lab.xray`. `idea` is one sentence."""

    shape: str
    idea: str
    nodes: Sequence[int]
    reach: Sequence[float]
    accepted: Sequence[int]
    rejected: Sequence[int]
    final: int | None
    believed: float
    expected: float
    forwards: int


@dataclass(frozen=True, slots=True)
class Trees:
    """All of it. `drafter`: who drafted, as in `DraftModelConfig`; `is_own`: it is that of the
    trace. `measured`: Sequoia's plan is for this drafter.
    """

    budget: int
    bounds: tuple[int, int]
    nodes: Sequence[Node]
    oracle: Sequence[int]
    trees: Sequence[Tree]
    drafter: str
    is_own: bool
    measured: bool
