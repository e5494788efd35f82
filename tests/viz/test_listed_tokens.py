"""Where the walk did not come, a law lists fewer tokens: no view may show the difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import core.reduce
from core.trace import FEW, TOP, Trace
from tests.tree_rounds import toy_trace
from viz.bars import MOST
from viz.replay_data import explore_payload
from viz.terminal import render

PIECES = tuple(f" word{token}".encode() for token in range(120))
METHODS: dict[str, dict[str, object]] = {
    "mcsd": {"tree": [3, 2, 2]},
    "eagle2": {"nodes": 16, "width": 3, "depth": 2},
    "greedy_multidraft": {},
}


def recorded(method: str, temperature: float) -> Trace:
    return toy_trace(method, METHODS[method], temperature, PIECES, new=8)


def leaves(value: object) -> Iterator[object]:
    """Yield all that a payload holds, in order."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def test_a_law_lists_at_least_the_rows_that_a_view_has() -> None:
    assert MOST < FEW < TOP


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("method", METHODS)
def test_views_are_those_of_the_longer_record(
    method: str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = recorded(method, temperature)
    monkeypatch.setattr(core.reduce, "FEW", TOP)
    whole = recorded(method, temperature)
    listed, all_listed = (
        sum(len(law.token) for r in trace.rounds for law in r.laws) for trace in (short, whole)
    )
    assert listed < all_listed
    ours, theirs = ([*leaves(explore_payload(trace)["rounds"])] for trace in (short, whole))
    numbers = [[x for x in found if isinstance(x, float)] for found in (ours, theirs)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-5)  # sums of rounded numbers
    words = [[x for x in found if not isinstance(x, float)] for found in (ours, theirs)]
    assert words[0] == words[1]
    assert render(short, trees=True) == render(whole, trees=True)
