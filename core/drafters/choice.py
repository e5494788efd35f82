"""The choice of what drafts that several methods share: part of the target, a second model, or a
trained head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, field_validator

from core.drafters.model import ModelDrafter
from core.drafters.source import Source, Watch
from core.drafters.trim import (
    Size,
    Trim,
    TrimmedSession,
    head_size,
    model_size,
    named,
    trimmed_view,
    view_size,
)
from core.drafters.trim_record import TrimWatch
from core.heads.base import Head
from core.models.base import Session
from core.models.views import View
from core.parts import heads
from core.registry import MethodConfig, Models
from core.shapes.base import StopPolicy, TreePolicy

Layer = Annotated[int, Field(ge=0)]

_OWN = {
    "skip": "itself, some layers skipped",
    "exit": "itself, early exit",
    "model": "a second model",
}
_STEPS = [2**power for power in range(8, 17)]  # tokens, where a slider stops
_MOST_NAME = 512  # characters of a checkpoint's name


def vocabulary_field(default: int) -> int:
    """Return the declaration of how many tokens the drafter can name."""
    return Field(
        default,
        title="Draft vocabulary",
        description="Tokens that the drafter can name, those that the target writes most often; "
        "0: all that it knows",
        json_schema_extra={"labels": {"0": "all"}, "steps": [0, *_STEPS]},
        ge=0,
        le=2**20,
    )


class DrafterConfig(MethodConfig):
    """Base of the settings of every method that drafts with a session."""

    draft_temperature: float | None = Field(
        None,
        title="Draft temperature",
        description="Temperature of the drafter; empty: the target's",
        json_schema_extra={"labels": {"": "as the target"}},
        ge=0,
        le=2,
    )

    draft_vocabulary: int = vocabulary_field(0)

    @property
    def own_name(self) -> str:
        """Return the drafter as files name it: `skip-12-18`, `exit-28`, `model`, `medusa` ..."""
        raise NotImplementedError

    @property
    def drafter_name(self) -> str:
        """Return the drafter as files name it, told apart from the same with other tokens."""
        count = self.draft_vocabulary
        return f"{self.own_name}-top{count}" if count else self.own_name

    def source(self, models: Models) -> Source:
        """Return where drafts come from; raise ValueError with one sentence where it is missing."""
        count = self.draft_vocabulary
        return self.cut_source(models, Trim.of(models.counts(), count) if count else None)

    def cut_source(self, models: Models, trim: Trim | None) -> Source:
        """Return where drafts come from, of some tokens only where `trim` names them."""
        raise NotImplementedError

    def source_named(self, name: str, models: Models) -> Source:
        """Return where the drafts come from that a record calls `name`; errors as above."""
        return self.source(models)


def weights_field() -> str:
    """Return the declaration of a checkpoint's name."""
    return Field(
        "",
        title="Weights",
        description="Folder or hub id of a published checkpoint; empty: the ones that come along",
        json_schema_extra={"labels": {"": "the project's own"}},
        max_length=_MOST_NAME,
    )


class _Weights(MethodConfig):
    weights: str = weights_field()


class HeadConfig(DrafterConfig, _Weights):
    """The settings of a method that drafts with one kind of trained head."""

    kind: ClassVar[str]

    @property
    def own_name(self) -> str:
        return head_name(self.kind, self.weights)

    def cut_source(self, models: Models, trim: Trim | None) -> Source:
        return head_source(self.kind, models.heads(self.kind, self.weights), models, trim)


class SecondModelConfig(DrafterConfig):
    """The settings of a method that always drafts with a second model."""

    drafter: ClassVar[str] = "model"

    @property
    def own_name(self) -> str:
        return self.drafter

    def cut_source(self, models: Models, trim: Trim | None) -> Source:
        return _second_model(models, trim)


def drafter_field(default: str) -> str:
    """Return the declaration of the choice among all drafters."""
    labels: dict[str, JsonValue] = {**_OWN, **{key: part.name for key, part in heads().items()}}
    return Field(
        default,
        title="Drafter",
        description="skip: the target without some layers; exit: its first layers only; "
        "model: a second model, the project's own where none is named; others: a trained head",
        json_schema_extra={"enum": list(labels), "labels": labels},
    )


