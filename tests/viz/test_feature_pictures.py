"""EAGLE's pictures say what the round's own numbers say: its pairs, how far its features are from
the target's, and the layers that they are made of.
"""

from __future__ import annotations

from functools import partial
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import FeatureExtras
from core.trace import Trace
from tests.viz import pictured
from tests.viz.pictured import (
    assert_kept_and_guarded,
    assert_token_text_is_data,
    column,
    figure_of,
    has_none_without_its_block,
    part,
    parts,
    with_extras,
)
from viz.payload import Figure, Film
from viz.pictures import feature_drift, feature_shift, feature_taps
from viz.pictures.calibration import draw as draw_calibration
from viz.reading import read, text_before
from viz.theme import DARK, LIGHT, painted

HEADS = pytest.mark.parametrize("head", ["eagle", "eagle3"])
TREE = {"width": 3, "nodes": 8, "depth": 2}
run = partial(pictured.run, "eagle2", **TREE)


def block(trace: Trace, index: int = 1) -> FeatureExtras:
    (found,) = (e for e in trace.rounds[index].extras if isinstance(e, FeatureExtras))
    return found


def films(trace: Trace, index: int) -> list[Film]:
    picture = feature_drift.draw(read(trace, index))
    assert picture is not None
    return picture["films"]


@HEADS
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_them_and_words_come_with_them(
    head: str, temperature: float, palette: dict[str, str]
) -> None:
    trace = run(temperature, drafter=head)
    for index, r in enumerate(trace.rounds):
        reading = read(trace, index)
        shift, drift = feature_shift.draw(reading), feature_drift.draw(reading)
        taps = feature_taps.draw(reading)
        assert (shift is not None) == (drift is not None) == (r.drafted > 0)
        assert (taps is not None) == (r.drafted > 0 and head == "eagle3")
        for picture in filter(None, (shift, drift, taps)):
            go.Figure(painted(figure_of(picture), palette))
            assert picture["section"]["alt"]
            assert picture["section"]["foot"].endswith(".")


def labels(figure: Figure, y: float) -> list[str]:
    notes = cast("list[dict[str, object]]", figure["layout"]["annotations"])
    return [str(note["text"]) for note in notes if note["y"] == y]


@HEADS
def test_a_column_is_a_pair_and_its_draft_the_next_column_s_token(head: str) -> None:
    trace = run(drafter=head)
    for index, r in enumerate(trace.rounds):
        if not r.drafted:
            continue
        reading = read(trace, index)
        figure = figure_of(feature_shift.draw(reading))
        features, tokens, drafted = (labels(figure, y) for y in (15, 63, 160))
        assert tokens[:-1] == features[1:]
        assert drafted[:-1] == tokens[1:]
        text = text_before(trace, index, 4)
        root = len(text) - 2
        assert len(tokens) > root
        colours = cast(dict[str, list[str]], part(figure, "features")["marker"])["color"]
        assert colours == ["@law"] * (root + 1) + ["@paper"] * (len(tokens) - root - 1)
        states = {str(each["name"]) for each in figure["data"]} & {"accepted", "rejected"}
        assert ("accepted" in states) == bool(r.outcome.accepted)


def test_the_pairs_of_a_draft_follow_the_accepted_path() -> None:
    trace = run(tokens=60)  # the second model of the toys is accepted more often than random heads
    longest = max(trace.rounds, key=lambda r: len(r.outcome.accepted))
    assert len(longest.outcome.accepted) >= 2
    nodes = list(range(1 + longest.drafted))
    made = FeatureExtras(
        head="eagle",
        taps=[],
        layers=6,
        settled=2,
        node=nodes,
        cosine=[0.5 for _ in nodes],
        length=[1.0 for _ in nodes],
    )
    trace = with_extras(trace, [made], longest.index)
    reading = read(trace, longest.index)
    figure = figure_of(feature_shift.draw(reading))
    kept = column(figure, "accepted")
    root = len(text_before(trace, longest.index, 4)) - 2
    assert kept == list(range(root, root + len(kept)))
    assert 2 <= len(kept) <= len(longest.outcome.accepted)


