"""The pictures of EAGLE's trees show every candidate once, and what became of it."""

from __future__ import annotations

from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import PoolExtras, StaticExtras
from core.metrics import offered
from core.trace import Trace
from tests.sample_traces import chain, tree
from tests.tree_rounds import MARKUP, hostile_trace, toy_trace
from tests.viz.pictured import column, figure_of, part
from viz.payload import Figure
from viz.pictures import calibration, expand_rerank, static_tree
from viz.reading import read
from viz.theme import DARK, LIGHT, painted

POOL = {"width": 3, "nodes": 14, "depth": 3}
TEMPERATURES = pytest.mark.parametrize("temperature", [0.0, 0.8])


def block(trace: Trace, index: int) -> PoolExtras | None:
    return next((e for e in trace.rounds[index].extras if isinstance(e, PoolExtras)), None)


def sizes(figure: Figure, name: str) -> list[float]:
    return cast(dict[str, list[float]], part(figure, name)["marker"])["size"]


def heads(figure: Figure) -> list[str]:
    annotations = cast(list[dict[str, object]], figure["layout"]["annotations"])
    return [str(each["text"]) for each in annotations if each.get("yref") == "paper"]


@TEMPERATURES
def test_what_was_kept_is_filled_what_was_expanded_is_ringed_and_what_came_is_blue(
    temperature: float,
) -> None:
    trace, seen = toy_trace("eagle2", POOL, temperature), 0
    for index, r in enumerate(trace.rounds):
        pool = block(trace, index)
        picture = expand_rerank.draw(read(trace, index))
        assert (picture is None) == (pool is None)
        if pool is None:
            continue
        figure = figure_of(picture)
        kept = len(column(figure, "kept")) + len(column(figure, "accepted"))
        assert kept == r.drafted
        assert len(column(figure, "accepted")) == len(r.outcome.accepted)
        assert len(column(figure, "expanded")) == sum(pool.frontier)
        seen += 1
    assert seen > 3


def test_a_circle_s_area_is_the_product_and_a_column_s_best_is_on_top() -> None:
    trace = toy_trace("eagle2", POOL)
    index = next(i for i, r in enumerate(trace.rounds) if r.drafted)
    figure, pool = figure_of(expand_rerank.draw(read(trace, index))), block(trace, index)
    assert pool is not None
    found: dict[tuple[float, float], float] = {}
    for name in ("seen", "kept", "accepted"):
        places = zip(column(figure, name), column(figure, name, "y"), strict=True)
        found |= dict(zip(places, sizes(figure, name), strict=True))
    for step in range(len(pool.sizes)):
        scores = sorted(
            (s for s, at in zip(pool.score, pool.step, strict=True) if at == step), reverse=True
        )
        rows = [found[step, row] for row in range(len(scores)) if (step, row) in found]
        assert rows == pytest.approx([max(3, 15 * s**0.5) for s in scores[: len(rows)]], abs=0.06)


def test_heads_count_what_was_seen_and_kept_at_every_step() -> None:
    trace = toy_trace("eagle2", POOL)
    index = next(i for i, r in enumerate(trace.rounds) if r.drafted and r.max_depth > 2)
    pool, picture = block(trace, index), expand_rerank.draw(read(trace, index))
    assert pool is not None
    lines = heads(figure_of(picture))
    assert lines[1::3] == [f"{size} seen" for size in pool.sizes]
    kept = [
        sum(n is not None and at == step for n, at in zip(pool.node, pool.step, strict=True))
        for step in range(len(pool.sizes))
    ]
    assert lines[2::3] == [f"{number} kept" for number in kept]
    assert picture is not None
    assert f"the best {sum(kept)} kept" in picture["section"]["foot"]
    assert picture["section"]["alt"].startswith("Step 1: 3 candidates seen, 3 expanded next")


def test_sixty_nodes_are_all_there_and_rows_are_bounded() -> None:
    pieces = tuple(f" token{i}".encode() for i in range(14))
    trace = toy_trace("eagle2", {"width": 10, "nodes": 60, "depth": 6}, pieces=pieces)
    index = max(range(len(trace.rounds)), key=lambda i: trace.rounds[i].drafted)
    assert trace.rounds[index].drafted == 59
    figure = figure_of(expand_rerank.draw(read(trace, index)))
    rows = [y for name in ("seen", "kept", "accepted") for y in column(figure, name, "y")]
    assert max(rows) < 24
    assert cast(float, figure["layout"]["height"]) < 480


def test_rounds_of_other_methods_have_no_such_picture() -> None:
    for trace in (chain(), tree()):
        for index in range(len(trace.rounds)):
            reading = read(trace, index)
            assert expand_rerank.draw(reading) is None
            assert static_tree.draw(reading) is None
            assert calibration.draw(reading) is None


