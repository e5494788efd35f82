"""Packing loses nothing, and makes files of many rounds small."""

from __future__ import annotations

import gzip
import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sample_traces import ALL, long_run
from viz.packing import Json, Packed, packed
from viz.replay_data import explore_payload

pytestmark = pytest.mark.matrix

numbers = st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | st.text(max_size=4)
keys = st.sampled_from(["a", "b", "text"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=30,
)


def unpacked(column: Packed) -> list[Json]:
    """Return a column's values as the page does."""
    if "raw" in column:
        return column["raw"]
    if "at" in column:
        distinct = unpacked(column["of"])
        return [distinct[place] for place in column["at"]]
    if "lengths" in column:
        items = iter(unpacked(column["of"]))
        return [[next(items) for _ in range(length)] for length in column["lengths"]]
    if "has" in column:
        found: list[Json] = [None] * column["size"]
        for place, value in zip(column["has"], unpacked(column["of"]), strict=True):
            found[place] = value
        return found
    parts = {key: unpacked(part) for key, part in column["keys"].items()}
    size = len(next(iter(parts.values())))
    return [{key: part[row] for key, part in parts.items()} for row in range(size)]


@given(values)
def test_every_value_comes_back(value: Json) -> None:
    column = json.loads(json.dumps(packed(value)))
    (again,) = unpacked(column)
    assert json.dumps(again, sort_keys=True) == json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_payload_comes_back(name: str) -> None:
    payload = explore_payload(ALL[name]())
    (again,) = unpacked(json.loads(json.dumps(packed(cast(Json, payload)))))
    assert again == json.loads(json.dumps(payload))


def test_a_thousand_rounds_pack_into_a_fraction() -> None:
    payload = explore_payload(long_run())
    plain, small = (
        len(gzip.compress(json.dumps(value).encode(), 6, mtime=0))
        for value in (payload, packed(cast(Json, payload)))
    )
    assert small < 900_000
    assert small < plain / 3
