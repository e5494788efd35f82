"""What a person asks for, read from JSON and checked: prompt, method, settings, sampling, models.

Every refusal names the field it speaks of and says in one sentence what is allowed. Knows no model
and no page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.commands.parameters import allowed, parameters
from app.limits import Limits

_SHOWN = 40  # characters of a wrong value that a sentence repeats
_SAFE = 2**53 - 1  # what a browser's numbers hold exactly


class OrderError(ValueError):
    """The order cannot be filled; `field` is where: `prompt`, `temperature`, `config.tree` ..."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SamplingOrder(_Part):
    """How the next token is drawn."""

    temperature: float = Field(
        default=0.0, ge=0, le=2, title="Temperature", description="0 takes the likeliest token"
    )
    top_k: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        title="Top-k",
        description="Keep the k likeliest tokens; 0 keeps all",
        json_schema_extra={"labels": {"0": "off"}},
    )
    top_p: float = Field(
        default=1.0,
        ge=0.001,
        le=1,
        title="Top-p",
        description="Keep the likeliest tokens up to this mass; 1 keeps all",
    )
    seed: int = Field(
        default=0,
        ge=-_SAFE,
        le=_SAFE,
        title="Seed",
        description="The same seed gives the same text",
    )
    max_new_tokens: int = Field(
        default=48, ge=1, le=100_000, title="New tokens", description="The text ends after so many"
    )
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        title="Stop at",
        description="The text ends before any of these strings; a comma between two",
    )


class ModelsOrder(_Part):
    """Which models run, and how."""

    target: str = Field(
        default="default",
        title="Target",
        description="A hub id, a folder or a GGUF file; default is SmolLM2-135M",
    )
    draft: str = Field(
        default="",
        title="Draft model",
        description="A second model of the same vocabulary, for the drafter model; empty: the "
        "project's own, for targets that have one",
        json_schema_extra={"labels": {"": "the project's own"}},
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        default="auto", title="Number format", description="Of the weights"
    )
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d{1,3})?)$",
        title="Device",
        description="auto, cpu, cuda, cuda:1 or mps",
    )
    threads: str = Field(
        default="auto",
        pattern=r"^(auto|[1-9]\d{0,3})$",
        title="Threads",
        description="auto takes the idle cores",
    )


@dataclass(frozen=True, slots=True)
class Order:
    """One checked wish."""

    prompt: str
    method: str
    config: Mapping[str, object]
    chat: bool = True
    sampling: SamplingOrder = field(default_factory=SamplingOrder)
    models: ModelsOrder = field(default_factory=ModelsOrder)


def read_order(data: Mapping[str, object], limits: Limits) -> Order:
    """Return the order in `data` (keys as in `Order`). Raises OrderError; loads no model."""
    order = Order(
        prompt=_prompt(data.get("prompt", ""), limits),
        method=_text(data, "method"),
        config=_block(data, "config"),
        chat=_switch(data, "chat"),
        sampling=check(SamplingOrder, _block(data, "sampling")),
        models=check(ModelsOrder, _block(data, "models")),
    )
    _within(order.sampling, limits)
    _method(order, limits)
    return order


def check_draft(order: Order) -> None:
    """Raise OrderError for a second model that would not run.

    A page keeps the name from one method to the next; who names it in a single call means it.
    """
    from core.registry import get  # late: see below

    method = get(order.method)
    config = method.configure(order.config)
    if not order.models.draft or method.drafts_with_second_model(config):
        return
    has_choice = "drafter" in type(config).model_fields
    instead = 'add "drafter": "model" to config' if has_choice else "leave draft empty"
    raise OrderError(
        "draft",
        f"The argument draft is {_shown(order.models.draft)}, but with these settings "
        f"{method.name} drafts without a second model: {instead}.",
    )


Config = TypeVar("Config", bound=BaseModel)


def check(kind: type[Config], values: Mapping[str, object], prefix: str = "") -> Config:
    """Return the typed values; raise OrderError at the first that is not allowed.

    The error's field is `prefix` and the name.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        given = values.get(name, first["input"])
        raise OrderError(prefix + name, _sentence(kind, name, given, first["msg"])) from None


def _sentence(kind: type[BaseModel], name: str, given: object, reason: str) -> str:
    known = {parameter.name: parameter for parameter in parameters(kind)}
    if name not in known:
        return f"There is no setting {name!r}; there are: {', '.join(known) or 'none'}."
    parameter = known[name]
    if parameter.type == "string" and not parameter.choices:
        words = parameter.description[:1].lower() + parameter.description[1:]
        return f"{parameter.title} is {_shown(given)}; it may be {words}."
    if reason.startswith("Value error, "):  # the config's own words
        return f"{parameter.title} is {_shown(given)}: {reason.removeprefix('Value error, ')}."
    if isinstance(given, Sequence) and " item" in reason:  # too many or too few
        bound = reason.removeprefix("Tuple ").partition(",")[0]
        return f"{parameter.title} has {len(given)} values; {bound}."
    a_list = "a " if parameter.type.startswith("list of ") else ""
    return f"{parameter.title} is {_shown(given)}; it may be {a_list}{allowed(parameter)}."


def _prompt(value: object, limits: Limits) -> str:
    if not isinstance(value, str):
        raise OrderError("prompt", "The prompt is no text; send it as a string.")
    if not value.strip():
        raise OrderError("prompt", "The prompt is empty; write at least one word.")
    if len(value) > limits.prompt_characters:
        raise OrderError(
            "prompt",
            f"The prompt has {len(value):,} characters; {limits.prompt_characters:,} are allowed.",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OrderError("prompt", "The prompt holds half a character; paste it again.") from None
    return value


def _within(sampling: SamplingOrder, limits: Limits) -> None:
    if sampling.max_new_tokens > limits.new_tokens:
        raise OrderError(
            "max_new_tokens",
            f"New tokens is {sampling.max_new_tokens:,}; it may be 1 to {limits.new_tokens:,}.",
        )
    if len(sampling.stop) > limits.stop_strings:
        raise OrderError(
            "stop",
            f"There are {len(sampling.stop)} stop strings; {limits.stop_strings} are allowed.",
        )
    longest = max(map(len, sampling.stop), default=0)
    if longest > limits.stop_characters:
        raise OrderError(
            "stop", f"A stop string has {longest} characters; {limits.stop_characters} are allowed."
        )


def _method(order: Order, limits: Limits) -> None:
    # late: they bring torch, and a page that only shows recordings needs none
    from core.registry import get

    try:
        method = get(order.method)
    except ValueError as error:
        raise OrderError("method", str(error)) from None
    config = check(method.config, order.config, "config.")
    nodes = config.most_nodes()
    if nodes > limits.nodes:
        raise OrderError(
            "config",
            f"This drafts up to {nodes:,} nodes a round; {limits.nodes:,} are allowed here.",
        )


def _text(data: Mapping[str, object], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise OrderError(name, f"The order names no {name}.")
    return value


def _switch(data: Mapping[str, object], name: str) -> bool:
    value = data.get(name, True)
    if not isinstance(value, bool):
        raise OrderError(name, f"The part {name!r} of the order is {_shown(value)}; true or false.")
    return value


def _block(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = data.get(name, {})
    if not isinstance(value, dict):
        raise OrderError(name, f"The part {name!r} of the order is no set of named values.")
    return cast("Mapping[str, object]", value)


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        text = ", ".join(map(str, value)) or "empty"
    else:
        text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
