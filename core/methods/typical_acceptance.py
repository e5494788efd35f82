"""Typical acceptance: keep every candidate that the target finds typical, and give up the target's
exact law for it.

A tree of the drafter's likeliest tokens is scored in one pass. A token passes when p(x) exceeds
min(epsilon, delta exp(-H)), H the entropy of the target's law there; the longest run of tokens that
pass is kept, and the target's favourite comes after it. No chance is involved: what passes is the
drafter's text, so that the output follows the drafter wherever the target does not object.

Cai et al.: Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads, ICML
2024, arXiv 2401.10774.

Defaults as published: epsilon 0.09, delta 0.3, the square root of it; one helper of the public code
has the two swapped in its signature.

Deviations: the paper drafts with trained heads; here any drafter does, on a tree of equal width per
level, which is ours (the paper's has 63 nodes chosen for its heads). The entropy is exact; the code
adds 1e-5 inside the log, which makes it smaller on a large vocabulary. The target's own token
counts to the round that scored it; in the paper it is the first candidate of the next one, always
kept, which is the same text. `own_token` "draw" is the code's slow mode for that token: a draw from
what passes. vLLM's Ascend plugin ships 0.95 and 0.4; vLLM users saw shorter runs kept than with
rejection sampling (vllm-project/vllm, issue 8639).
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, method
from core.shapes.levels import Levels, node_count
from core.shapes.widths import Widths
from core.tree import Sampling
from core.verify.typical import Own, TypicalAcceptance


class Config(DraftModelConfig):
    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Of the drafter's law as it is shown; its likeliest tokens are the same at any",
        json_schema_extra={"labels": {"": "as the target"}},
        ge=0,
        le=2,
    )
    tree: Widths = Field(
        (3, 2, 1, 1),
        title="Tree",
        description="Likeliest children of every node, level by level",
    )
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
    own_token: Own = Field(
        "favourite",
        title="Own token",
        description="favourite: the target's likeliest; draw: drawn from the tokens that pass",
    )

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "typical_acceptance",
    name="Typical acceptance",
    paper="Cai et al. 2024",
    url="https://arxiv.org/abs/2401.10774",
    year=2024,
    family="verification",
    lossless=False,
    config=Config,
    parts=Parts("skip", "k_config", "typical"),
    toy={"tree": [2, 1], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = Levels(config.tree, Sampling.DETERMINISTIC)
    rule = TypicalAcceptance(config.epsilon, config.delta, config.own_token)
    return Decoder(model_drafter(config, models, shape), rule)
