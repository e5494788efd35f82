"""Recursive speculative decoding: draw a tree of distinct tokens, and try the siblings one by one
on what remains of p.

Children are drawn without replacement and kept in the order drawn. Each rejection takes the
sibling's draft law out of the target's, so that the next sibling is tested against what is left;
nothing of the target's law is lost.

Jeon et al.: Recursive Speculative Decoding: Accelerating LLM Inference via Sampling Without
Replacement, arXiv 2402.14160. This is RSD-C, a constant number of children per level; the paper's
RSD-S (stochastic beam search) is not built. The tree (4, 2, 2), 28 nodes, is ours: the paper's
tuned shapes were not available. The drafter is chosen as in speculative sampling.
"""

from typing import Annotated

from pydantic import Field, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, method
from core.shapes.levels import MAX_NODES, Levels, node_count
from core.verify.rejection import RecursiveRejection

Width = Annotated[int, Field(ge=1, le=16)]


class Config(DraftModelConfig):
    tree: tuple[Width, ...] = Field(
        (4, 2, 2),
        title="Tree",
        description="Children of every node, level by level",
        min_length=1,
        max_length=12,
    )

    @field_validator("tree")
    @classmethod
    def _is_bounded(cls, tree: tuple[int, ...]) -> tuple[int, ...]:
        if (nodes := node_count(tree)) > MAX_NODES:
            raise ValueError(f"it would have {nodes:,} nodes, and {MAX_NODES} are allowed")
        return tree

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "rsd",
    name="Recursive speculative decoding",
    paper="Jeon et al. 2024",
    url="https://arxiv.org/abs/2402.14160",
    year=2024,
    family="tree drafting",
    lossless=True,
    config=Config,
    toy={"tree": [2, 1], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(model_drafter(config, models, Levels(config.tree)), RecursiveRejection())
