"""Expand the draft where the product of the drafter's confidences is large, then offer the best
nodes of all that was seen.

A drafter's confidence tells how often its token is accepted, so that the product along a path
estimates how far the path will get. The k best candidates of a level are expanded; at the end the
N - 1 best of the whole pool go to the target, with the last token of the text as root. Candidates
are chosen, not drawn, at every temperature: token x stays with probability R[x], and a rejection
takes x out of R.

Li, Wei, Zhang, Zhang: EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees, EMNLP
2024, arXiv 2406.16858.

This is the paper's tree over any drafter, which EAGLE-3 grows too; its own is EAGLE-1's head,
unchanged: `drafter eagle`. The paper has k 10, N 60 (50 and 48 for larger targets) and depth 6; the
released program has depth 7, and 5 where it is evaluated. That is far too wide for a few CPU cores:
the defaults k 8, N 32, depth 4 are those of a script in that program. Laws that rank candidates are
not scaled by temperature, as released. Two settings of the program are not here: it can choose N by
timing its target at 40 to 60 nodes, with weights made for large GPUs, and it never reads its
`threshold`.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.ranking import RankingConfig, ranking_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.eagle2 import ExpandRerank
from core.verify.rejection import RecursiveRejection


class Config(RankingConfig):
    width: int = Field(
        8,
        title="Width k",
        description="Nodes expanded per step, and candidates of each; the paper has 10",
        ge=1,
        le=16,
    )
    nodes: int = Field(
        32,
        title="Nodes N",
        description="Nodes that the target scores, the root included; the paper has 60",
        ge=2,
        le=256,
    )
    depth: int = Field(
        4,
        title="Depth",
        description="Expansions after the root's; the paper has 6",
        ge=0,
        le=12,
    )

    def most_nodes(self) -> int:
        return self.nodes


@method(
    "eagle2",
    name="EAGLE-2's dynamic tree",
    paper="Li et al. 2024",
    url="https://arxiv.org/abs/2406.16858",
    year=2024,
    family="draft-centric: hybrid and adaptive",
    lossless=True,
    config=Config,
    parts=Parts("skip", "eagle2", "rejection"),
    trained="heads",
    reported=(
        Reported(
            "4.26×",
            "the speed of plain decoding",
            "Vicuna-13B, MT-bench, temperature 0; 4.83 tokens per target pass",
        ),
        Reported(
            "3.65×",
            "the speed of plain decoding",
            "Vicuna-13B, mean of the tasks, temperature 1; 4.26 tokens per target pass",
        ),
    ),
    toy={"width": 2, "nodes": 5, "depth": 1, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = ExpandRerank(config.width, config.nodes, config.depth, config.temperature)
    return Decoder(ranking_drafter(config, models, shape), RecursiveRejection())
