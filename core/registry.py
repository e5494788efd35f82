"""The methods, found by looking into `core/methods/`: one paper, one file.

A method's file holds a docstring (first line: the idea in one sentence; then what there is to say,
one paragraph being the citation: authors, colon, title), a frozen pydantic `Config` (the one
declaration of each parameter) and a `build` function under `@method(...)`. Catalogue, controls,
CLI, README table and exactness test all read it from here.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

import core.methods
from core.decode import Decoder
from core.heads.base import Heads, no_heads
from core.heads.frequencies import Counts, no_counts
from core.models.base import LanguageModel

Value = str | int | float | bool | None | list[int | float | str]
Family = Literal[
    "baseline",
    "model-centric: independent drafter",  # a model that owes the target nothing
    "model-centric: dependent drafter",  # made of the target's layers or states
    "draft-centric: probability",
    "draft-centric: search",
    "draft-centric: tree and graph",
    "draft-centric: hybrid and adaptive",
    "verification",
    "serving",
    "workbench",
]
"""Where a method stands in the survey by Ryu and Kim (arXiv 2411.13157). It has no place for rules
and for serving, which are ours, and so is the placing.
"""
Trained = Literal["nothing", "draft model", "heads", "adapter", "stop rule"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a method is made of with its default settings, by the keys of `core.catalogue`; empty:
    no such part.
    """

    drafter: str = ""
    shape: str = ""
    rule: str = ""
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """A number from the method's own paper: what it counts, and what it was measured on."""

    number: str
    counts: str
    on: str


class MethodConfig(BaseModel):
    """Base of every `Config`: frozen, strict about unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    only_with: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Settings that matter only while another has certain values: name -> (other, value ...)."""

    def applied(self) -> dict[str, Value]:
        """Return the settings that take part, as JSON values."""
        values: dict[str, Value] = self.model_dump(mode="json")
        idle = {
            name
            for name, (other, *values) in self.only_with.items()
            if getattr(self, other) not in values
        }
        return {name: value for name, value in values.items() if name not in idle}

    def most_nodes(self) -> int:
        """Return how many nodes a round drafts at most, 0 where nothing is drafted."""
        return 0

    def applied_names(self) -> dict[str, str]:
        """Return what a page calls the settings that take part."""
        fields = type(self).model_fields
        return {name: fields[name].title or name for name in self.applied()}


@dataclass(frozen=True, slots=True)
class Models:
    """What a method may build on. `ends`: tokens that end a text; `heads`: finds trained heads;
    `counts`: how often the target writes each token.
    """

    target: LanguageModel
    draft: LanguageModel | None = None
    ends: frozenset[int] = frozenset()
    heads: Heads = no_heads
    counts: Counts = no_counts


C = TypeVar("C", bound=MethodConfig)
_AUTHORS = re.compile(r"[A-Z][\w'-]+(?:, [A-Z][\w'-]+)*(?: et al\.)?: ")


@dataclass(frozen=True, slots=True)
class Method:
    """One published method. `toy`: settings for the exact enumeration on a tiny vocabulary."""

    key: str
    name: str
    idea: str  # one sentence
    about: str  # the rest of the file's docstring
    paper: str
    url: str
    year: int
    family: Family
    lossless: bool
    config: type[MethodConfig]
    parts: Parts
    trained: Trained  # by its paper
    reported: Sequence[Reported]
    maker: Callable[[MethodConfig, Models], Decoder]
    toy: Mapping[str, object]

    @property
    def citation(self) -> str:
        """Return the paragraph that begins with the authors' names; empty where none does."""
        paragraphs = (" ".join(part.split()) for part in self.about.split("\n\n"))
        return next(filter(_AUTHORS.match, paragraphs), "")

    def configure(self, values: Mapping[str, object]) -> MethodConfig:
        """Return the typed config; raise ValueError with one sentence that says what is allowed."""
        try:
            return self.config.model_validate(dict(values))
        except ValidationError as error:
            raise ValueError(_sentence(self, error)) from None

    def drafts_with_second_model(self, config: MethodConfig) -> bool:
        """Return whether a run with `config` uses a draft model beside the target."""
        return getattr(config, "drafter", None) == "model"

    def build(self, values: Mapping[str, object], models: Models) -> Decoder:
        """Return fresh parts for one run; raise ValueError where something does not fit."""
        return self.maker(self.configure(values), models)


def method(
    key: str,
    *,
    name: str,
    paper: str,
    url: str,
    year: int,
    family: Family,
    lossless: bool,
    config: type[C],
    parts: Parts,
    trained: Trained = "nothing",
    reported: Sequence[Reported] = (),
    toy: Mapping[str, object] | None = None,
) -> Callable[[Callable[[C, Models], Decoder]], Method]:
    """Turn a build function into a registered method; `config` types its first argument."""

    def wrap(build: Callable[[C, Models], Decoder]) -> Method:
        def make(values: MethodConfig, models: Models) -> Decoder:
            if not isinstance(values, config):
                raise TypeError(f"{key} needs its own Config")
            return build(values, models)

        idea, _, about = inspect.cleandoc(inspect.getmodule(build).__doc__ or "").partition("\n\n")
        return Method(
            key,
            name,
            " ".join(idea.split()),
            about,
            paper,
            url,
            year,
            family,
            lossless,
            config,
            parts,
            trained,
            reported,
            make,
            toy or {},
        )

    return wrap


@cache
def methods() -> Mapping[str, Method]:
    """Return all methods by key, in order of their year and name."""
    found: dict[str, Method] = {}
    for info in pkgutil.iter_modules(core.methods.__path__):
        module = _imported(f"core.methods.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Method):
                if value.key in found:
                    raise ValueError(f"two methods are called {value.key!r}")
                found[value.key] = value
    return dict(sorted(found.items(), key=lambda item: (item[1].year, item[1].name)))


def _imported(name: str) -> ModuleType:
    """Import a method's file; raise ImportError with one sentence where it is wrong."""
    try:
        return importlib.import_module(name)
    except (NameError, SyntaxError, TypeError, ImportError) as error:
        file = f"{name.replace('.', '/')}.py"
        raise ImportError(f"{file} cannot be imported: {error}.") from error


def get(key: str) -> Method:
    """Return one method; raise ValueError that lists the keys when there is none of that name."""
    if key not in methods():
        raise ValueError(f"There is no method {key!r}; there are: {', '.join(methods())}.")
    return methods()[key]


def _sentence(owner: Method, error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "the settings"
    if first["type"] == "extra_forbidden":
        known = ", ".join(owner.config.model_fields) or "none"
        return f"{owner.name} has no setting {name!r}; it has: {known}."
    field = owner.config.model_fields.get(str(first["loc"][0])) if first["loc"] else None
    title = field.title if field is not None and field.title else name
    return f"{title} is {_told(first['input'])}: {_reason(first['msg'])}."


def _told(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, cast("list[object]", value))) or "empty"
    return repr(value)


_REASONS = (
    ("Value error, ", ""),
    ("Input should be a valid ", "it should be a "),
    ("Input should be ", "it should be "),
    ("Tuple should have ", "it should have "),
    (" after validation", ""),
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    ("greater than or equal to ", "at least "),
    ("less than or equal to ", "at most "),
    ("a integer", "a whole number"),
)


def _reason(message: str) -> str:
    """Return pydantic's reason in our words."""
    for theirs, ours in _REASONS:
        message = message.replace(theirs, ours)
    return message
