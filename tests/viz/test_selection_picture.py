"""The pictures and the words of a selection say what the round's own numbers say."""

from __future__ import annotations

import itertools
import json
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decode import decode, start
from core.dice import SeededDice
from core.extras import SelectionExtras
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.registry import Models, get
from core.trace import Round, Trace
from tests import sample_traces as samples
from tests.sample_traces import changed
from viz import rule_selection
from viz.payload import Figure
from viz.pictures import selection, selection_triangle
from viz.pictures.selection_triangle import Point, best_acceptance, region
from viz.reading import Reading, read
from viz.round import round_view
from viz.rules import rule
from viz.sentence import plain

pytestmark = pytest.mark.matrix

SIZE = 9
SETTINGS: list[dict[str, object]] = [
    {"drafts": 2},
    {"drafts": 4, "free": 3, "alphabet": 4, "length": 3},
    {"drafts": 3, "selection": "importance", "alphabet": 6},
    {"drafts": 2, "draft_temperature": 0},
]
WEIGHTED: dict[str, object] = {
    "drafts": 3,
    "selection": "importance",
    "alphabet": 9,
    "length": 2,
}


def rounds(throw: int, values: dict[str, object], temperature: float = 1.0) -> list[Round]:
    """Return the drafted rounds of a toy run."""
    target, draft = ToyModel(hashed(SIZE, 1), SIZE), ToyModel(hashed(SIZE, 2, 3.0), SIZE)
    built = get("canonical_decomposition").build(
        {"drafter": "model", **values}, Models(target, draft)
    )
    state = start([0, 1], target, built, Law(temperature), 30)
    return [r for r in decode(state, SeededDice(throw), lambda: 0.0) if r.drafted]


def shown(r: Round, temperature: float = 1.0) -> Trace:
    """Return a trace that has the round as its last, over tokens with names of their own."""
    base = samples.chain()
    words = {token: f" w{token}".encode() for token in range(SIZE)}
    return changed(
        base,
        rounds=[changed(r, index=0)],
        vocabulary={**base.vocabulary, **words},
        sampling=changed(base.sampling, temperature=temperature),
    )


def readings(values: dict[str, object], temperature: float = 1.0) -> list[Reading]:
    return [
        read(shown(r, temperature), 0)
        for throw in range(6)
        for r in rounds(throw, values, temperature)
    ]


def figure_of(reading: Reading) -> Figure:
    picture = selection.draw(reading)
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    return figure


def test_methods_without_a_selection_have_no_such_picture() -> None:
    trace = samples.chain()
    for index in range(len(trace.rounds)):
        assert selection.draw(read(trace, index)) is None
        assert selection_triangle.draw(read(trace, index)) is None


@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_bars_are_the_recorded_laws_and_leave_nothing_out(values: dict[str, object]) -> None:
    for reading in readings(values):
        pick = rule_selection.telling(reading)
        if pick is None:
            assert selection.draw(reading) is None
            continue
        bars = [each for each in figure_of(reading)["data"] if each["type"] == "bar"]
        covered, target, picked = (cast(list[float], bar["x"]) for bar in bars)
        assert sum(target) == pytest.approx(1, abs=1e-4)
        assert sum(picked) == pytest.approx(1, abs=1e-4)
        assert covered == pytest.approx(list(map(min, target, picked)), abs=1e-12)
        assert covered[:-1] == pytest.approx(
            [min(pick.p[place], pick.picked[place]) for place in places(reading, covered[:-1])],
            abs=1e-12,
        )


def places(reading: Reading, rows: list[float]) -> list[int]:
    """Return which recorded token each row of the picture stands for, by its hover text."""
    pick = rule_selection.telling(reading)
    assert pick is not None
    bar = next(each for each in figure_of(reading)["data"] if each["type"] == "bar")
    names = [text.split(":")[0] for text in cast(list[str], bar["hovertext"])][: len(rows)]
    return [pick.token.index(int(name.removeprefix("·w"))) for name in names]


@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_the_squares_are_the_recorded_chances_and_opposite_ones_sum_to_one(
    values: dict[str, object],
) -> None:
    for reading in readings(values):
        pick = rule_selection.telling(reading)
        if pick is None or pick.free < 2:
            continue
        heat = next(each for each in figure_of(reading)["data"] if each["type"] == "heatmap")
        z = cast(list[list[float | None]], heat["z"])
        pairs = itertools.combinations(range(pick.free), 2)
        for (i, j), chance in zip(pairs, pick.chance, strict=True):
            if j < len(z):
                assert z[i][j] == chance
                assert z[j][i] == pytest.approx(1 - chance)
        assert all(z[i][i] is None for i in range(len(z)))


def test_a_disc_marks_what_was_selected_and_rings_what_was_drafted() -> None:
    for reading in readings({"drafts": 4, "length": 1}):
        pick = rule_selection.telling(reading)
        assert pick is not None
        marks = figure_of(reading)["data"][0]
        colours = cast(list[str], cast(dict[str, object], marks["marker"])["color"])
        assert colours.count("@ink") == 1
        assert len(colours) == len(set(pick.candidates))
        named = cast(list[str], marks["hovertext"])[colours.index("@ink")]
        assert named.startswith(f"·w{reading.token(pick.selected)}:")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_the_whole_round_can_be_shown(values: dict[str, object], temperature: float) -> None:
    for reading in readings(values, temperature):
        view = round_view(reading.trace, 0)
        assert len(view["inspectors"]) == len(view["nodes"])


