"""Give Medusa's heads eyes for the path: each guesses its place from the target's last state and
the tokens drafted before it.

The tree grows level by level, one batched forward of one head each, and the children of a node
follow from its own path. Its form is made once from how often each candidate of each head was right
after a path that was. Verified as Medusa's: by greedy matching at temperature 0, by rejection on
what remains of p above it.

Ankner, Parthasarathy, Nrusimha, Rinard, Ragan-Kelley, Brandon: Hydra: Sequentially-Dependent Draft
Heads for Medusa Decoding, COLM 2024, arXiv 2402.05109.

The paper has Medusa's 63 nodes; 16 here. Its heads have output layers of their own; ours have 2
blocks each and read through the target's output layer, cut to the commonest tokens. Hydra++ (a
decoder layer over the states before the heads, `prefix-mlp`) is read and run, but not trained here.
Above temperature 0 the paper keeps what is typical, as Medusa's does.
"""

from typing import ClassVar

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import head_source, model_drafter
from core.drafters.planned import PlannedConfig, planned_tree
from core.drafters.source import Source
from core.drafters.trim import Trim
from core.heads.hydra import KIND, HydraHead
from core.registry import Models, Parts, Reported, method
from core.verify.rejection import RecursiveRejection


class Config(PlannedConfig):
    kind: ClassVar[str] = KIND

    hide_path: bool = Field(
        False,
        title="Hide the path",
        description="Show the heads zeros in place of the tokens before them, to see what they owe "
        "to these",
    )

    def cut_source(self, models: Models, trim: Trim | None) -> Source:
        heads = models.heads(self.kind, self.weights)
        if self.hide_path and isinstance(heads, HydraHead):
            heads = heads.blind()
        return head_source(self.kind, heads, models, trim)


@method(
    "hydra",
    name="Hydra",
    paper="Ankner et al. 2024",
    url="https://arxiv.org/abs/2402.05109",
    year=2024,
    family="model-centric: dependent drafter",
    lossless=True,
    config=Config,
    parts=Parts("hydra", "accuracy_tree", "rejection"),
    trained="heads",
    reported=(
        Reported("up to 2.71×", "the speed of plain decoding", "as the abstract has it"),
        Reported("up to 1.31×", "the speed of Medusa", "as the abstract has it"),
    ),
    toy={"nodes": 4},
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(
        model_drafter(config, models, planned_tree(config, models)), RecursiveRejection()
    )
