"""Sequoia's picture shows the plan as it is, and counts what this run made of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import SequoiaExtras
from core.trace import Trace
from tests.viz import pictured
from tests.viz.pictured import figure_of, parts
from viz.payload import Picture
from viz.pictures.sequoia import draw
from viz.plan_layout import filled, laid_out
from viz.reading import Reading, read
from viz.theme import DARK, LIGHT, painted

P = [0.5, 0.2, 0.1, 0.05]


@pytest.fixture(autouse=True)
def _no_measurements_of_this_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))


run = partial(pictured.run, "sequoia", seed=2, tokens=30)


def shown(trace: Trace, index: int = 1) -> tuple[Picture, Reading, SequoiaExtras]:
    return pictured.shown(trace, draw, SequoiaExtras, index)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("config", [{}, {"budget": 1}, {"budget": 100, "acceptance": P}], ids=str)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_it_and_words_come_with_it(
    config: dict[str, object], temperature: float, palette: dict[str, str]
) -> None:
    trace = run(temperature, **config)
    for index, r in enumerate(trace.rounds):
        picture = draw(read(trace, index))
        assert (picture is not None) == (r.drafted > 0)
        if picture is not None:
            go.Figure(painted(figure_of(picture), palette))
            assert "first child: planned" in picture["section"]["alt"]
            assert cast(int, figure_of(picture)["layout"]["height"]) <= 470


def test_lines_are_as_wide_as_the_chance_of_their_place() -> None:
    picture, _, extra = shown(run(acceptance=P))
    widths = [
        cast(dict[str, float], line["line"])["width"] for line in parts(figure_of(picture), "plan")
    ]
    ranks = sorted(set(extra.tree_rank))
    assert widths == pytest.approx([max(0.8, 9 * P[rank]) for rank in ranks], abs=0.01)


def test_every_node_of_the_plan_is_drawn_and_no_two_share_a_place() -> None:
    picture, reading, extra = shown(run(acceptance=P, budget=40))
    (nodes,) = parts(figure_of(picture), "nodes")
    x, y = cast(list[float], nodes["x"]), cast(list[float], nodes["y"])
    assert len(x) == len(extra.tree_parent) + 1 == reading.size
    assert len(set(zip(x, y, strict=True))) == len(x)
    plan = laid_out(extra)
    for node in plan.nodes:
        assert x[node] == x[plan.parents[node]] + 1
        twin = [n for n in plan.nodes if plan.parents[n] == plan.parents[node]]
        assert [plan.ranks[n] for n in twin] == sorted(plan.ranks[n] for n in twin)


def test_the_path_of_the_round_is_the_accepted_one() -> None:
    trace = run(acceptance=P)
    for index, r in enumerate(trace.rounds):
        if not r.drafted:
            continue
        picture, reading, extra = shown(trace, index)
        assert len(parts(figure_of(picture), "path")) == len(r.outcome.accepted)
        found = filled(reading, laid_out(extra))
        assert sorted(found.values()) == list(range(reading.size))
        for node, drafted in found.items():
            if node:
                assert r.nodes.rank[drafted] == extra.tree_rank[node - 1]


def test_a_plan_that_was_cut_short_shows_what_was_not_drafted() -> None:
    trace = run(acceptance=[0.9, 0.05], budget=12, depth=6, tokens=4)
    index = max(i for i, r in enumerate(trace.rounds) if r.drafted)
    picture, reading, extra = shown(trace, index)
    assert reading.size < len(extra.tree_parent) + 1
    (nodes,) = parts(figure_of(picture), "nodes")
    colours = cast(dict[str, list[str]], nodes["marker"])["color"]
    assert colours.count("@paper") == len(extra.tree_parent) + 1 - reading.size


def test_dots_count_the_rounds_up_to_this_one() -> None:
    trace = run(acceptance=P)
    for index, r in enumerate(trace.rounds):
        if not r.drafted:
            continue
        stayed = tried = 0
        for other in trace.rounds[: index + 1]:
            visited = {other.nodes.parent[check.node] for check in other.checks}
            first = [n for n in range(1, len(other.nodes.token)) if other.nodes.rank[n] == 0]
            tried += sum(other.nodes.parent[n] in visited for n in first)
            stayed += sum(n in other.outcome.accepted for n in first)
        picture, _, _ = shown(trace, index)
        (dots,) = parts(figure_of(picture), "found")
        assert cast(list[float], dots["x"])[0] == pytest.approx(stayed / tried)
        assert f"{stayed:,} of {tried:,} in this run" in picture["section"]["alt"]


def test_the_foot_compares_the_plan_with_the_run() -> None:
    trace = run(acceptance=P)
    picture, _, extra = shown(trace, 1)
    wrote = len(trace.rounds[1].outcome.emitted)
    foot = picture["section"]["foot"]
    assert f"The plan expects {extra.expected:.2f} tokens a round" in foot
    assert f"the 1 round so far {wrote:.2f} on average" in foot


def test_it_says_whose_acceptance_the_plan_is_for() -> None:
    trace = run()
    picture, _, extra = shown(trace)
    assert "python -m core.measure acceptance" in picture["section"]["foot"]

    def foot(block: SequoiaExtras) -> str:
        return shown(pictured.with_extras(trace, [block]))[0]["section"]["foot"]

    assert foot(replace(extra, origin="given")).endswith("given as a setting.")
    measured = replace(extra, origin="shipped", counted=667, temperature=0.7, is_same=True)
    assert foot(measured).endswith("counted at 667 nodes at temperature 0.7.")
    other = replace(measured, is_same=False)
    assert foot(other).endswith("with other weights or another temperature.")
    assert "1.9 times the speed of plain decoding" in foot(replace(extra, speedup=1.91))


def test_a_round_of_another_method_has_none() -> None:
    assert pictured.has_none_without_its_block(run(), draw)


def test_the_record_survives_the_file_and_wrong_ones_are_refused() -> None:
    trace = run(acceptance=P)
    _, _, extra = shown(trace)
    wrong = (
        replace(extra, tree_rank=extra.tree_rank[1:]),
        replace(extra, tree_parent=[1, *extra.tree_parent[1:]]),
        replace(extra, tree_rank=[9, *extra.tree_rank[1:]]),
        replace(extra, acceptance=[0.9, 0.9]),
    )
    pictured.assert_kept_and_guarded(trace, wrong, "extras, sequoia")


def test_token_text_is_no_markup_and_no_colour() -> None:
    pictured.assert_token_text_is_data(run(), draw)
