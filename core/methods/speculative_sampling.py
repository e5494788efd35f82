"""Speculative sampling: a cheap model writes a few tokens, the target checks them all in one pass
and keeps a prefix.

Each drafted token x stays with probability min(1, p(x) / q(x)); the first that does not is replaced
by a draw from norm((p - q)+), and if all stay the target adds one of its own. The output law is the
target's, whatever the drafter.

Leviathan, Kalman, Matias: Fast Inference from Transformers via Speculative Decoding, ICML 2023,
arXiv 2211.17192. Chen et al.: Accelerating Large Language Model Decoding with Speculative Sampling,
arXiv 2302.01318.

The papers draft with a second model. Here the default drafter is the target itself without layers
12 and 18, on the target's own keys and values, so that the method runs on any single model; drafter
"model" is the papers' setting. The draft uses the target's temperature, top-k and top-p. Length 4
is Chen's; Leviathan sweeps 3 to 10. `confidence` and `schedule` are the stop rule and the lengths
of assisted decoding in transformers, off by default.
"""

from typing import Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.base import TreePolicy
from core.shapes.levels import Levels
from core.shapes.schedule import LONGEST, Scheduled
from core.shapes.stops import Confidence
from core.verify.rejection import RecursiveRejection


class Config(DraftModelConfig):
    length: int = Field(
        4, title="Draft length", description="Tokens drafted per round", ge=1, le=32
    )
    schedule: Literal["constant", "heuristic"] = Field(
        "constant",
        title="Schedule",
        description="heuristic: 2 longer after a draft kept whole, else 1 shorter",
    )
    confidence: float = Field(
        0.0,
        title="Stop below",
        description="Stop drafting once the drafter gave its token less than this; 0 = never",
        json_schema_extra={"labels": {"0": "never", "0.0": "never"}},
        ge=0,
        le=1,
    )

    def most_nodes(self) -> int:
        return self.length if self.schedule == "constant" else LONGEST


@method(
    "speculative_sampling",
    name="Speculative sampling",
    paper="Leviathan et al. 2023; Chen et al. 2023",
    url="https://arxiv.org/abs/2211.17192",
    year=2022,
    family="model-centric: independent drafter",
    lossless=True,
    config=Config,
    parts=Parts("skip", "chain", "rejection"),
    reported=(
        Reported(
            "75 %",
            "of tokens kept by one test",
            "T5-small drafts for T5-XXL, English to German, temperature 0",
        ),
        Reported("62 %", "of tokens kept by one test", "the same at temperature 1"),
        Reported(
            "74 %", "of tokens kept by one test", "LaMDA 8B drafts for LaMDA 137B, temperature 1"
        ),
    ),
    toy={"length": 2, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    stops = [Confidence(config.confidence)] if config.confidence else []
    shape: TreePolicy = Levels((1,) * config.length)
    if config.schedule == "heuristic":
        shape = Scheduled(config.length)
    return Decoder(model_drafter(config, models, shape, stops), RecursiveRejection())