class _Choice(MethodConfig):
    """The fields of the choice; those of every drafter come after them."""

    drafter: str = drafter_field("skip")
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
    weights: str = weights_field()

    @field_validator("drafter")
    @classmethod
    def _is_drafter(cls, value: str) -> str:
        known = [*_OWN, *heads()]
        if value not in known:
            raise ValueError(f"it may be {', '.join(known[:-1])} or {known[-1]}")
        return value


class DraftModelConfig(DrafterConfig, _Choice):
    """Which model drafts."""

    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "skip_layers": ("drafter", "skip"),
        "exit_layer": ("drafter", "exit"),
        "weights": ("drafter", *heads()),
    }

    @property
    def own_name(self) -> str:
        if self.drafter == "skip":
            return "-".join(map(str, ("skip", *self.skip_layers)))
        if self.drafter == "exit":
            return f"exit-{self.exit_layer}"
        return "model" if self.drafter == "model" else head_name(self.drafter, self.weights)

    def cut_source(self, models: Models, trim: Trim | None) -> Source:
        if self.drafter == "model":
            return _second_model(models, trim)
        if self.drafter in heads():
            head = models.heads(self.drafter, self.weights)
            return head_source(self.drafter, head, models, trim)
        if self.drafter == "skip":
            return _part(View(self.skip_layers, self.skip_layers), "skip", models, trim)
        return _part(View(exit_layer=self.exit_layer), f"exit@{self.exit_layer}", models, trim)


def head_name(kind: str, weights: str) -> str:
    """Return a head as files name it."""
    return kind if not weights else f"{kind}-{weights.rstrip('/').rpartition('/')[2]}"


def head_source(kind: str, head: Head, models: Models, trim: Trim | None) -> Source:
    """Return what drafts with a trained head; raise ValueError where it can name no token that
    `trim` leaves.
    """
    if trim is None:
        return Source(head.open, kind, head.taps)
    watch = _watch(trim.within(head.vocabulary), head_size(head, models.target), models)
    return Source(head.trimmed(trim.vocabulary).open, kind, head.taps, watch)


def _second_model(models: Models, trim: Trim | None) -> Source:
    draft = models.draft
    if draft is None:
        raise ValueError(
            f"This drafter is a second model, and none comes along for {models.target.card.id}: "
            "name one as draft model, train one with python -m core.train fastdraft, or choose "
            "another drafter."
        )

    left = trim and trim.within(named(draft))

    def open_second(text: Sequence[int], target: Session) -> Session:
        session = draft.open(text)
        return session if left is None else TrimmedSession(session, left.vocabulary)

    watch = None if left is None else _watch(left, model_size(draft), models)
    return Source(open_second, "model", watch=watch)


def _part(view: View, name: str, models: Models, trim: Trim | None) -> Source:
    def open_view(text: Sequence[int], target: Session) -> Session:
        return view.open(target) if trim is None else trimmed_view(view, target, trim.vocabulary)

    watch = None if trim is None else _watch(trim, view_size(view, models.target), models)
    return Source(open_view, name, watch=watch)


def _watch(trim: Trim, size: Size, models: Models) -> Watch:
    return TrimWatch(trim, size, models.target.card.parameters)


def model_drafter(
    config: DrafterConfig,
    models: Models,
    shape: TreePolicy,
    stops: Sequence[StopPolicy] = (),
    draft_taps: Sequence[int] = (),
) -> ModelDrafter:
    """Return the drafter that `config` describes; raise ValueError when it needs a second model or
    trained weights and there are none.
    """
    return drafter_of(config.source(models), shape, stops, draft_taps, config.draft_temperature)


def drafter_of(
    source: Source,
    shape: TreePolicy,
    stops: Sequence[StopPolicy] = (),
    draft_taps: Sequence[int] = (),
    temperature: float | None = None,
) -> ModelDrafter:
    """Return the drafter that grows `shape` with the sessions of `source`."""
    return ModelDrafter(
        source.open,
        shape,
        source.name,
        stops,
        draft_taps,
        temperature,
        source.taps,
        source.watch,
    )
