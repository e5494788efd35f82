"""Leave the target early twice: draft with its first layers and a small adapter, and stop drafting
as soon as the adapter is unsure.

The adapter stands for all layers after the exit. Verification goes on from the states that drafting
has computed, so that no layer runs twice on a token that stays. The token that fell below the
threshold is checked as well; drafting ends behind it. Nobody asks what follows the last token of a
draft, so that its early layers run with the verify call.

Liu, Tang, Liu, Ni, Han, Wang: Kangaroo: Lossless Self-Speculative Decoding via Double Early
Exiting, NeurIPS 2024, arXiv 2404.18911.

Threshold 0.6 and 6 steps are those of the released command (0.4 is the script's own default). The
released code is greedy; above temperature 0 tokens are drawn from the adapter's law here and
checked as in speculative sampling, which is exact. The exit is that of the weights: the paper has 2
of 32 layers, ours was chosen by measurement, and the head is cut to the commonest tokens.
"""

from typing import ClassVar

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import HeadConfig, model_drafter
from core.heads.kangaroo import KIND
from core.registry import Models, Parts, Reported, method
from core.shapes.levels import Levels
from core.shapes.stops import Confidence
from core.verify.rejection import RecursiveRejection


class Config(HeadConfig):
    kind: ClassVar[str] = KIND

    length: int = Field(6, title="Most tokens", description="Drafted per round", ge=1, le=16)
    threshold: float = Field(
        0.6,
        title="Threshold",
        description="Stop behind a token to which the adapter gave less than this; 0 = never",
        json_schema_extra={"labels": {"0": "never", "0.0": "never"}},
        ge=0,
        le=1,
    )

    def most_nodes(self) -> int:
        return self.length


@method(
    KIND,
    name="Kangaroo",
    paper="Liu et al. 2024",
    url="https://arxiv.org/abs/2404.18911",
    year=2024,
    family="model-centric: dependent drafter",
    lossless=True,
    config=Config,
    parts=Parts("kangaroo", "chain", "rejection", stop="confidence"),
    trained="adapter",
    reported=(
        Reported("up to 1.68×", "the speed of plain decoding", "Spec-Bench"),
        Reported(
            "67 million", "parameters in the adapter; Medusa's heads have 591 million", "Vicuna-7B"
        ),
    ),
    toy={"length": 2, "threshold": 0.45},
)
def build(config: Config, models: Models) -> Decoder:
    stops = [Confidence(config.threshold)] if config.threshold else []
    drafter = model_drafter(config, models, Levels((1,) * config.length), stops)
    return Decoder(drafter, RecursiveRejection())
