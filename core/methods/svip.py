"""SVIP: the drafter stops by itself once it grew unsure, measured by the entropy of its own law.

Acceptance at a position has a lower bound that depends, roughly, on the drafter's entropy alone, so
that a draft can end where the next tokens would likely be refused. The token whose law was too
uncertain stays in the draft. Verification is that of speculative sampling.

Zhang, Xu, Liang, Chen, He, Wang, Tu: Draft Model Knows When to Stop: A Self-Verification Length
Policy for Speculative Decoding, arXiv 2411.18462.

The paper tunes a threshold h between 0.2 and 0.5 on sqrt(H), with 0.3 as its default; the released
code stops at sqrt(0.15 H) > 0.3, which is another number: H > 0.6 nats instead of 0.09. The code's
reading is the default here, reading "paper" sets the factor of H to 1, and reading "own" takes any
other, as the 0.18 of the paper's figure. At most 40 tokens, as published; the drafter is chosen as
in speculative sampling.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.entropy import EntropyStop
from core.shapes.levels import Levels
from core.verify.rejection import RecursiveRejection

SCALE = {"code": 0.15, "paper": 1.0}


class Config(DraftModelConfig):
    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DraftModelConfig.only_with,
        "factor": ("reading", "own"),
    }

    reading: Literal["code", "paper", "own"] = Field(
        "code",
        title="Reading",
        description="code: stop at sqrt(0.15 H) above the threshold; paper: at sqrt(H) above it; "
        "own: at sqrt(factor x H) above it",
    )
    factor: float = Field(
        0.18, title="Factor", description="What H is multiplied by, with reading own", gt=0, le=4
    )
    threshold: float = Field(
        0.3, title="Threshold", description="Lower stops earlier; 0 stops at once", ge=0, le=4
    )
    length: int = Field(
        40, title="Longest draft", description="Tokens drafted per round at most", ge=1, le=40
    )

    @property
    def scale(self) -> float:
        """What the entropy is multiplied by."""
        return self.factor if self.reading == "own" else SCALE[self.reading]

    def most_nodes(self) -> int:
        return self.length


@method(
    "svip",
    name="SVIP",
    paper="Zhang et al. 2024",
    url="https://arxiv.org/abs/2411.18462",
    year=2024,
    family="draft-centric: hybrid and adaptive",
    lossless=True,
    config=Config,
    parts=Parts("skip", "chain", "rejection", stop="entropy"),
    reported=(Reported("up to 20 %", "faster than a fixed draft length", "Spec-Bench"),),
    toy={"length": 2, "drafter": "model", "threshold": 0.35},
)
def build(config: Config, models: Models) -> Decoder:
    stop = EntropyStop(config.scale, config.threshold)
    shape = Levels((1,) * config.length)
    return Decoder(model_drafter(config, models, shape, [stop]), RecursiveRejection())
