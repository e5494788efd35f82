"""SpecInfer: grow a token tree by an expansion config, or merge the sequences of several drafters
into one, and verify all branches in one pass, by multi-step speculative sampling.

The expansion config says how many children each level gets. Above temperature 0 they are drawn
independently, and a node tries them one by one, each against what the misses before it left of the
target's law (recursive rejection with replacement); at temperature 0, or at a draft temperature of
0, they are the likeliest tokens, and the walk goes where the target's own token is among them.
Merging lets every drafter draw one sequence; each token is tried against the law of the drafter
that drew it, in random order.

Miao et al.: SpecInfer: Accelerating Large Language Model Serving with Tree-based Speculative
Inference and Verification, ASPLOS 2024, arXiv 2305.09781.

The expansion config is that of its experiments, (1, 1, 3, 1, 1, 1, 1, 1), 20 nodes; that of its
figure is (2, 2, 1).

Deviations: in the expansion the paper visits siblings in random order; here it is the order drawn,
which has the same law, since independent draws are exchangeable. A token drawn twice is one node,
tried twice. The paper merges small models of their own, tuned one after another to be right where
those before them are wrong; here they are parts of the target beside the drafter, as they come,
and run one after another, not side by side. The eight tokens of each are as deep as the expansion;
which parts join is ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, drafter_of, model_drafter
from core.drafters.merged import MergedDrafter
from core.drafters.model import ModelDrafter
from core.drafters.source import Source
from core.registry import Models, Parts, Reported, method
from core.shapes.levels import EXPANSION, Levels, node_count
from core.shapes.widths import Widths
from core.tree import Sampling
from core.verify.rejection import WITH_REPLACEMENT, RecursiveRejection

_FORMS = "skip-12-18 or exit-28"
OWN_LAWS = RecursiveRejection(
    "Multi-step speculative sampling", frozenset({Sampling.DETERMINISTIC, Sampling.SEPARATE})
)


class Config(DraftModelConfig):
    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DraftModelConfig.only_with,
        "tree": ("construction", "expansion"),
        "others": ("construction", "merge"),
        "length": ("construction", "merge"),
    }

    construction: Literal["expansion", "merge"] = Field(
        "expansion",
        title="Tree construction",
        description="expansion: one drafter, by a config; merge: a sequence of each drafter",
    )
    tree: Widths = Field(
        EXPANSION,
        title="Expansion config",
        description="Children of every node, level by level",
    )
    others: tuple[str, ...] = Field(
        ("exit-28",),
        title="Other drafters",
        description="Parts of the target that draft beside the drafter: skip-12-18, exit-28",
        min_length=1,
        max_length=7,
    )
    length: int = Field(
        len(EXPANSION), title="Draft length", description="Tokens of each sequence", ge=1, le=32
    )

    @field_validator("others")
    @classmethod
    def _are_drafters(cls, others: tuple[str, ...]) -> tuple[str, ...]:
        for name in others:
            _part(name)
        return others

    def source_named(self, name: str, models: Models) -> Source:
        first = name.partition("+")[0]
        if self.construction == "merge" and first in self.others:
            return _cut(first, self).source(models)
        return self.source(models)

    def most_nodes(self) -> int:
        if self.construction == "merge":
            return (1 + len(self.others)) * self.length
        return node_count(self.tree)


def _part(name: str) -> DraftModelConfig:
    """Return the settings of a part of the target by its name; raise ValueError for another."""
    kind, *numbers = name.split("-")
    layers = [int(number) for number in numbers if number.isdecimal()]
    if len(layers) == len(numbers) and kind == "skip" and layers:
        return DraftModelConfig.model_validate({"drafter": "skip", "skip_layers": layers})
    if len(layers) == len(numbers) == 1 and kind == "exit":
        return DraftModelConfig.model_validate({"drafter": "exit", "exit_layer": layers[0]})
    raise ValueError(f"{name!r} is no part of the target; write {_FORMS}")


def _cut(name: str, config: Config) -> DraftModelConfig:
    """Return the settings of another drafter, with the draft vocabulary of all."""
    return _part(name).model_copy(update={"draft_vocabulary": config.draft_vocabulary})


@method(
    "specinfer",
    name="SpecInfer",
    paper="Miao et al. 2023",
    url="https://arxiv.org/abs/2305.09781",
    year=2023,
    family="draft-centric: tree and graph",
    lossless=True,
    config=Config,
    parts=Parts("skip", "expansion", "rejection"),
    trained="draft model",
    reported=(
        Reported(
            "85 %",
            "of places: the target's token is among the drafter's five likeliest",
            "Alpaca, greedy",
        ),
        Reported(
            "97 %",
            "of places: the target's token is among the drafter's five likeliest",
            "Alpaca, sampled",
        ),
    ),
    toy={"tree": [1, 2], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    if config.construction == "merge":
        drafters = [config, *(_cut(name, config) for name in config.others)]
        return Decoder(
            MergedDrafter([_sequence(each, config, models) for each in drafters]), OWN_LAWS
        )
    shape = Levels(config.tree, Sampling.INDEPENDENT)
    return Decoder(model_drafter(config, models, shape), WITH_REPLACEMENT)


def _sequence(drafter: DraftModelConfig, config: Config, models: Models) -> ModelDrafter:
    """Return what draws one sequence, under its full name."""
    shape = Levels((1,) * config.length, Sampling.INDEPENDENT)
    source = replace(drafter.source(models), name=drafter.own_name)
    return drafter_of(source, shape, temperature=config.draft_temperature)
