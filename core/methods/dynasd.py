"""Improved multi-candidate decoding (DynaSD): several strands leave the target's own last law, and
the longest run of kept tokens wins.

The round ends without a token of the target's own: the next draft begins with several roots from
its law, each continued by the drafter, and a small decision model ends drafting when no strand is
likely to stay. The verification that was released with the paper bends the law of the text, also at
temperature 0, so that this method is lossy; a lossless variant would have to commit to one root,
which removes the benefit.

Lu, Zeng, Ma, Yu, Levorato: Improving Multi-candidate Speculative Decoding, arXiv 2409.10644
(NeurIPS ENLSP workshop 2024), and its code, github.com/JackZeng0208/DynaSD.

`tree`: the first number is the roots, the others children per node; the default is the dynamic
"fork" of the inference script, two strands of up to five tokens; static ones of the paper are
(2, 4, 4, 1, 1) and (2, 4, 3, 1, 1). The decision model reads the drafter's last hidden state of the
law that a token came from, and drafting goes on while any strand scores above the threshold (0.4).
It is trained here on our own drafts (`python -m core.train decision`), for one pair of target and
drafter at a time; `stop` "never" drafts without it.

Deviations: our verify call scores the last token of the text once more, since the loop keeps one
row per node. The released code makes the mask of the largest tree once and cuts its upper left
block; ours makes the mask of the tree that was drafted, which is the same block. It can also train
on the entropy and the ten largest probabilities, or on hard labels; neither is built. Its label is
min(1, p(x) / q(x)) of ten drawn tokens, ours their mean over all tokens.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig
from core.drafters.strands import StrandDrafter
from core.heads.decision import find_decision
from core.models.base import FINAL
from core.registry import Models, Parts, Reported, method
from core.shapes.decision import DecisionStop
from core.shapes.levels import Levels, node_count
from core.shapes.widths import Widths
from core.verify.longest import LongestStrand


class Config(DraftModelConfig):
    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DraftModelConfig.only_with,
        "threshold": ("stop", "decision"),
    }

    tree: Widths = Field(
        (2, 1, 1, 1, 1),
        title="Strands",
        description="Roots from the target's law, then children of every node",
    )
    stop: Literal["decision", "never"] = Field(
        "decision",
        title="Stop",
        description="decision: the trained model ends drafting; never: to the last level",
    )
    threshold: float = Field(
        0.4,
        title="Threshold",
        description="Draft on while a strand scores above this",
        ge=0,
        le=1,
    )

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "dynasd",
    name="Improved multi-candidate decoding (DynaSD)",
    paper="Lu et al. 2024",
    url="https://arxiv.org/abs/2409.10644",
    year=2024,
    family="draft-centric: hybrid and adaptive",
    lossless=False,
    config=Config,
    parts=Parts("skip", "strands", "longest_strand", stop="decision"),
    trained="stop rule",
    reported=(
        Reported("up to 75 %", "faster than multi-candidate decoding", "as the abstract has it"),
        Reported(
            "up to 164 %",
            "higher acceptance rate than multi-candidate decoding",
            "as the abstract has it",
        ),
    ),
    toy={"tree": [2, 1], "drafter": "model", "stop": "never"},
)
def build(config: Config, models: Models) -> Decoder:
    source = config.source(models)
    stops, taps = [], ()
    if config.stop == "decision":
        model = find_decision(models.target.card, config.own_name)
        stops, taps = [DecisionStop(model, config.threshold)], (FINAL,)
    drafter = StrandDrafter(
        source,
        Levels(config.tree),
        stops,
        taps,
        config.draft_temperature,
        config.tree[0],
    )
    return Decoder(drafter, LongestStrand())