@HEADS
def test_every_scored_node_has_its_dot_at_its_cosine(head: str) -> None:
    trace = run(drafter=head)
    extra, reading = block(trace), read(trace, 1)
    figure = figure_of(feature_drift.draw(reading))
    shown = [
        (x, y)
        for name in ("others", "path")
        for x, y in zip(column(figure, name), column(figure, name, "y"), strict=True)
    ]
    near = zip(extra.node, extra.cosine, strict=True)
    assert sorted(shown) == sorted((reading.depths[node], cosine) for node, cosine in near)
    low, high = cast("dict[str, list[float]]", figure["layout"]["yaxis"])["range"]
    assert low < min(extra.cosine)
    assert high >= 1


def test_the_line_is_the_mean_of_all_rounds() -> None:
    trace = run(drafter="eagle")
    figure = figure_of(feature_drift.draw(read(trace, 1)))
    roots = [
        each.cosine[each.node.index(0)]
        for r in trace.rounds
        for each in r.extras
        if isinstance(each, FeatureExtras)
    ]
    assert column(figure, "mean", "y")[0] == pytest.approx(sum(roots) / len(roots), abs=1e-4)
    assert column(figure, "mean") == [0, 1, 2]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_likeliest_five_of_both_laws_stand_side_by_side(temperature: float) -> None:
    trace = run(temperature, drafter="eagle")
    seen = 0
    for index, r in enumerate(trace.rounds):
        if not r.drafted:
            continue
        path = [0, *r.outcome.accepted]
        laws = [law for law in r.laws if law.node in path and law.q_raw is not None]
        assert [film["after"] for film in films(trace, index)] == [
            read(trace, index).label(law.node) for law in laws[-3:]
        ]
        for film, law in zip(films(trace, index), laws[-3:], strict=True):
            for side, mass in enumerate((law.q_raw, law.p_raw)):
                assert mass is not None
                shares = [row["cells"][side]["share"] for row in film["rows"]]
                assert {round(m, 6) for m in sorted(mass)[-5:]} <= set(shares)
            assert all(frame["entropy"] for frame in film["frames"])
            seen += 1
    assert seen > 5


def test_a_head_that_nothing_asked_to_be_alike_is_told_apart() -> None:
    told = {head: feature_drift.draw(read(run(drafter=head), 1)) for head in ("eagle", "eagle3")}
    feet = {head: picture["section"]["foot"] for head, picture in told.items() if picture}
    assert "trained to make them alike" in feet["eagle"]
    assert "Nothing asked" in feet["eagle3"]


def test_the_stack_shows_the_layers_that_are_read() -> None:
    trace = run(drafter="eagle3")
    extra = block(trace)
    figure = figure_of(feature_taps.draw(read(trace, 1)))
    colours = cast(dict[str, list[str]], part(figure, "layers")["marker"])["color"]
    assert [n for n, colour in enumerate(colours) if colour == "@accepted"] == [2, 3]
    assert len(colours) == extra.layers + 1
    assert len(parts(figure, "joins")) == 1
    other = with_extras(trace, [replace(extra, taps=[1])])
    picture = feature_taps.draw(read(other, 1))
    assert picture is not None
    assert "the layers 1, counted" in picture["section"]["foot"]


def test_confidence_is_set_against_acceptance_for_chains_too() -> None:
    trace = pictured.run("speculative_sampling", drafter="eagle", length=3)
    assert draw_calibration(read(trace, 1)) is not None
    second = pictured.run("speculative_sampling", length=3)
    assert draw_calibration(read(second, 1)) is None


@pytest.mark.parametrize(
    "draw",
    [feature_shift.draw, feature_drift.draw, feature_taps.draw, draw_calibration],
    ids=["shift", "drift", "taps", "calibration"],
)
def test_rounds_of_other_drafters_have_no_such_picture(draw: pictured.Draw) -> None:
    trace = run(drafter="eagle3")
    assert has_none_without_its_block(trace, draw)


def test_the_record_is_kept_and_guarded() -> None:
    trace = run(drafter="eagle3")
    extra = block(trace)
    wrong = [
        replace(extra, cosine=extra.cosine[:-1]),
        replace(extra, cosine=[1.5, *extra.cosine[1:]]),
        replace(extra, node=[*extra.node[:-1], 4000]),
        replace(extra, taps=[9]),
        replace(extra, settled=10_000),
    ]
    assert_kept_and_guarded(trace, wrong, "features")


def test_token_text_is_data() -> None:
    trace = run(drafter="eagle")
    assert_token_text_is_data(trace, feature_shift.draw)
