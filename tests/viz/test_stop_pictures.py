"""The pictures of SVIP and DynaSD say what the round's own numbers say, and nothing to others."""

from __future__ import annotations

from typing import cast

import plotly.graph_objects as go
import pytest

from core.extras import DecisionExtras
from tests import sample_traces as samples
from tests.sample_traces import changed
from tests.viz.pictured import figure_of
from tests.viz.toy_rounds import readings, shown
from viz import strand_odds
from viz.payload import Figure
from viz.pictures import stopping, strands
from viz.reading import read
from viz.round import round_view
from viz.theme import LIGHT, painted


def test_methods_without_such_numbers_have_no_such_picture() -> None:
    trace = samples.chain()
    for index in range(len(trace.rounds)):
        assert stopping.draw(read(trace, index)) is None
        assert strands.draw(read(trace, index)) is None


@pytest.mark.parametrize("threshold", [0.0, 0.4, 4.0])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_line_passes_the_threshold_exactly_where_drafting_ended(
    threshold: float, temperature: float
) -> None:
    for reading in readings("svip", {"threshold": threshold, "length": 6}, temperature):
        r, picture = reading.round, stopping.draw(reading)
        assert picture is not None
        bars, line = figure_of(picture)["data"]
        values = cast(list[float], line["y"])
        assert len(values) == r.drafted == len(cast(list[float], bars["y"]))
        assert all(value <= threshold + 1e-4 for value in values[:-1])
        assert r.stop is not None
        if r.stop.reason == "entropy":
            assert values[-1] > threshold
        words = picture["section"]["foot"]
        assert ("ended" in words) == (r.stop.reason == "entropy")
        whole = len(r.outcome.accepted) == r.drafted
        assert ("All were kept" in words) == whole


def test_strands_are_told_with_the_chance_that_the_first_root_has() -> None:
    seen = 0
    for reading in readings("dynasd", {"stop": "never", "tree": [3, 1, 1]}):
        r = reading.round
        picture = strands.draw(reading)
        assert picture is not None
        assert "won, with" in picture["section"]["foot"]
        roots = [n for n, parent in enumerate(r.nodes.parent) if parent == 0]
        chances = strand_odds.chances(reading)
        assert list(chances) == roots
        assert sum(chances.values()) == pytest.approx(1, abs=1e-4)
        seen += 1
    assert seen > 3


def test_scores_of_the_decision_model_stand_below_their_tokens() -> None:
    r = readings("dynasd", {"stop": "never", "tree": [2, 1]})[0].round
    scores = [None if parent <= 0 else 0.25 for parent in r.nodes.parent]
    told = changed(r, extras=[DecisionExtras(score=scores, threshold=0.4)])
    picture = strands.draw(read(shown([told], 1.0), 0))
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    (scored,) = [trace for trace in figure["data"] if trace.get("name") == "scores"]
    assert scored["text"] == [".25", ".25"]
    gauge, track, tick = (
        next(trace for trace in figure["data"] if trace.get("name") == name)
        for name in ("gauge", "track", "threshold")
    )
    begin, end, gap, *_ = cast(list[float], gauge["x"])
    left, right, *_ = cast(list[float], track["x"])
    assert (begin, gap) == (left, None)
    assert end - begin == pytest.approx(0.25 * (right - left))
    assert cast(list[float], tick["x"])[0] - left == pytest.approx(0.4 * (right - left))
    assert "goes on above .40" in picture["section"]["note"]


def test_names_and_scores_of_strands_have_rows_of_their_own() -> None:
    """A score stands below its name and above the next row, in px."""
    r = readings("dynasd", {"stop": "never", "tree": [3, 1]})[0].round
    scores = [None if parent <= 0 else 0.25 for parent in r.nodes.parent]
    told = changed(r, extras=[DecisionExtras(score=scores, threshold=0.4)])
    picture = strands.draw(read(shown([told], 1.0), 0))
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    margin = cast(dict[str, float], figure["layout"]["margin"])
    axis = cast(dict[str, list[float]], figure["layout"]["yaxis"])["range"]
    row = (cast(float, figure["layout"]["height"]) - margin["t"] - margin["b"]) / (
        axis[1] - axis[0]
    )
    (scored,) = [trace for trace in figure["data"] if trace.get("name") == "scores"]
    down = [-(y % -1) * row for y in cast(list[float], scored["y"])]
    line, mark = 14, 7  # px: of type, half of a mark
    assert all(mark + 1.5 * line <= each <= row - mark - line / 2 for each in down)


