"""The choice of a draft model that several methods share: part of the target, or a second model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from core.drafters.model import ModelDrafter, Opener
from core.models.base import Session
from core.models.views import View
from core.registry import MethodConfig, Models
from core.shapes.base import StopPolicy, TreePolicy

Layer = Annotated[int, Field(ge=0)]


class DraftModelConfig(MethodConfig):
    """Which model drafts."""

    only_with: ClassVar[Mapping[str, tuple[str, str]]] = {
        "skip_layers": ("drafter", "skip"),
        "exit_layer": ("drafter", "exit"),
    }

    drafter: Literal["skip", "exit", "model"] = Field(
        "skip",
        title="Drafter",
        description="skip: the target without some layers; exit: its first layers only; "
        "model: a second model",
        json_schema_extra={
            "labels": {
                "skip": "itself, some layers skipped",
                "exit": "itself, early exit",
                "model": "a second model",
            }
        },
    )
    skip_layers: tuple[Layer, ...] = Field(
        (12, 18),
        title="Skipped layers",
        description="Layers that the drafter leaves out",
        max_length=64,
    )
    exit_layer: int = Field(
        28,
        title="Exit layer",
        description="Layers that run before norm and head",
        ge=1,
        le=200,
    )
    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Temperature of the drafter; empty: the target's",
        json_schema_extra={"labels": {"": "as the target"}},
        ge=0,
        le=2,
    )

    @property
    def drafter_name(self) -> str:
        """Return the drafter as files name it: `skip-12-18`, `exit-28`, `model`."""
        if self.drafter == "skip":
            return "-".join(map(str, ("skip", *self.skip_layers)))
        return f"exit-{self.exit_layer}" if self.drafter == "exit" else "model"


def model_drafter(
    config: DraftModelConfig,
    models: Models,
    shape: TreePolicy,
    stops: Sequence[StopPolicy] = (),
    draft_taps: Sequence[int] = (),
) -> ModelDrafter:
    """Return the drafter that `config` describes; raise ValueError when it needs a second model and
    there is none.
    """
    opener, source = draft_opener(config, models)
    return ModelDrafter(opener, shape, source, stops, draft_taps, config.draft_temperature)


def draft_opener(config: DraftModelConfig, models: Models) -> tuple[Opener, str]:
    """Return what opens the drafter's session, and its name in the trace. Errors as above."""
    if config.drafter == "model":
        draft = models.draft
        if draft is None:
            raise ValueError(
                "This drafter is a second model: name one as draft model, or choose skip or exit."
            )

        def open_second(prompt: Sequence[int], target: Session) -> Session:
            return draft.open(prompt)

        return open_second, "model"
    if config.drafter == "skip":
        view, source = View(config.skip_layers, config.skip_layers), "skip"
    else:
        view, source = View(exit_layer=config.exit_layer), f"exit@{config.exit_layer}"

    def open_view(prompt: Sequence[int], target: Session) -> Session:
        return view.open(target)

    return open_view, source
