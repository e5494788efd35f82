"""Whatever method blocks a valid trace has, every view draws it; what is not valid is refused."""

from __future__ import annotations

import gzip
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.extras import Extras
from core.trace import Trace
from core.trace_io import TraceError, dumps, loads
from tests.made_blocks import MAKERS
from tests.traces import random_trace
from viz.export import to_csv
from viz.replay_data import explore_payload
from viz.terminal import render

KINDS = pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
MOST_TEXT = 2_000_000  # characters of what a page gets for two small rounds
ODD = (
    *(None, True, 0, -1, 1, 2, 7, 100, 5000, 2**31, 2**53 - 1, 2**60),
    *(0.5, -0.5, 1e-320, 1e300, "", "root", "x" * 1000, [], [0], [[]], {}),
)


def drawn(trace: Trace) -> None:
    """Draw all views of a trace, at temperature 0 as well: laws and words differ there."""
    for temperature in (0.0, 0.7):
        told = replace(trace, sampling=replace(trace.sampling, temperature=temperature))
        assert len(json.dumps(explore_payload(told), allow_nan=False)) < MOST_TEXT
        assert render(told, trees=True).endswith("\n")
        assert to_csv(told, "nodes")


@KINDS
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_every_view_draws_a_round_with_the_block(kind: type[Extras], seed: int) -> None:
    drawn(random_trace(Random(seed), rounds=2, kinds=(kind,)))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_every_view_draws_rounds_with_several_blocks(seed: int) -> None:
    drawn(random_trace(Random(seed), rounds=3))


@KINDS
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_a_block_with_something_odd_is_refused_or_drawn(kind: type[Extras], seed: int) -> None:
    """Well-formed files whose block has wrong values: no view meets what it cannot draw."""
    random = Random(seed)
    text = gzip.decompress(dumps(random_trace(random, rounds=2, kinds=(kind,))))
    document = json.loads(text)
    for _ in range(random.choice([1, 1, 2])):
        _spoil(random, document["rounds"][random.randrange(2)]["extras"])
    found = _read(json.dumps(document).encode())
    if isinstance(found, Trace):
        drawn(found)
    else:
        assert found.endswith(".")
        assert len(found) < 400


def _read(data: bytes) -> Trace | str:
    """Return the trace, or the sentence; anything else that is raised fails the test."""
    try:
        return loads(data)
    except TraceError as error:
        return str(error)


def _spoil(random: Random, block: list[object]) -> None:
    """Replace one value, somewhere inside."""
    container, key = random.choice(list(_places(block)))
    old = container[key]
    if isinstance(old, list) and random.random() < 0.7:
        container[key] = random.choice([old[:-1], old[1:], old * 2, old[::-1], [], [*old, 0]])
    elif isinstance(old, int | float) and random.random() < 0.3:
        container[key] = old + random.choice([1, -1, 0.001, 5])
    else:
        container[key] = random.choice(ODD)


def _places(value: object) -> list[tuple[object, object]]:
    """Return every (container, key) in a document."""
    found: list[tuple[object, object]] = []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(item, dict | list):
            found += _places(item)
    return found
