"""Offer the tree with the largest expected accepted length under the draft's own confidences, and
draft on only while a step adds enough to it.

p^ of a node is the product of confidences from the root down, and E(A) the sum of p^ over the tree.
Since p^ never grows along a path, the n largest are a tree, and the best one. A draft step has to
pay for itself: drafting ends once it adds no more than delta to E(A). Candidates are chosen, not
drawn: the rule for fixed drafts has the law of the paper's, which takes one token of the target and
follows it while it is a child.

Wang, Su, Li, Xia, Ye, Duan, Wang, Zhang: OPT-Tree: Speculative Decoding with Adaptive Draft Tree
Structure, arXiv 2406.17276.

The algorithm of the paper over any drafter, not its program: that judges every step one step late
and throws the last layer away (`lags` does so too), and lets nodes see their cousins, which is not
copied. The paper's n are 25, 50 and 60, of which 25 is the default here; delta .5 and depth 10 are
the program's. The paper finds delta .2 best for a small second model and .8 for a trained head: it
should lie between the cost of a draft step in target steps and 1. Nodes that can have no part in
the tree are not scored, which changes neither E(A) nor the tree.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.ranking import RankingConfig, ranking_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.opt_tree import OptTree
from core.verify.rejection import RecursiveRejection


class Config(RankingConfig):
    nodes: int = Field(
        25,
        title="Nodes n",
        description="Nodes offered to the target, the root not included",
        ge=1,
        le=256,
    )
    threshold: float = Field(
        0.5,
        title="Threshold delta",
        description="Draft on while a step adds more than this to the expected accepted length",
        ge=0,
        le=1,
    )
    depth: int = Field(
        10,
        title="Deepest level",
        description="Draft steps at most",
        ge=1,
        le=16,
    )
    lags: bool = Field(
        False,
        title="As released",
        description="Judge a step one step late, and draft the last layer in vain",
    )

    def most_nodes(self) -> int:
        return self.nodes


@method(
    "opt_tree",
    name="OPT-Tree",
    paper="Wang et al. 2024",
    url="https://arxiv.org/abs/2406.17276",
    year=2024,
    family="draft-centric: hybrid and adaptive",
    lossless=True,
    config=Config,
    parts=Parts("skip", "opt_tree", "rejection"),
    reported=(
        Reported(
            "2.58",
            "tokens per target pass",
            "LLaMA 68M drafts for LLaMA-2-7B, MT-bench, temperature 0; EAGLE-1's tree 2.47",
        ),
        Reported(
            "7.74", "tokens per target pass", "LLaMA-2-7B drafts for 70B, MT-bench, temperature 0"
        ),
    ),
    toy={"nodes": 4, "threshold": 0.2, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = OptTree(config.nodes, config.threshold, config.depth, config.lags, config.temperature)
    return Decoder(ranking_drafter(config, models, shape), RecursiveRejection())
