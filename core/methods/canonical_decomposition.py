"""Canonical decomposition: draw several drafts, select one token among theirs by importance, and
test it as if it had been the only one.

At each place the K drafted tokens meet, and one of them is selected. Its law p_I is known exactly,
so that ordinary speculative sampling can follow: the token stays with probability min(1, p/p_I),
else a token of norm((p - p_I)+) comes. Acceptance is the overlap of p and p_I, and the selection is
made so that it becomes large. Drafts that agree with the text so far stay in play.

Khisti, Ebrahimi, Dbouk, Behboodi, Memisevic, Louizos: Multi-Draft Speculative Sampling: Canonical
Decomposition and Theoretical Limits, ICLR 2025, arXiv 2410.18234.

The linear program for the `free` tokens with the largest p - q^2 is the paper's truncated one, with
its default of 5; an alphabet of 40 is the best of the sizes that it tried. Ours are:

* The fixed order for all other tokens, by p/q. The paper ranks them by p - q^2, and how it keeps
  account of those outside the alphabet was not available; here p_I is computed for every token.
* More than two drafts: the winner of two, with its law, meets the third, and so on, each meeting by
  a linear program for two laws. The paper cascades pairs too, in a way that is not fully public.
  Exact, but not the best possible for more than two drafts.
* A draft whose meeting would cover less of p takes no part, which a fixed order can bring about.
* Where the token that comes after a rejection had been drafted too, the walk goes on there.

`importance` selects in proportion to p/q, the textbook's weights, instead. Their p_I goes through
all tuples of drafts in the alphabet, which may have up to 500 tokens for two drafts, 62 for three,
22 for four. The paper draws all drafts from one model, at temperatures of 1.2 to 2.4 for a target
at 1; here it is 1.2 unless said otherwise, and at most 2. The number of drafts and their length are
ours.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.sequences import Sequences
from core.verify.selection import CanonicalDecomposition
from core.verify.selection_law import Selection
from core.verify.selection_plan import largest_alphabet, too_many


class Config(DraftModelConfig):
    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DraftModelConfig.only_with,
        "free": ("selection", "linear"),
    }

    drafts: int = Field(2, title="Drafts", description="Drawn side by side", ge=1, le=8)
    length: int = Field(4, title="Draft length", description="Tokens per draft", ge=1, le=16)
    draft_temperature: float | None = Field(
        1.2,
        title="Draft temperature",
        description="Temperature of the drafter; empty: the target's",
        ge=0,
        le=2,
    )
    selection: Literal["linear", "importance"] = Field(
        "linear",
        title="Selection",
        description="linear: chances from a linear program; importance: in proportion to p/q",
    )
    free: int = Field(
        5,
        title="Tokens in the program",
        description="The linear program decides between these; others by a fixed order",
        ge=1,
        le=15,
    )
    alphabet: int = Field(
        40,
        title="Alphabet",
        description="Tokens that the selection is planned for; 0: all",
        ge=0,
        le=1000,
        validate_default=True,
    )

    @field_validator("alphabet")
    @classmethod
    def _can_be_gone_through(cls, alphabet: int, info: ValidationInfo) -> int:
        drafts = int(info.data.get("drafts", 1))
        weighted = info.data.get("selection") == "importance" and drafts > 1
        if weighted and not 0 < alphabet <= largest_alphabet(drafts):
            raise ValueError(too_many(drafts))
        return alphabet

    def most_nodes(self) -> int:
        return self.drafts * self.length

    @property
    def way(self) -> Selection:
        """Return how one of the drafts is selected."""
        return Selection(self.free, self.alphabet, self.selection)


@method(
    "canonical_decomposition",
    name="Canonical decomposition",
    paper="Khisti et al. 2025",
    url="https://arxiv.org/abs/2410.18234",
    year=2025,
    family="verification",
    lossless=True,
    config=Config,
    parts=Parts("skip", "sequences", "canonical_decomposition"),
    reported=(
        Reported(
            "63.5 %",
            "of places keep a drafted token",
            "OPT, Dolly, two drafts, temperature 1; SpecTr 62.5 %, any rule at most 63.8 %",
        ),
    ),
    toy={"drafts": 2, "length": 1, "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = Sequences(config.drafts, config.length)
    return Decoder(model_drafter(config, models, shape), CanonicalDecomposition(config.way))