def test_every_kind_of_draft_is_told_in_words_of_its_own() -> None:
    seen = set[str]()
    for reading in readings(WEIGHTED):
        for node in range(1, reading.size):
            words, reason = plain(rule(reading, node)), reading.round.nodes.reason[node]
            told = rule_selection.told(reading, node)
            assert (told is not None) >= (reason in ("not_selected", "landed"))
            if reason in rule_selection.TESTED:
                assert "selected with probability" in words or "The draft gave" in words
                assert rule_selection.law_name(reading, node) in ("p_I", "q")
                after = rule_selection.after(reading, node)
                assert (after is not None) == (reading.check_of[node] in reading.residual_at)
            elif reason == "landed":
                assert "without a test of its own" in words
            elif reason == "not_selected":
                assert words.startswith("Not selected: ")
            elif told is not None:
                assert words.endswith("which it follows, was not selected.")
            seen.add(reason)
    assert {"u<p/p_I", "u>=p/p_I", "not_selected", "landed"} <= seen


def test_a_draft_that_took_no_part_is_told_so() -> None:
    told = [
        plain(rule(reading, node))
        for reading in readings({"drafts": 8, "length": 1, "free": 1})
        for node in range(1, reading.size)
    ]
    assert any("took no part" in words for words in told)


def test_a_rejection_says_what_comes_of_it() -> None:
    words = {"landed": 0, "written": 0}
    for reading in readings(WEIGHTED):
        for node in (reading.round.checks[place].node for place in reading.residual_at):
            told = rule_selection.after(reading, node)
            assert told is not None
            said = plain(told)
            law = rule_selection.law_name(reading, node)
            assert said.startswith(f"What p has beyond {law} sums to ")
            landed = "landed" in [
                reading.round.nodes.reason[child]
                for child in reading.children[reading.parent(node)]
            ]
            assert ("walk goes on" in said) == landed
            words["landed" if landed else "written"] += 1
    assert min(words.values()) > 0


laws = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(
    lambda row: cast(Point, tuple(x / sum(row) for x in row))
)


@settings(max_examples=60)
@given(q=laws, drafts=st.integers(1, 5), level=st.sampled_from([0.5, 0.7, 0.9, 1.0]), p=laws)
def test_a_region_holds_exactly_the_targets_with_at_least_its_acceptance(
    q: Point, drafts: int, level: float, p: Point
) -> None:
    polygon = region(q, drafts, level)
    sets = [s for size in range(4) for s in itertools.combinations(range(3), size)]
    best = 1 + min(sum(p[i] for i in s) - sum(q[i] for i in s) ** drafts for s in sets)
    assert best_acceptance(p, q, drafts) == pytest.approx(best, abs=1e-12)
    assert all(best_acceptance(corner, q, drafts) >= level - 1e-7 for corner in polygon)
    if abs(best - level) > 1e-6:
        assert inside(polygon, p) == (best > level)


def inside(polygon: list[Point], law: Point) -> bool:
    """Return whether a law lies in a convex polygon of laws."""
    flat = [selection_triangle._place(corner) for corner in polygon]  # pyright: ignore[reportPrivateUsage]
    x, y = selection_triangle._place(law)  # pyright: ignore[reportPrivateUsage]
    turns = [
        (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
        for a, b in zip(flat, flat[1:] + flat[:1], strict=True)
    ]
    return len(flat) > 2 and (min(turns) >= -1e-9 or max(turns) <= 1e-9)


def test_one_draft_loses_nothing_only_where_p_is_q() -> None:
    q: Point = (0.2, 0.3, 0.5)
    corners = np.array(region(q, 1, 1.0))
    assert np.abs(corners - np.array(q)).max() < 1e-6


def test_the_triangle_says_on_which_side_of_the_line_p_lies() -> None:
    sides = set[bool]()
    for reading in readings({"drafts": 2}):
        picture = selection_triangle.draw(reading)
        pick = rule_selection.telling(reading)
        if picture is None or pick is None or pick.q is None:
            continue
        top = sorted(range(len(pick.p)), key=lambda place: -pick.p[place])[:3]
        p, q = ([column[place] for place in top] for column in (pick.p, pick.q))
        law, drawn = (cast(Point, tuple(x / sum(row) for x in row)) for row in (p, q))
        always = best_acceptance(law, drawn, 2) >= 1 - 1e-9
        sides.add(always)
        assert ("inside the blue line" in picture["section"]["foot"]) == always
    assert sides == {True, False}


def test_pictures_stay_small() -> None:
    for reading in readings({"drafts": 4, "free": 15, "alphabet": 9}):
        for draw in (selection.draw, selection_triangle.draw):
            assert len(json.dumps(draw(reading))) < 12_000


def test_the_record_names_no_token_that_the_vocabulary_lacks() -> None:
    for reading in readings({"drafts": 3}):
        extra = next(e for e in reading.round.extras if isinstance(e, SelectionExtras))
        for pick in extra.picks:
            assert set(pick.token) <= set(range(SIZE))
