"""SpecInfer: grow a token tree by an expansion config and verify all its branches in one pass, by
multi-step speculative sampling.

The expansion config says how many children each level gets. Above temperature 0 they are drawn
independently, and a node tries them one by one, each against what the misses before it left of the
target's law (recursive rejection with replacement); at temperature 0 they are the likeliest tokens,
and the walk goes where the target's favourite is among them.

Miao et al.: SpecInfer: Accelerating Large Language Model Serving with Tree-based Speculative
Inference and Verification, ASPLOS 2024, arXiv 2305.09781; expansion config of its experiments
(1, 1, 3, 1, 1, 1, 1, 1), 20 nodes.

Deviations: this is the expansion-based tree. The merge-based one, which joins the sequences of
several small models tuned to complement each other, is not built. The paper visits siblings in
random order; here it is the order drawn, which has the same law, since independent draws are
exchangeable. A token drawn twice is one node, tried twice. The drafter is chosen as in speculative
sampling; the paper's are small models of their own.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, method
from core.shapes.levels import EXPANSION, Levels, node_count
from core.shapes.widths import Widths
from core.tree import Sampling
from core.verify.rejection import WITH_REPLACEMENT


class Config(DraftModelConfig):
    tree: Widths = Field(
        EXPANSION,
        title="Expansion config",
        description="Children of every node, level by level",
    )

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "specinfer",
    name="SpecInfer",
    paper="Miao et al. 2023",
    url="https://arxiv.org/abs/2305.09781",
    year=2023,
    family="tree drafting",
    lossless=True,
    config=Config,
    toy={"tree": [1, 2], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = Levels(config.tree, Sampling.INDEPENDENT)
    return Decoder(model_drafter(config, models, shape), WITH_REPLACEMENT)
