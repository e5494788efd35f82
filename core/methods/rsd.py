"""Recursive speculative decoding: draw a tree of distinct tokens, and try the siblings one by one
on what remains of p.

Children are drawn without replacement and kept in the order drawn. Each rejection takes the
sibling's draft law out of the target's, so that the next sibling is tested against what is left;
nothing of the target's law is lost.

Jeon et al.: Recursive Speculative Decoding: Accelerating LLM Inference via Sampling Without
Replacement, arXiv 2402.14160.

This is RSD-C, a constant number of children per level; the paper's RSD-S (stochastic beam search)
is not built. The tree (4, 2, 2), 28 nodes, is ours: the paper's tuned shapes were not available.
The drafter is chosen as in speculative sampling.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, method
from core.shapes.levels import Levels, node_count
from core.shapes.widths import Widths
from core.verify.rejection import RecursiveRejection


class Config(DraftModelConfig):
    tree: Widths = Field(
        (4, 2, 2), title="Tree", description="Children of every node, level by level"
    )

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "rsd",
    name="Recursive speculative decoding",
    paper="Jeon et al. 2024",
    url="https://arxiv.org/abs/2402.14160",
    year=2024,
    family="draft-centric: tree and graph",
    lossless=True,
    config=Config,
    parts=Parts("skip", "k_config", "rejection"),
    toy={"tree": [2, 1], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(model_drafter(config, models, Levels(config.tree)), RecursiveRejection())
