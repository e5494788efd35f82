"""The columns of candidates say who was tried, and where a single candidate would have stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import plotly.graph_objects as go
import pytest

from core.extras import LevelsExtras
from core.trace import Round
from tests import sample_traces as samples
from tests.sample_traces import HOSTILE
from tests.viz.toy_rounds import SIZE, readings
from viz.payload import Figure
from viz.pictures import candidates
from viz.reading import Reading, read
from viz.theme import DARK, LIGHT, painted

pytestmark = pytest.mark.matrix

RUNS = [
    ("mcsd", {}, 1.0),
    ("mcsd", {}, 0.0),
    ("mcsd", {"rule": "independent"}, 1.0),
    ("mcsd", {"rule": "naive"}, 1.0),
    ("mcsd", {"tree": [6, 1]}, 1.0),
    ("specinfer", {}, 1.0),
    ("specinfer", {"tree": [3, 3]}, 1.0),
]
every_run = pytest.mark.parametrize(("method", "settings", "temperature"), RUNS, ids=str)


def figure(reading: Reading) -> Figure:
    picture = candidates.draw(reading)
    assert picture is not None
    assert picture["section"]["figure"] is not None
    return picture["section"]["figure"]


def names(found: Figure) -> dict[str, list[float]]:
    return {str(t["name"]): cast(list[float], t["x"]) for t in found["data"]}


def texts(found: Figure) -> list[str]:
    return [
        str(note["text"]) for note in cast(list[dict[str, object]], found["layout"]["annotations"])
    ]


@every_run
def test_a_column_holds_the_candidates_of_the_node_that_the_walk_came_by(
    method: str, settings: dict[str, object], temperature: float
) -> None:
    for reading in readings(method, settings, temperature):
        found, r = names(figure(reading)), reading.round
        assert found.get("accepted", []) == [1.0 + i for i in range(len(r.outcome.accepted))]
        states = r.nodes.state
        assert len(found.get("rejected", [])) == states.count("rejected")
        path = [0, *r.outcome.accepted]
        offered = [n for n, parent in enumerate(r.nodes.parent) if parent in path and n]
        shown = [x for state in ("accepted", "rejected", "unreached") for x in found.get(state, [])]
        assert len(shown) == len(offered)


def alone_by_hand(r: Round) -> int:
    """Return how far the first candidates come: those of rank 0, as long as their dart hits."""
    first = {c.node: c.passed for c in reversed(r.checks)}
    depth, node = 0, 0
    while True:
        children = [n for n, parent in enumerate(r.nodes.parent) if parent == node and n]
        children = [n for n in children if r.nodes.rank[n] == 0]
        if not children or not first.get(children[0], False):
            return depth
        depth, node = depth + 1, children[0]


@every_run
def test_the_line_stands_where_a_single_candidate_would_have_stopped(
    method: str, settings: dict[str, object], temperature: float
) -> None:
    seen: set[bool] = set()
    for seed in range(4):
        for reading in readings(method, settings, temperature, seed):
            picture, single = candidates.draw(reading), alone_by_hand(reading.round)
            assert picture is not None
            kept = len(reading.round.outcome.accepted)
            lines = cast(list[dict[str, float]], figure(reading)["layout"]["shapes"])
            assert [line["x0"] for line in lines] == ([single + 1.5] if single < kept else [])
            words = picture["section"]["foot"]
            assert ("as far" in words) == (single == kept)
            if single < kept:
                assert words.startswith(f"{kept} kept; a single candidate would have kept ")
                assert f"kept {single or 'none'}." in words
                assert "a single candidate stops here" in texts(figure(reading))
            seen.add(single < kept)
    assert seen == {False, True} or settings.get("tree") == [6, 1]


@every_run
def test_the_numbers_over_the_columns_are_the_config_and_the_nodes(
    method: str, settings: dict[str, object], temperature: float
) -> None:
    for reading in readings(method, settings, temperature):
        deepest = reading.round.max_depth
        levels = min(deepest, len(reading.round.outcome.accepted) + 1)  # where the walk came by
        shown = texts(figure(reading))
        picture = candidates.draw(reading)
        assert picture is not None
        below = f"evel{'' if levels + 1 == deepest else f's {levels + 1} to'} {deepest} came"
        assert (below in picture["section"]["foot"]) == (levels < deepest)
        depths = [d for d in reading.depths if d]
        (config,) = (e.widths for e in reading.round.extras if isinstance(e, LevelsExtras))
        assert shown[2 : 2 + levels] == [str(width) for width in config[:levels]]
        counted = [str(depths.count(level)) for level in range(1, levels + 1)]
        assert shown[2 + levels : 2 + 2 * levels] == counted


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_the_figure_and_token_text_is_no_markup(palette: dict[str, str]) -> None:
    words = dict(enumerate(HOSTILE[:SIZE]))
    for reading in readings("specinfer", {"tree": [3, 3]}, words=words):
        picture = candidates.draw(reading)
        assert picture is not None
        assert picture["section"]["alt"]
        drawn = go.Figure(painted(figure(reading), palette))
        for trace in drawn.data:
            for text in cast(Sequence[str], trace.text or ()):
                assert "<" not in text
                assert "$" not in text


def test_a_token_drawn_twice_says_so() -> None:
    seen = False
    for seed in range(6):
        for reading in readings("specinfer", {"tree": [4, 1]}, seed=seed):
            counts = reading.round.nodes.count
            labels = [
                t
                for trace in figure(reading)["data"]
                for t in cast(list[str], trace.get("text", []))
            ]
            repeated = [c for n, c in enumerate(counts) if reading.parent(n) == 0 and c > 1]
            for count in repeated:
                seen = True
                assert any(label.endswith(f"×{count}") for label in labels)
    assert seen


def test_other_rounds_have_no_such_picture() -> None:
    for trace in (samples.chain(), samples.tree(), samples.relaxed()):
        for index in range(len(trace.rounds)):
            assert candidates.draw(read(trace, index)) is None
    for reading in readings("speculative_sampling", {}):
        assert candidates.draw(reading) is None
    for reading in readings("typical_acceptance", {}):
        assert candidates.draw(reading) is None
    for reading in readings("dynasd", {"stop": "never"}):  # its roots are not tried
        assert candidates.draw(reading) is None
