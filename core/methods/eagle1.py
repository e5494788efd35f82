"""Fill a tree whose form was found once: many guesses where the first ranks are often right, few
where they are not.

Siblings come in the order of their ranks and are tried one by one on what remains of p, so that
nothing of the target's law is lost.

Li, Wei, Zhang, Zhang: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty, ICML
2024, arXiv 2401.15077.

This is the paper's tree over any drafter; its own is a head on the target's features, `drafter
eagle`, trained here on the target's own texts and cut to the commonest tokens. The 25 nodes are
those of the released program. Above temperature 0 each node draws its children without replacement,
as the repaired program does; it draws 10 and uses up to 4, here only those used are drawn. The
bonus token comes from the target's law at the chosen temperature and top-p, which the first release
forgot.
"""

from pydantic import Field, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, Reported, method
from core.shapes.static import EAGLE, StaticTree, parse
from core.verify.rejection import RecursiveRejection


class Config(DraftModelConfig):
    tree: str = Field(
        EAGLE,
        title="Tree",
        description="A word per node: its ranks from the root down, a digit for each",
        max_length=4096,
    )

    @field_validator("tree")
    @classmethod
    def _is_a_tree(cls, tree: str) -> str:
        parse(tree)
        return tree

    def most_nodes(self) -> int:
        return len(self.tree.split())


@method(
    "eagle1",
    name="EAGLE-1's static tree",
    paper="Li et al. 2024",
    url="https://arxiv.org/abs/2401.15077",
    year=2024,
    family="model-centric: dependent drafter",
    lossless=True,
    config=Config,
    parts=Parts("skip", "static", "rejection"),
    trained="heads",
    reported=(
        Reported(
            "2.90×",
            "the speed of plain decoding",
            "Vicuna-7B, MT-bench, temperature 0; 3.94 tokens per target pass",
        ),
        Reported(
            "2.21×",
            "the speed of plain decoding",
            "the same at temperature 1; 3.17 tokens per target pass",
        ),
    ),
    toy={"tree": "0 1 00", "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    shape = StaticTree(parse(config.tree))
    return Decoder(model_drafter(config, models, shape), RecursiveRejection())
