"""Plain JSON values as columns: what stands at the same place in many records is stored together.

Files of many rounds repeat keys, words and whole rows; as columns with each distinct value once
they are several times smaller. Lossless: records at one place that have different keys are kept as
they are. The page unpacks the columns again (`assets/js/carried.js`). Knows no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

import msgspec

Json = Mapping[str, "Json"] | Sequence["Json"] | str | float | bool | None

_WORTH = 0.8  # of the values are distinct: with more of them a table of distinct ones saves nothing


class Packed(TypedDict, total=False):
    """A column in one of five forms; the values stand in order."""

    raw: list[Json]  # the values themselves
    at: list[int]  # places among the distinct values, which are in `of`
    of: Packed
    has: list[int]  # places of the values that are not null, which are in `of`
    size: int
    lengths: list[int]  # of lists, whose items stand one after the other in `of`
    keys: dict[str, Packed]  # of records


def packed(value: Json) -> Packed:
    """Return a column that holds `value` alone."""
    return _column([value])


def _column(values: Sequence[Json]) -> Packed:
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return {"raw": list(values)}
    return _distinct(values) or _nullable(values) or _by_form(values)


def _distinct(values: Sequence[Json]) -> Packed | None:
    """Store equal values once, if that is worth a column of places."""
    if len(values) < 2:
        return None
    places: dict[bytes, int] = {}
    distinct: list[Json] = []
    at: list[int] = []
    for value in values:
        place = places.setdefault(msgspec.json.encode(value), len(places))
        if place == len(distinct):
            distinct.append(value)
        at.append(place)
    if len(distinct) > _WORTH * len(values):
        return None
    return {"at": at, "of": _nullable(distinct) or _by_form(distinct)}


def _nullable(values: Sequence[Json]) -> Packed | None:
    has = [place for place, value in enumerate(values) if value is not None]
    if len(has) == len(values):
        return None
    return {"has": has, "size": len(values), "of": _column([values[place] for place in has])}


def _by_form(values: Sequence[Json]) -> Packed:
    if all(isinstance(value, (list, tuple)) for value in values):
        lists = cast(Sequence[Sequence[Json]], values)
        return {
            "lengths": [len(each) for each in lists],
            "of": _column([item for each in lists for item in each]),
        }
    if values and all(isinstance(value, dict) for value in values):
        records = cast(Sequence[Mapping[str, Json]], values)
        keys = records[0].keys()
        if keys and all(record.keys() == keys for record in records):
            return {"keys": {key: _column([record[key] for record in records]) for key in keys}}
    return {"raw": list(values)}
