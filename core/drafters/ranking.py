"""The settings that trees of ranked candidates share: which model drafts, and at what temperature
its laws rank them.
"""

from __future__ import annotations

from pydantic import Field

from core.drafters.choice import DraftModelConfig, draft_opener
from core.drafters.model import ModelDrafter
from core.registry import Models
from core.shapes.base import TreePolicy

_UNSCALED = 1.0


class RankingConfig(DraftModelConfig):
    """The drafter's laws keep a temperature of their own, whatever the target's is."""

    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Temperature of the laws that rank candidates; empty: 1, as in the papers",
        ge=0.1,
        le=3,
    )

    @property
    def temperature(self) -> float:
        return _UNSCALED if self.draft_temperature is None else self.draft_temperature


def ranking_drafter(config: RankingConfig, models: Models, shape: TreePolicy) -> ModelDrafter:
    """Return the drafter that `config` describes; raise ValueError when it needs a second model and
    there is none.
    """
    opener, source = draft_opener(config, models)
    return ModelDrafter(opener, shape, source, temperature=config.temperature)
