"""The parts that methods are made of, found by looking into the folders of rules, shapes, stops and
trained heads.

A module declares what it offers as `PARTS`; registry, catalogue, mixed methods, ladder and X-ray
read it from here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Generic, Literal, TypeVar, cast

import core.heads
import core.shapes
import core.verify
from core.heads.base import Head, HeadMaker
from core.shapes.base import StopPolicy, TreePolicy
from core.verify.base import Verifier

P = TypeVar("P", covariant=True)
Kind = Literal["rule", "shape", "stop", "head"]


@dataclass(frozen=True, slots=True)
class Part(Generic[P]):
    """`make` builds it with the defaults of its paper; a shape within a budget of nodes."""

    kind: Kind
    key: str
    name: str
    idea: str  # one sentence
    paper: str
    make: Callable[..., P]
    lossless: bool = True


def rule(
    key: str, name: str, idea: str, paper: str, make: Callable[[], Verifier], lossless: bool = True
) -> Part[Verifier]:
    return Part("rule", key, name, idea, paper, make, lossless)


def shape(
    key: str, name: str, idea: str, paper: str, make: Callable[[int], TreePolicy]
) -> Part[TreePolicy]:
    """`make` takes the budget: the nodes that may be offered in a round."""
    return Part("shape", key, name, idea, paper, make)


def stop(
    key: str, name: str, idea: str, paper: str, make: Callable[[], StopPolicy]
) -> Part[StopPolicy]:
    return Part("stop", key, name, idea, paper, make)


def head(key: str, name: str, idea: str, paper: str, make: HeadMaker) -> Part[Head]:
    """`make` reads a checkpoint's folder for a target; it raises ValueError with one sentence for
    one that is damaged or does not fit.
    """
    return Part("head", key, name, idea, paper, make)


def rules() -> Mapping[str, Part[Verifier]]:
    return cast(Mapping[str, Part[Verifier]], _found("rule"))


def shapes() -> Mapping[str, Part[TreePolicy]]:
    return cast(Mapping[str, Part[TreePolicy]], _found("shape"))


def stops() -> Mapping[str, Part[StopPolicy]]:
    return cast(Mapping[str, Part[StopPolicy]], _found("stop"))


def heads() -> Mapping[str, Part[Head]]:
    return cast(Mapping[str, Part[Head]], _found("head"))


@cache
def _found(kind: Kind) -> Mapping[str, Part[object]]:
    found: dict[str, Part[object]] = {}
    for package in (core.verify, core.shapes, core.heads):
        for part in _declared(package):
            if part.kind == kind:
                if part.key in found:
                    raise ValueError(f"two {kind}s are called {part.key!r}")
                found[part.key] = part
    return found


def _declared(package: ModuleType) -> list[Part[object]]:
    names = [f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(name) for name in sorted(names)]
    return [part for module in modules for part in getattr(module, "PARTS", ())]
