"""SpecTr: draw several whole drafts at once, and choose each next token among theirs as optimal
transport would.

All drafts that agree with the text so far offer their next token; one of these stays, or the target
writes its own. Which one is a transport problem, from the law of what is offered to the target's.
Rule "k_seq" tries them in order against p / (rho q): cheap, and within 1 - (1 - 1/K)^K of the best
rule; rho is found anew for as many drafts as are left. Rule "transport" solves the linear program,
exactly for small alphabets, else with unlikely tokens in bundles; the text has the target's law
either way.

Sun et al.: SpecTr: Fast Speculative Decoding via Optimal Transport, NeurIPS 2023, arXiv 2310.15141.

No code was published. 8 drafts of 4 tokens are one of the paper's settings; 8 of 8 is its fastest.
The paper runs the drafts as a batch; here they are merged into one tree, which holds the same
tokens and scores once what they share. The bundles are ours. The drafter is chosen as in
speculative sampling. What a whole plan does is recorded under rule "transport" alone, with K-SEQ
beside it: for rule "k_seq" it would cost a linear program at every node.
"""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.levels import MAX_NODES
from core.shapes.sequences import Sequences
from core.verify.kseq import KSeq
from core.verify.transport import Transport


class Config(DraftModelConfig):
    drafts: int = Field(8, title="Drafts", description="Sequences drawn per round", ge=1, le=16)
    length: int = Field(4, title="Draft length", description="Tokens of each draft", ge=1, le=32)
    rule: Literal["k_seq", "transport"] = Field(
        "k_seq",
        title="Rule",
        description="k_seq: cheap; transport: a linear program at every node, slower",
    )

    @field_validator("length")
    @classmethod
    def _is_bounded(cls, length: int, info: ValidationInfo) -> int:
        drafts: int = info.data.get("drafts", 1)
        if (tokens := drafts * length) > MAX_NODES:
            raise ValueError(
                f"with {drafts} drafts that would be {tokens:,} tokens, and {MAX_NODES} are allowed"
            )
        return length

    def most_nodes(self) -> int:
        return self.drafts * self.length


@method(
    "spectr",
    name="SpecTr",
    paper="Sun et al. 2023",
    url="https://arxiv.org/abs/2310.15141",
    year=2023,
    family="verification",
    lossless=True,
    config=Config,
    parts=Parts("skip", "sequences", "k_seq"),
    reported=(
        Reported(
            "2.13×",
            "the speed of plain decoding",
            "PaLM-2 Gecko drafts for Bison, LM1B, 8 drafts of 8 tokens",
        ),
        Reported("4.0", "tokens per target pass", "the same; speculative sampling 2.9"),
    ),
    toy={"drafts": 2, "length": 1, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    drafter = model_drafter(config, models, Sequences(config.drafts, config.length))
    return Decoder(drafter, KSeq() if config.rule == "k_seq" else Transport())
