"""The drift of the longest strand: over all roots and strands it adds up to the numbers of the spec
sheet, and a round's picture says its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import prod
from typing import cast

import pytest

from core.trace import Trace
from tests import sample_traces as samples
from tests.tree_rounds import hostile_trace, toy_trace
from viz.numbers import probability
from viz.pictures import strand_drift
from viz.reading import read
from viz.strand_odds import chances, drift, over_orders, roots_of

Row = Sequence[float]


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.46625, 0.31575, 0.218)),
        ((0.7, 0.2, 0.1), (0.4, 0.3, 0.3), (0.606083, 0.260667, 0.13325)),
    ],
)
def test_over_all_roots_and_strands_it_is_the_law_of_the_sheet(
    p: Row, q: Row, expected: Row
) -> None:
    exact, longest = [0.0] * 3, [0.0] * 3
    for pair in combinations(range(3), 2):
        first, second = pair
        drawn = p[first] * p[second] * (1 / (1 - p[first]) + 1 / (1 - p[second]))
        for children in product(range(3), repeat=2):
            mass = drawn * prod(q[child] for child in children)
            kept = [min(1.0, p[child] / q[child]) for child in children]
            within = {root: [1 - keep, 1.0] for root, keep in zip(pair, kept, strict=True)}
            found = over_orders({root: p[root] for root in pair}, within)
            for root in pair:
                exact[root] += mass * found.exact[root]
                longest[root] += mass * found.longest[root]
    assert exact == pytest.approx(p, abs=1e-12)
    assert longest == pytest.approx(expected, abs=1e-6)


def drafted(trace: Trace) -> list[int]:
    return [r.index for r in trace.rounds if r.drafted]


@pytest.mark.parametrize("tree", [[2, 1], [3, 2, 1], [4, 1, 1, 1]])
def test_a_round_s_laws_are_laws_over_its_roots(tree: list[int]) -> None:
    trace, moved = toy_trace("dynasd", {"tree": tree, "stop": "never"}), 0
    for index in drafted(trace):
        reading = read(trace, index)
        found = drift(reading)
        assert found is not None
        assert list(found.exact) == list(found.longest) == roots_of(reading)
        for law in (found.exact, found.longest):
            assert sum(law.values()) == pytest.approx(1, abs=1e-9)
            assert min(law.values()) >= 0
        assert 0 <= found.distance <= 1
        moved += found.distance > 0.01
    assert moved


def test_in_the_order_drawn_the_odds_are_those_of_the_round() -> None:
    trace = toy_trace("dynasd", {"tree": [2, 1], "stop": "never"}, temperature=0)
    for index in drafted(trace):
        reading = read(trace, index)
        found = drift(reading)
        assert found is not None
        assert found.longest == chances(reading)
        first, *others = roots_of(reading)
        assert found.exact == {first: 1.0, **dict.fromkeys(others, 0.0)}


def test_roots_after_a_lost_token_are_weighed_by_what_p_has_beyond_q() -> None:
    trace = toy_trace("dynasd", {"tree": [2, 1, 1], "stop": "never"}, new=48)
    met = 0
    for index in drafted(trace)[1:]:
        reading, before = read(trace, index), trace.rounds[index - 1]
        path = before.outcome.accepted
        if len(path) < 2 or path[-1] not in before.nodes.parent:
            continue
        law = reading.law_of[0]
        assert law.q is not None
        beyond = [max(0.0, a - b) for a, b in zip(law.p, law.q, strict=True)]
        masses = dict(zip(law.token, beyond, strict=True))
        a, b = (masses[reading.token(root)] / sum(beyond) for root in roots_of(reading))
        orders = a * b / (1 - a), b * a / (1 - b)
        found = drift(reading)
        assert found is not None
        assert list(found.exact.values()) == pytest.approx(
            [order / sum(orders) for order in orders], abs=1e-3
        )
        met += 1
    assert met


def test_the_picture_tells_both_chances_and_how_far_they_are_apart() -> None:
    trace = toy_trace("dynasd", {"tree": [2, 1, 1], "stop": "never"})
    for index in drafted(trace):
        reading = read(trace, index)
        picture, found = strand_drift.draw(reading), drift(reading)
        assert picture is not None
        assert found is not None
        figure = picture["section"]["figure"]
        assert figure is not None
        exact, longest = (cast(list[float], bars["x"]) for bars in figure["data"])
        assert exact == list(found.exact.values())
        assert longest == [*found.longest.values(), found.distance]
        assert f"The rule moves {probability(found.distance)} of" in picture["section"]["foot"]


def test_other_rounds_have_no_such_picture_and_token_text_is_no_markup() -> None:
    trace = samples.chain()
    assert all(strand_drift.draw(read(trace, index)) is None for index in range(len(trace.rounds)))
    wide = toy_trace("dynasd", {"tree": [6, 1], "stop": "never"})
    assert all(strand_drift.draw(read(wide, index)) is None for index in drafted(wide))
    hostile = hostile_trace("dynasd", {"tree": [3, 1], "stop": "never"})
    for index in drafted(hostile):
        picture = strand_drift.draw(read(hostile, index))
        assert picture is not None
        figure = picture["section"]["figure"]
        assert figure is not None
        names = cast(dict[str, list[str]], figure["layout"]["yaxis"])["ticktext"][:-1]
        assert not any(mark in name for name in names for mark in "<$@")
