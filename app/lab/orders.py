"""What the Lab is asked, read from JSON and checked: where to look, what to throw, which models.

Every refusal is one sentence. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from app.orders import ModelsOrder, OrderError, check
from core.models.default import HUB
from core.models.errors import ModelError
from core.models.sources import DEFAULT, Hub, parse_source
from core.trace import ModelCard, Trace

_MOST = 100_000  # rounds and nodes are counted below it; the trace says how many it has


class LabOrder(BaseModel):
    """One question. `load`: the models may be loaded for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trace: str = Field(default="", max_length=200, title="Trace")
    round: int = Field(default=0, ge=0, le=_MOST, title="Round")
    node: int = Field(default=0, ge=0, le=_MOST, title="Node")
    load: bool = Field(default=False, title="Load")


class RoundsOrder(LabOrder):
    """What to throw at the node."""

    drafts: int = Field(default=2, ge=1, le=8, title="Drafts")
    mistake: Literal["none", "other_q", "greedy", "siblings", "likeliest", "one_side"] = Field(
        default="none", title="Mistake"
    )
    seed: int = Field(default=0, ge=0, le=2**32 - 1, title="Seed")


class XrayOrder(LabOrder):
    """Which budget of nodes the trees have."""

    budget: int = Field(default=16, ge=4, le=64, title="Node budget")


Kind = TypeVar("Kind", bound=LabOrder)


def read_question(kind: type[Kind], data: object) -> tuple[Kind, ModelsOrder]:
    """Return the question in `data`, and the models named with it. Raises OrderError."""
    if not isinstance(data, dict):
        raise OrderError("", "The question is no set of named values.")
    named = dict(cast("Mapping[str, object]", data))
    models = named.pop("models", {})
    if not isinstance(models, dict):
        raise OrderError("models", "The part 'models' of the question is no set of named values.")
    return check(kind, named), check(ModelsOrder, cast("Mapping[str, object]", models))


def models_for(trace: Trace, given: ModelsOrder) -> list[ModelsOrder]:
    """Return sets of models that can answer for a trace, the smallest last: those that its names
    lead to, and where a name is of a file on this disk, those `given`.
    """
    target = _address(trace.models.target) or given.target
    if trace.models.draft is not None:
        own = _is_own(trace)
        draft = "" if own else _address(trace.models.draft) or given.draft
        return [given.model_copy(update={"target": target, "draft": draft})]
    alone = given.model_copy(update={"target": target, "draft": ""})
    return [given.model_copy(update={"target": target}), alone] if given.draft else [alone]


def _is_own(trace: Trace) -> bool:
    """Tell whether the second model of a trace is the one that comes along with its target."""
    if trace.models.draft is None:
        return False
    from core.models.second import KIND, shipped  # late: they bring torch

    return trace.models.draft.id == shipped(KIND, trace.models.target).name


def _address(card: ModelCard) -> str | None:
    """Return where a model is found, on the hub or as the default; None: on some disk."""
    if card.id.rpartition("/")[2].partition(" (")[0] == HUB.repo.rpartition("/")[2]:
        return DEFAULT
    try:
        return card.id if isinstance(parse_source(card.id), Hub) else None
    except ModelError:
        return None
