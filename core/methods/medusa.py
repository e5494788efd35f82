"""Let a few heads on the target's last state guess the next places all at once, and let the target
check the combinations that are right most often.

No head knows what the others say: the candidates of each are combined into one tree, whose form is
made once from how often each candidate of each head was right. One forward of the heads per round,
however deep the tree. At temperature 0 a token stays where it is the target's own; above it, where
it is among the tokens that rejection lets through (fixed siblings are tried one by one on what
remains of p), so that the text keeps the target's law.

Cai, Li, Geng, Peng, Lee, Chen, Dao: Medusa: Simple LLM Inference Acceleration Framework with
Multiple Decoding Heads, ICML 2024, arXiv 2401.10774.

The paper has 5 heads and 63 nodes, which is far too wide for a few CPU cores: 16 here. Above
temperature 0 it keeps what is typical instead, which bends the law: that is `medusa_typical`. Its
heads have output layers of their own; ours read through the target's, cut to the commonest tokens,
and are trained on the target's own text and whole laws. Checkpoints without a measurement get the
tree published for Vicuna-7B, by its depths. Medusa-2, which trains the target as well, is exact for
that target: name its folder as target and as weights.
"""

from typing import ClassVar

from core.decode import Decoder
from core.drafters.choice import model_drafter
from core.drafters.planned import PlannedConfig, planned_tree
from core.heads.medusa import KIND
from core.registry import Models, Parts, Reported, method
from core.verify.rejection import RecursiveRejection


class Config(PlannedConfig):
    kind: ClassVar[str] = KIND


@method(
    "medusa",
    name="Medusa",
    paper="Cai et al. 2024",
    url="https://arxiv.org/abs/2401.10774",
    year=2024,
    family="model-centric: dependent drafter",
    lossless=True,
    config=Config,
    parts=Parts("medusa", "accuracy_tree", "rejection"),
    trained="heads",
    reported=(
        Reported(
            "more than 2.2×", "the speed of plain decoding", "Medusa-1: the target stays as it is"
        ),
        Reported(
            "2.3 to 3.6×", "the speed of plain decoding", "Medusa-2: the target is trained as well"
        ),
    ),
    toy={"nodes": 4},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(
        model_drafter(config, models, planned_tree(config, models)), RecursiveRejection()
    )
