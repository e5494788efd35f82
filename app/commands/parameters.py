"""A method's settings as a person meets them: what each is, and how `name=value` becomes a value.

Read from the method's pydantic `Config`, the one place where a setting is declared; which values
are allowed is checked there and nowhere else. Knows no method by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from app.commands.errors import UsageError

if TYPE_CHECKING:  # controls and help texts are made before torch is there
    from pydantic import BaseModel

    from core.registry import Method

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Schema = Mapping[str, Json]


class Parameter(Struct, frozen=True, kw_only=True):
    """One setting. Bounds hold for each number, in a list too; `choices` are all its values."""

    name: str
    title: str
    type: str  # integer, number, boolean, string, list of integer ...
    optional: bool  # may be none
    default: Json
    minimum: Json = None
    maximum: Json = None
    choices: list[Json] | None = None
    description: str = ""
    only_with: tuple[str, ...] | None = (
        None  # another setting, and its values with which this matters
    )
    labels: dict[str, str] = {}  # how a page writes certain values; "" is the value none
    steps: list[int] | None = None  # values at which a slider stops; any between is allowed too


def parameters(config: type[BaseModel]) -> list[Parameter]:
    """Return the settings that `config` declares, in its order."""
    schema = cast(Schema, config.model_json_schema())
    others = cast("Mapping[str, tuple[str, ...]]", getattr(config, "only_with", {}))
    return [
        replace(_parameter(name, part), only_with=others.get(name))
        for name, part in _schemas(schema.get("properties")).items()
    ]


def parse_settings(method: Method, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return values for `method.configure`, which checks them.

    Raises UsageError where a name is given twice.
    """
    known = {parameter.name: parameter for parameter in parameters(method.config)}
    values: dict[str, object] = {}
    for name, text in pairs:
        if name in values:
            raise UsageError(f"The setting {name!r} is given twice.")
        values[name] = _value(known[name], text) if name in known else text
    return values


def allowed(parameter: Parameter) -> str:
    """Return which values there are: `1 to 32`, `skip, exit or model`, `list of integers`."""
    if parameter.choices:
        *most, last = map(written, parameter.choices)
        return f"{', '.join(most)} or {last}" if most else last
    low, high = parameter.minimum, parameter.maximum
    span = f"{written(low)} to {written(high)}" if low is not None and high is not None else ""
    if not span and low is not None:
        span = f"{written(low)} or more"
    if not span and high is not None:
        span = f"{written(high)} or less"
    if parameter.type.startswith("list of "):
        return f"{parameter.type}s" + (f", each {span}" if span else "")
    return span or ("true or false" if parameter.type == "boolean" else parameter.type)


def written(value: Json) -> str:
    """Return a value as it is written after `name=`."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return ",".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter(name: str, schema: Schema) -> Parameter:
    kind, optional = _kind(schema)
    part = _item(kind) if kind.get("type") == "array" else kind
    single = "choice" if "enum" in part and "type" not in part else str(part.get("type", "string"))
    return Parameter(
        name=name,
        title=str(schema.get("title", name)),
        type=f"list of {single}" if part is not kind else single,
        optional=optional,
        default=schema.get("default"),
        minimum=part.get("minimum", part.get("exclusiveMinimum")),
        maximum=part.get("maximum", part.get("exclusiveMaximum")),
        choices=_choices(part),
        description=str(schema.get("description", "")),
        labels=cast("dict[str, str]", schema.get("labels", {})),
        steps=cast("list[int] | None", schema.get("steps")),
    )


def _kind(schema: Schema) -> tuple[Schema, bool]:
    """Return what a value looks like, and whether it may be none instead."""
    kinds = schema.get("anyOf")
    if not isinstance(kinds, list):
        return schema, False
    given = [kind for kind in kinds if isinstance(kind, dict) and kind.get("type") != "null"]
    return (given[0] if given else {}), len(given) < len(kinds)


def _item(kind: Schema) -> Schema:
    """Return what a value in a list looks like; all values of one list look alike."""
    items = kind.get("items")
    if isinstance(items, dict):
        return items
    places = kind.get("prefixItems")
    first = places[0] if isinstance(places, list) and places else {}
    return first if isinstance(first, dict) else {}


def _choices(kind: Schema) -> list[Json] | None:
    choices = kind.get("enum", [kind["const"]] if "const" in kind else None)
    return choices if isinstance(choices, list) else None


def _schemas(value: Json) -> dict[str, Schema]:
    parts = value if isinstance(value, dict) else {}
    return {name: part for name, part in parts.items() if isinstance(part, dict)}


def _value(parameter: Parameter, text: str) -> object:
    """Return what the config can read: numbers and booleans may stay text, lists may not."""
    word = text.strip()
    if parameter.optional and word.lower() == "none":
        return None
    if parameter.type.startswith("list of "):
        inner = word.strip("[]()")
        return [part.strip() for part in inner.split(",")] if inner else []
    same = [choice for choice in parameter.choices or () if written(choice) == word]
    return same[0] if same else word
