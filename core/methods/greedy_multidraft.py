"""Greedy draft sampling: of each node's drafts all but one are the likeliest tokens, the last is
drawn, and the rule keeps as many as any rule could.

Hu, Zheng, Viswanathan, Chen, Rossi, Wu, Manocha, Huang: Towards Optimal Multi-Draft Speculative
Decoding, arXiv 2502.18779, ICLR 2025.

The paper finds the largest acceptance that any rule can reach, as a minimum over sets of tokens,
and a way of drafting for which that is easy to reach. No code was published. The rule here is the
simplest that attains the optimum; the paper's own steps for drafts without replacement were not
available, so that its bounds are computed by a formula of ours (`core.bounds.race`), checked
against a linear program. With two drafts the acceptance is that of SpecHub, with one that of
speculative sampling.

Three drafts per node are the paper's. Every node gets as many, over a set number of levels: how the
paper spreads drafts over a tree was not available. The two levels, 12 nodes, are ours.
"""

from pydantic import Field, ValidationInfo, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, method
from core.shapes.levels import MAX_NODES, node_count
from core.shapes.top_and_one import COUNT, TopAndOne
from core.verify.greedy_draft import GreedyDraft


class Config(DraftModelConfig):
    drafts: int = Field(
        COUNT,
        title="Drafts per node",
        description="All but one are the drafter's likeliest tokens; the last is drawn",
        ge=1,
        le=16,
    )
    depth: int = Field(
        2,
        title="Depth",
        description="Levels of the tree; every node above the last has all its drafts",
        ge=1,
        le=12,
        validate_default=True,
    )

    @field_validator("depth")
    @classmethod
    def _is_bounded(cls, depth: int, info: ValidationInfo) -> int:
        drafts: int = info.data.get("drafts", 1)
        if (nodes := node_count((drafts,) * depth)) > MAX_NODES:
            told = f"{drafts} drafts per node make {nodes:,} nodes"
            raise ValueError(f"{told}, and {MAX_NODES} are allowed")
        return depth

    def most_nodes(self) -> int:
        return node_count((self.drafts,) * self.depth)


@method(
    "greedy_multidraft",
    name="Greedy draft sampling",
    paper="Hu et al. 2025",
    url="https://arxiv.org/abs/2502.18779",
    year=2025,
    family="verification",
    lossless=True,
    config=Config,
    parts=Parts("skip", "top_and_one", "greedy_draft"),
    toy={"drafts": 2, "depth": 1, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = TopAndOne(config.drafts, config.depth)
    return Decoder(model_drafter(config, models, shape), GreedyDraft())
