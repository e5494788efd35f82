"""Numbers as people have them (lists, arrays, tensors) as plain ints and floats, or one sentence.

Knows no array library: anything with `tolist` will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

from core.validate import TraceError

Column = list[float | None]


@runtime_checkable
class Array(Protocol):
    """A tensor or array of any library."""

    def tolist(self) -> object:
        """Return nested lists of Python numbers, or one number."""
        ...


Numbers = Sequence[float | None] | Array


def plain(value: object) -> object:
    """Return `value` as Python data where it is an array."""
    return value.tolist() if isinstance(value, Array) else value


def whole(name: str, value: object) -> int:
    """Return a whole number of 0 or more."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 2**53:
        raise TraceError(f"{name} is {_shown(found)}; it must be a whole number of 0 or more.")
    return found


def number(name: str, value: object, high: float = 1e12) -> float:
    """Return a number from 0 to `high`."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= high:
        limits = "of 0 or more" if high > 1 else "from 0 to 1"
        raise TraceError(f"{name} is {_shown(found)}; it must be a number {limits}.")
    return float(found)


def tokens(name: str, values: object) -> list[int]:
    """Return a flat list of whole numbers."""
    return [whole(f"{name}[{i}]", value) for i, value in enumerate(_flat(name, values))]


def probabilities(name: str, values: object, count: int) -> Column:
    """Return None for node 0, then one probability per draft token; all None without `values`."""
    if values is None:
        return [None] * (count + 1)
    items = _flat(name, values)
    if len(items) != count:
        raise TraceError(f"{name} has {len(items)} entries for {count} draft tokens.")
    return [
        None,
        *(None if v is None else number(f"{name}[{i}]", v, 1) for i, v in enumerate(items)),
    ]


def _flat(name: str, values: object) -> Sequence[object]:
    found = plain(values)
    if isinstance(found, (str, bytes)) or not isinstance(found, Sequence):
        raise TraceError(f"{name} is {_shown(found)}; it must be a flat list.")
    return cast("Sequence[object]", found)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
