"""Several methods as a command names them, and the settings that each of them gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.commands.errors import UsageError
from core.compare.comparison import MOST
from core.compare.running import PLAIN
from core.registry import Method, get

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """`label`: how settings name it: its key, with `:2` where it is the second of that key."""

    label: str
    method: Method
    pairs: Sequence[Pair]


def chosen(words: str, pairs: Sequence[Pair], with_plain: bool) -> list[Chosen]:
    """Return the methods that `a,b,c` names; plain decoding is left out unless `with_plain`.

    A setting `name=value` goes to every method that has it and is not given its own, one like
    `mcsd.name=value` to that method. Raises UsageError, or ValueError for a method that is none.
    """
    keys = [key.strip() for key in words.split(",") if key.strip()]
    keys = [key for key in keys if with_plain or key != PLAIN]
    if not keys:
        raise UsageError("There is nothing to compare: name at least one method beside plain.")
    if len(keys) > MOST:
        raise UsageError(f"{len(keys)} methods are named; {MOST} are allowed.")
    methods = dict(zip(_labels(keys), map(get, keys), strict=True))
    own = {label: [*_own(label, pairs)] for label in methods}
    for name, value in pairs:
        _check(name, value, methods)
    return [
        Chosen(label, method, [*own[label], *_shared(method, own[label], pairs)])
        for label, method in methods.items()
    ]


def _labels(keys: Iterable[str]) -> list[str]:
    seen = Counter[str]()
    labels: list[str] = []
    for key in keys:
        seen[key] += 1
        labels.append(key if seen[key] == 1 else f"{key}:{seen[key]}")
    return labels


def _own(label: str, pairs: Sequence[Pair]) -> Iterable[Pair]:
    for name, value in pairs:
        who, dot, setting = name.partition(".")
        if dot and who == label:
            yield setting, value


def _shared(method: Method, own: Sequence[Pair], pairs: Sequence[Pair]) -> Iterable[Pair]:
    named = {name for name, _ in own}
    for name, value in pairs:
        if name in method.config.model_fields and name not in named:
            yield name, value


def _check(name: str, value: str, methods: dict[str, Method]) -> None:
    who, dot, _ = name.partition(".")
    if dot and who not in methods:
        raise UsageError(
            f"The setting {name!r} is for {who!r}, which is not compared; there are: "
            f"{', '.join(methods)}."
        )
    if not dot and not any(name in method.config.model_fields for method in methods.values()):
        raise UsageError(f"None of the methods has a setting {name!r}.")
