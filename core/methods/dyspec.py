"""DySpec: let the draft's own confidence shape the tree: each next node goes where it is likeliest
to be tried.

Every open slot of the tree has a value: the product of the draft probabilities on the way to it,
times the mass that earlier siblings left. The best slot is filled by a draw, which opens two more.
Since a value is known before its token, the output law stays the target's; siblings are verified by
recursive rejection without replacement.

Xiong, Zhang, Li, Wu, Zou: DySpec: Faster Speculative Decoding with Dynamic Token Tree Structure,
arXiv 2410.11744, WWW 2025.

No code was published: this follows the paper, with two slips of its text put right (the threshold
loop goes on while a value is at least C, and the accept test draws from the uniform law).

The paper's trees have 64 nodes (heap) and up to 768 (threshold .001), for targets that are a
hundred to a thousand times their drafter. Here the default is 16 nodes and 256 the most: verifying
with a small target on a CPU gets dear with the width, and the default drafter is most of the
target. The threshold is one over the budget where none is given, as the paper has it. The paper
drafts at temperature .6 whatever the target's is: set the draft temperature for that; left empty it
is the target's. The depth-first order of nodes, which makes the paper's masks sparse in blocks, is
not built.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.dyspec import MAX_NODES, DySpec
from core.verify.rejection import RecursiveRejection


class Config(DraftModelConfig):
    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DraftModelConfig.only_with,
        "threshold": ("variant", "threshold"),
    }

    variant: Literal["heap", "threshold"] = Field(
        "heap",
        title="Variant",
        description="heap: the best slot of all, one after another; threshold: layer by layer, "
        "every slot above a value, with one forward of the drafter per layer",
    )
    budget: int = Field(
        16, title="Node budget", description="Most tokens drafted per round", ge=1, le=MAX_NODES
    )
    threshold: float | None = Field(
        None,
        title="Threshold",
        description="Least value of a slot that is filled; empty: one over the node budget",
        gt=0,
        le=1,
    )

    @property
    def least(self) -> float | None:
        """Least value of a filled slot, None in the heap variant."""
        if self.variant == "heap":
            return None
        return 1 / self.budget if self.threshold is None else self.threshold

    def most_nodes(self) -> int:
        return self.budget


@method(
    "dyspec",
    name="DySpec",
    paper="Xiong et al. 2024",
    url="https://arxiv.org/abs/2410.11744",
    year=2024,
    family="draft-centric: tree and graph",
    lossless=True,
    config=Config,
    parts=Parts("skip", "dyspec", "rejection"),
    reported=(
        Reported(
            "5.25",
            "tokens per target pass",
            "LLaMA 68M drafts for 7B, C4, temperature 0, 64 nodes; Sequoia 4.99",
        ),
        Reported(
            "9.10",
            "tokens per target pass",
            "LLaMA 7B drafts for 70B, C4, temperature 0; Sequoia 6.08",
        ),
    ),
    toy={"budget": 2, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = DySpec(config.budget, config.least)
    return Decoder(model_drafter(config, models, shape), RecursiveRejection())
