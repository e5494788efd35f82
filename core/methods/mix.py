"""Mix and match: any drafter, any tree shape, any stop rule and any lossless rule that fits them.

No paper: a workbench to see what each part does. A rule that would bend the law of the text for a
chosen shape is refused with the reason before the first token. Parts come with the defaults of
their papers, within the node budget given here.
"""

from __future__ import annotations

from pydantic import Field, JsonValue, field_validator

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.parts import rules, shapes, stops
from core.registry import Models, Parts, method
from core.verify.base import check_fit

NONE = "none"


def _among(names: list[str]) -> dict[str, JsonValue]:
    """Return what a form needs to offer the parts that there are."""
    return {"enum": [*names]}


def _rules() -> list[str]:
    return [key for key, part in rules().items() if part.lossless]


class Config(DraftModelConfig):
    shape: str = Field(
        "eagle2",
        title="Tree shape",
        description="How the draft tree grows",
        json_schema_extra=_among(list(shapes())),
    )
    budget: int = Field(16, title="Nodes", description="Offered per round at most", ge=1, le=128)
    stop: str = Field(
        NONE,
        title="Stop rule",
        description="What ends drafting early",
        json_schema_extra=_among([NONE, *stops()]),
    )
    rule: str = Field(
        "rejection",
        title="Verification rule",
        description="What decides which tokens stay",
        json_schema_extra=_among(_rules()),
    )

    @field_validator("shape")
    @classmethod
    def _is_shape(cls, value: str) -> str:
        return _known(value, list(shapes()))

    @field_validator("stop")
    @classmethod
    def _is_stop(cls, value: str) -> str:
        return _known(value, [NONE, *stops()])

    @field_validator("rule")
    @classmethod
    def _is_rule(cls, value: str) -> str:
        return _known(value, _rules())

    def most_nodes(self) -> int:
        return self.budget


def _known(value: str, names: list[str]) -> str:
    if value not in names:
        raise ValueError(f"there are {', '.join(names)}")
    return value


@method(
    "mix",
    name="Mix and match",
    paper="no paper",
    url="",
    year=2026,
    family="workbench",
    lossless=True,
    config=Config,
    parts=Parts("skip", "eagle2", "rejection"),
    toy={"drafter": "model", "budget": 2, "shape": "k_config"},
)
def build(config: Config, models: Models) -> Decoder:
    policy = shapes()[config.shape].make(config.budget)
    ends = [] if config.stop == NONE else [stops()[config.stop].make()]
    verifier = rules()[config.rule].make()
    drafter = model_drafter(config, models, policy, ends)
    check_fit(verifier, drafter.offer(greedy=False))
    return Decoder(drafter, verifier)