def test_the_inspector_says_why_roots_and_shorter_strands_fared_as_they_did() -> None:
    words: set[str] = set()
    for reading in readings("dynasd", {"stop": "never", "tree": [3, 1, 1]}):
        view = round_view(reading.trace, 0)
        for inspector in view["inspectors"]:
            words.add("".join(run["text"] for run in inspector["rule"]))
    told = " ".join(words)
    assert "is a root, drawn from the target's law and never tested" in told
    assert "another strand kept a longer run" in told


def test_a_round_that_could_not_stop_by_entropy_says_so() -> None:
    reading = readings("svip", {"threshold": 4.0, "length": 2})[0]
    picture = stopping.draw(reading)
    assert picture is not None
    assert picture["section"]["foot"].startswith("Drafting ran to its longest")


def marks(figure: Figure) -> dict[float, str]:
    """Return the colour of every upright line, by its place."""
    lines = cast(list[dict[str, object]], figure["layout"]["shapes"])
    upright = [line for line in lines if line.get("yref") == "paper"]
    return {
        cast(float, line["x0"]): cast(dict[str, str], line["line"])["color"] for line in upright
    }


def words(figure: Figure) -> set[str]:
    notes = cast(list[dict[str, object]], figure["layout"]["annotations"])
    return {cast(str, each["text"]) for each in notes}


@pytest.mark.parametrize("threshold", [0.3, 0.4, 4.0])
def test_threshold_own_stop_and_oracle_stop_are_marked_and_named(threshold: float) -> None:
    seen = set[str]()
    for reading in readings("svip", {"threshold": threshold, "length": 6}):
        figure, r = figure_of(stopping.draw(reading)), reading.round
        found, said = marks(figure), words(figure)
        kept = len(r.outcome.accepted)
        assert f"threshold {threshold:g}" in said
        assert found[r.drafted + 0.5] == "@ink"
        assert found.get(kept + 0.5) == ("@ink" if kept == r.drafted else "@rejected")
        assert ("oracle" in said) == (kept < r.drafted)
        go.Figure(painted(figure, LIGHT))
        seen |= said
    assert "oracle" in seen
    assert seen & {"drafting stopped", "drafting ended"}


def test_the_reading_in_use_is_named() -> None:
    for values, name in (
        ({}, "√(0.15 H), H in nats"),
        ({"reading": "paper"}, "√(H), H in nats"),
        ({"reading": "own", "factor": 0.18}, "√(0.18 H), H in nats"),
    ):
        reading = readings("svip", values)[0]
        assert name in words(figure_of(stopping.draw(reading)))


def test_a_tree_is_judged_by_the_surest_law_of_each_level() -> None:
    settings = {"shape": "k_config", "stop": "entropy", "budget": 20}
    for reading in readings("mix", settings):
        picture = stopping.draw(reading)
        assert picture is not None
        _, line = figure_of(picture)["data"]
        values, r = cast(list[float], line["y"]), reading.round
        assert len(values) == r.max_depth
        for depth, value in enumerate(values, start=1):
            laws = {reading.parent(n) for n, at in enumerate(reading.depths) if at == depth}
            entropies = [cast(float, r.scalars.entropy_q[law]) for law in laws]
            assert value == pytest.approx((0.15 * min(entropies)) ** 0.5)
        assert "surest law" in picture["section"]["note"]
        assert "level" in picture["section"]["foot"]
        if r.stop is not None and r.stop.reason == "entropy":
            assert r.stop.value == pytest.approx(values[-1], abs=1e-4)
