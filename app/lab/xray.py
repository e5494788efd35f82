"""The tool that grows six trees at one place: the question to the models, and its answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, cast

from app.lab.orders import LabOrder, XrayOrder
from app.studio import Found
from core.trace import Trace
from viz.lab.trees import Node, Tree, Trees
from viz.lab.xray import xray

if TYPE_CHECKING:
    from core.lab.xray import Xray
    from core.run import Engine


def xray_key(order: LabOrder) -> Hashable:
    return ("xray", order.trace, order.round, cast("XrayOrder", order).budget)


def ask_xray(engine: Engine, trace: Trace, order: LabOrder) -> Xray:
    from core.lab.xray import xray as grown  # late: it brings torch

    return grown(engine, trace, order.round, cast("XrayOrder", order).budget)


def tell_xray(known: object, found: Found, order: LabOrder) -> Mapping[str, object]:
    from core.lab.xray import LEAST, MOST
    from core.parts import shapes

    seen = cast("Xray", known)
    trees = [
        Tree(
            tree.shape,
            shapes()[tree.shape].idea,
            tree.nodes,
            tree.reach,
            tree.accepted,
            tree.rejected,
            tree.final,
            tree.believed,
            tree.expected,
            tree.forwards,
        )
        for tree in seen.trees
    ]
    shown = Trees(
        seen.budget,
        (LEAST, MOST),
        [Node(node.token, node.parent, node.p, node.q) for node in seen.nodes],
        seen.oracle,
        trees,
        seen.drafter.name,
        seen.drafter.is_own,
        seen.drafter.measured,
    )
    return {"xray": xray(found.trace, order.round, shown, seen.named, seen.special)}