# -- the static tree --


@TEMPERATURES
def test_the_static_tree_shows_how_often_each_place_was_accepted(temperature: float) -> None:
    trace = toy_trace("eagle1", {}, temperature)
    hits: dict[tuple[int, ...], int] = {}
    tries: dict[tuple[int, ...], int] = {}
    for r in trace.rounds:
        for extra in (e for e in r.extras if isinstance(e, StaticExtras)):
            for ranks in map(tuple, extra.ranks):
                tries[ranks] = tries.get(ranks, 0) + 1
            for node in r.outcome.accepted:
                ranks = tuple(extra.ranks[node])
                hits[ranks] = hits.get(ranks, 0) + 1
    index = next(i for i, r in enumerate(trace.rounds) if r.outcome.accepted)
    r, picture = trace.rounds[index], static_tree.draw(read(trace, index))
    figure = figure_of(picture)
    drawn = [place for name in ("never", "before", "now") for place in column(figure, name)]
    assert len(drawn) == r.drafted
    assert len(column(figure, "now")) == len(r.outcome.accepted)
    told = [
        line
        for name in ("before", "now")
        for line in cast(list[str], column(figure, name, "hovertext"))
    ]
    for line in told:
        ranks = tuple(int(part) - 1 for part in line.partition(":")[0][6:].split(" · "))
        assert f"accepted in {hits[ranks]} of {tries[ranks]} round" in line
    assert picture is not None
    assert f"{25 - len(hits)} of the 25 places were never accepted" in picture["section"]["foot"]


# -- calibration --


def test_confidence_is_pooled_over_the_tokens_that_had_a_verdict() -> None:
    trace = toy_trace("eagle2", POOL, new=40)
    index = next(i for i, r in enumerate(trace.rounds) if r.drafted)
    figure = figure_of(calibration.draw(read(trace, index)))
    tries, hits = 0, 0
    for r in trace.rounds:
        decided = [0, *r.outcome.accepted]
        decided = decided if r.outcome.final_token is not None else decided[:-1]
        for node, ok in enumerate(offered(r.nodes)):
            if ok and node and r.nodes.parent[node] in decided:
                tries += 1
                hits += r.nodes.state[node] == "accepted"
    counts = [int(text) for text in cast(list[str], column(figure, "counts", "text"))]
    shares = column(figure, "accepted", "y")
    assert sum(counts) == tries
    assert round(sum(c * s / 100 for c, s in zip(counts, shares, strict=True))) == hits
    assert 0 < hits < tries
    assert column(figure, "accepted") == sorted(column(figure, "accepted"))


def test_a_text_that_ends_inside_the_draft_gives_no_verdict_behind_its_end() -> None:
    trace = toy_trace("eagle2", POOL, new=40)
    index = next(i for i, r in enumerate(trace.rounds) if r.outcome.accepted)
    r = trace.rounds[index]
    cut = replace(
        r,
        outcome=replace(
            r.outcome, final_token=None, origin="none", accepted=r.outcome.accepted[:1]
        ),
    )
    figure = figure_of(calibration.draw(read(replace(trace, rounds=[cut]), 0)))
    counts = [int(text) for text in cast(list[str], column(figure, "counts", "text"))]
    below = [n for n, ok in enumerate(offered(r.nodes)) if ok and n and r.nodes.parent[n] == 0]
    assert sum(counts) == len(below)


def test_a_drafter_that_is_too_sure_is_named() -> None:
    trace = toy_trace("eagle2", POOL, new=200, temperature=0.8)
    sure = [
        replace(
            r, nodes=replace(r.nodes, q_raw=[None if q is None else 0.9 for q in r.nodes.q_raw])
        )
        for r in trace.rounds
    ]
    index = next(i for i, r in enumerate(sure) if r.drafted)
    picture = calibration.draw(read(replace(trace, rounds=sure), index))
    assert picture is not None
    assert picture["section"]["foot"] == "By these rounds the drafter is too sure at 90 %."


# -- all of them --


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("key", "values"), [("eagle2", POOL), ("eagle1", {})])
def test_charts_are_accepted_and_token_text_is_markup_in_none(
    key: str, values: dict[str, object], palette: dict[str, str]
) -> None:
    trace, drawn = hostile_trace(key, values), 0
    for index in range(len(trace.rounds)):
        for draw in (expand_rerank.draw, static_tree.draw, calibration.draw):
            picture = draw(read(trace, index))
            if picture is None:
                continue
            figure = figure_of(picture)
            go.Figure(painted(figure, palette))
            shown = repr(painted(figure, palette))
            assert not any(piece in shown for piece in MARKUP)
            assert picture["section"]["alt"]
            assert picture["html"] == ""
            drawn += 1
    assert drawn > 6
