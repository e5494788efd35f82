"""What was drawn twice is one node, tested twice: every view of such a round stands."""

from __future__ import annotations

from tests.viz.toy_rounds import readings
from viz.laws import laws_before, remains_after
from viz.round import round_view


def test_a_node_that_missed_twice_is_shown_with_the_law_of_each_moment() -> None:
    seen = 0
    for seed in range(20):
        for reading in readings("specinfer", {"tree": [4, 2]}, seed=seed):
            assert round_view(reading.trace, 0)["inspectors"]
            tested = [check.node for check in reading.round.checks]
            for place, check in enumerate(reading.round.checks):
                if tested[:place].count(check.node):
                    seen += 1
                    laws = laws_before(reading, place)
                    assert laws is not None
                    assert abs(laws.p.get(reading.token(check.node), 0.0) - (check.p or 0.0)) < 1e-5
                if not check.passed:
                    assert remains_after(reading, place) is not None
    assert seen
