"""Draft with Medusa's heads and keep every candidate that the target finds typical, as the paper
does above temperature 0; the target's exact law is given up for it.

A token passes when p(x) exceeds min(epsilon, delta exp(-H)), H the entropy of the target's law
there; the longest run of tokens that pass is kept, and the target's favourite comes after it. No
chance is involved. At temperature 0 this is greedy matching, as in `medusa`.

Cai, Li, Geng, Peng, Lee, Chen, Dao: Medusa: Simple LLM Inference Acceleration Framework with
Multiple Decoding Heads, ICML 2024, arXiv 2401.10774.

Epsilon 0.09 and delta 0.3 are as published. Tree and heads are those of `medusa`;
`typical_acceptance` has the same rule over any drafter, and what of it is ours is told there.
"""

from typing import ClassVar

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import model_drafter
from core.drafters.planned import PlannedConfig, planned_tree
from core.heads.medusa import KIND
from core.registry import Models, Parts, method
from core.verify.typical import TypicalAcceptance


class Config(PlannedConfig):
    kind: ClassVar[str] = KIND

    epsilon: float = Field(
        0.09,
        title="Epsilon",
        description="A token with more than this passes, whatever the entropy",
        gt=0,
        lt=1,
    )
    delta: float = Field(
        0.3,
        title="Delta",
        description="Where the target is unsure, a token with more than delta exp(-entropy) passes",
        gt=0,
        le=1,
    )


@method(
    "medusa_typical",
    name="Medusa, typical acceptance",
    paper="Cai et al. 2024",
    url="https://arxiv.org/abs/2401.10774",
    year=2024,
    family="verification",
    lossless=False,
    config=Config,
    parts=Parts("medusa", "accuracy_tree", "typical"),
    trained="heads",
    toy={"nodes": 4},
)
def build(config: Config, models: Models) -> Decoder:
    drafter = model_drafter(config, models, planned_tree(config, models))
    return Decoder(drafter, TypicalAcceptance(config.epsilon, config.delta))
