"""FastDraft: a small model that was pretrained for this one target and then taught its answers
drafts a short chain.

A recipe rather than a rule: the drafter is an ordinary language model with the target's tokens,
pretrained, then aligned on text that the target wrote itself. Drafting and verification are those
of speculative sampling, so that the text has the target's law. What decides is the size: a larger
drafter is accepted more often and costs more, and the gain has its maximum between the two.

Zafrir, Margulis, Shteyman, Boudoukh: FastDraft: How to Train Your Draft, Findings of ACL 2025,
arXiv 2411.11055.

The paper drafts 3 tokens at temperature 0.6, with drafts of 50 million parameters for Phi-3-mini
and 150 million for Llama-3.1-8B, pretrained on 10 billion tokens. Ours has 13 million for the
default target, has seen half a million tokens that this wrote, and names 8,192 of its tokens. A
draft model that is named takes its place. Drafter and target share one temperature here, as there;
a cooler drafter is sure of tokens that the target is not, and is accepted less often.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import SecondModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.levels import Levels
from core.verify.rejection import RecursiveRejection


class Config(SecondModelConfig):
    length: int = Field(
        3, title="Draft length", description="Tokens drafted per round", ge=1, le=32
    )

    def most_nodes(self) -> int:
        return self.length


@method(
    "fastdraft",
    name="FastDraft",
    paper="Zafrir et al. 2025",
    url="https://arxiv.org/abs/2411.11055",
    year=2024,
    family="model-centric: independent drafter",
    lossless=True,
    config=Config,
    parts=Parts("model", "chain", "rejection"),
    trained="draft model",
    reported=(
        Reported("up to 3×", "memory-bound speed-up", "code"),
        Reported("about 2×", "memory-bound speed-up", "natural language"),
    ),
    toy={"length": 2},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(
        model_drafter(config, models, Levels((1,) * config.length)), RecursiveRejection()
    )
