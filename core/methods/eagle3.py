"""Draft with a head that reads low, middle and high layers of the target and was trained on its own
drafts, in EAGLE-2's dynamic tree.

EAGLE's head learns to copy the target's last state, which keeps it from learning more from more
text. Here nothing asks what its outputs are: it is trained on tokens alone, by unrolling drafts as
they will be made (training-time test), so that its second and third tokens are as good as its
first. Candidates are chosen, not drawn, at every temperature: token x stays with probability R[x],
and a rejection takes x out of R.

Li, Wei, Zhang, Zhang: EAGLE-3: Scaling up Inference Acceleration of Large Language Models via
Training-Time Test, 2025, arXiv 2503.01840.

The released program has k 10, N 60 and depth 7 (8 in the paper's runs), for large GPUs. On a few
CPU cores every node costs: k 4, N 16 and depth 3 here. Its draft vocabulary has 32,000 tokens, ours
8,192; tokens outside it are never drafted, and keep all of their p. Published heads are read with
`weights`, in the first layout and in the `speculators` format. The published pair of tree and head
is kept here; with another tree the same head is `drafter eagle3` of other methods.
"""

from typing import ClassVar

from pydantic import Field

from core.decode import Decoder
from core.drafters.ranking import RankingHeadConfig, ranking_drafter
from core.heads.eagle3 import KIND
from core.registry import Models, Parts, Reported, method
from core.shapes.eagle2 import ExpandRerank
from core.verify.rejection import RecursiveRejection


class Config(RankingHeadConfig):
    kind: ClassVar[str] = KIND

    width: int = Field(
        4,
        title="Width k",
        description="Nodes expanded per step, and candidates of each; the program has 10",
        ge=1,
        le=16,
    )
    nodes: int = Field(
        16,
        title="Nodes N",
        description="Nodes that the target scores, the root included; the program has 60",
        ge=2,
        le=256,
    )
    depth: int = Field(
        3,
        title="Depth",
        description="Expansions after the root's; the program has 7",
        ge=0,
        le=12,
    )

    def most_nodes(self) -> int:
        return self.nodes


@method(
    "eagle3",
    name="EAGLE-3",
    paper="Li et al. 2025",
    url="https://arxiv.org/abs/2503.01840",
    year=2025,
    family="model-centric: dependent drafter",
    lossless=True,
    config=Config,
    parts=Parts("eagle3", "eagle2", "rejection"),
    trained="heads",
    reported=(
        Reported(
            "5.51×",
            "the speed of plain decoding",
            "Vicuna-13B; 6.62 tokens per target pass",
        ),
        Reported(
            "4.44×",
            "the speed of plain decoding",
            "LLaMA-3.1-8B; 6.23 tokens per target pass, EAGLE-2 4.11",
        ),
    ),
    toy={"width": 2, "nodes": 5, "depth": 1},
)
def build(config: Config, models: Models) -> Decoder:
    shape = ExpandRerank(config.width, config.nodes, config.depth, config.temperature)
    return Decoder(ranking_drafter(config, models, shape), RecursiveRejection())
