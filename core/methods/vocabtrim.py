"""Cut the drafter's output head to the tokens that the target writes most often: the others are
hardly ever drafted, and the head costs most of a small drafter.

A chain is drafted and verified as in speculative sampling. A token outside has draft probability 0:
where the target wants one, the draft is rejected for sure, and the target's own token follows from
what remains of its law, so that nothing of this is lost.

Goel et al.: VocabTrim: Vocabulary Pruning for Efficient Speculative Decoding in LLMs, ICML 2025
workshop on efficient systems for foundation models, arXiv 2506.22694.

The paper counts tokens in text that the target, the drafter or neither wrote, and finds the
target's best; ours are those of the target's own answers. It cuts heads of 128,000 rows to 32,000
or 16,000; here it is 8,192 of 49,152, with end and special tokens always among them, and the lowest
ids where too few were counted. Its measure is the memory-bound speed-up, tokens per pass over
c x gamma + 1, c the ratio of the drafter's parameters to the target's, gamma the draft length,
which its tables do not state. The setting is there for every other drafter too.
"""

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter, vocabulary_field
from core.registry import Models, Parts, method
from core.shapes.levels import Levels
from core.verify.rejection import RecursiveRejection


class Config(DraftModelConfig):
    draft_vocabulary: int = vocabulary_field(8192)
    length: int = Field(
        4, title="Draft length", description="Tokens drafted per round", ge=1, le=32
    )

    def most_nodes(self) -> int:
        return self.length


@method(
    "vocabtrim",
    name="VocabTrim",
    paper="Goel et al. 2025",
    url="https://arxiv.org/abs/2506.22694",
    year=2025,
    family="draft-centric: probability",
    lossless=True,
    config=Config,
    parts=Parts("skip", "chain", "rejection"),
    toy={"length": 2, "drafter": "model", "draft_vocabulary": 2},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(
        model_drafter(config, models, Levels((1,) * config.length)), RecursiveRejection()
    )
