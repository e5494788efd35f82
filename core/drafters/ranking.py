"""The settings that trees of ranked candidates share: which model drafts, and at what temperature
its laws rank them.
"""

from __future__ import annotations

from pydantic import Field

from core.drafters.choice import DrafterConfig, DraftModelConfig, HeadConfig, drafter_of
from core.drafters.model import ModelDrafter
from core.registry import Models
from core.shapes.base import TreePolicy

_UNSCALED = 1.0


class Ranking(DrafterConfig):
    """The drafter's laws keep a temperature of their own, whatever the target's is."""

    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Temperature of the laws that rank candidates; empty: 1, as in the papers",
        json_schema_extra={"labels": {"": "1"}},
        ge=0.1,
        le=2,
    )

    @property
    def temperature(self) -> float:
        return _UNSCALED if self.draft_temperature is None else self.draft_temperature


class RankingConfig(Ranking, DraftModelConfig):
    """Any drafter."""


class RankingHeadConfig(Ranking, HeadConfig):
    """One kind of trained head."""


def ranking_drafter(config: Ranking, models: Models, shape: TreePolicy) -> ModelDrafter:
    """Return the drafter that `config` describes; raise ValueError when it needs a second model or
    trained weights and there are none.
    """
    return drafter_of(config.source(models), shape, temperature=config.temperature)
