"""Settings of the methods whose tree is made ahead from how often their own heads were right."""

from __future__ import annotations

from pydantic import Field

from core.drafters.choice import HeadConfig
from core.heads.accuracy import Ahead
from core.registry import Models
from core.shapes.accuracy_tree import MOST_NODES, AccuracyTree


class PlannedConfig(HeadConfig):
    """`nodes` of the tree, beside the choice of weights."""

    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Of the heads' laws as they are shown; their likeliest tokens are the same",
        json_schema_extra={"labels": {"": "as the target"}},
        ge=0,
        le=2,
    )
    nodes: int = Field(
        16,
        title="Nodes",
        description="Nodes of the tree, the root not included; the paper has 63",
        ge=1,
        le=MOST_NODES,
    )

    def most_nodes(self) -> int:
        return self.nodes


def planned_tree(config: PlannedConfig, models: Models) -> AccuracyTree:
    """Return the tree for the heads that `config` names; raise ValueError where there are none."""
    heads = models.heads(config.kind, config.weights)
    if not isinstance(heads, Ahead):
        raise TypeError(f"{config.kind} heads see a fixed number of tokens ahead")
    return AccuracyTree.of(heads.accuracy, heads.ahead, config.nodes)
