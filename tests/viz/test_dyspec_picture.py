"""DySpec's picture shows every filled slot once, where it was filled, at its value."""

from __future__ import annotations

from functools import partial
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import DySpecExtras
from core.metrics import totals
from core.trace import Trace
from core.trace_io import dumps
from tests.viz import pictured
from tests.viz.pictured import column, figure_of, part
from viz.payload import Picture
from viz.pictures.dyspec import draw
from viz.reading import Reading, read
from viz.theme import DARK, LIGHT, painted

run = partial(pictured.run, "dyspec")


def shown(trace: Trace, index: int = 1) -> tuple[Picture, Reading, DySpecExtras]:
    return pictured.shown(trace, draw, DySpecExtras, index)


VARIANTS = pytest.mark.parametrize(
    "config",
    [{}, {"variant": "threshold"}, {"budget": 40}, {"variant": "threshold", "threshold": 0.4}],
    ids=str,
)


@VARIANTS
@pytest.mark.parametrize("temperature", [0.0, 0.8])
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
            assert picture["section"]["alt"].startswith("Slots in the order filled: ")
            assert picture["section"]["foot"]
            assert ("temperature 1" in picture["section"]["note"]) == (temperature == 0)


def test_a_bar_per_filled_slot_in_order_at_its_value() -> None:
    picture, reading, extra = shown(run(budget=12))
    assert column(figure_of(picture), "filled", "x") == extra.value
    assert extra.value == sorted(extra.value, reverse=True)
    assert column(figure_of(picture), "filled", "y") == [-place for place in range(1, 13)]
    x = column(figure_of(picture), "growth", "x")
    assert x == [0, *(reading.depths[node] for node in extra.node)]
    sizes = cast(dict[str, list[float]], part(figure_of(picture), "growth")["marker"])["size"][1:]
    areas = [size**2 for size in sizes]
    assert areas == pytest.approx([225 * value for value in extra.value], abs=8)


def test_open_slots_stand_below_and_the_best_comes_first() -> None:
    picture, _, extra = shown(run(budget=12))
    found = column(figure_of(picture), "open", "x")
    assert found == extra.open_value[:5]
    assert max(column(figure_of(picture), "open", "y")) < min(
        column(figure_of(picture), "filled", "y")
    )
    assert found[0] <= extra.value[-1]


def test_the_line_stands_at_the_threshold_or_at_one_over_the_budget() -> None:
    for config, least in (
        ({"budget": 12}, 1 / 12),
        ({"variant": "threshold", "threshold": 0.2}, 0.2),
    ):
        picture, _, extra = shown(run(**config))
        shapes = cast(list[dict[str, object]], figure_of(picture)["layout"]["shapes"])
        assert [shape["x0"] for shape in shapes] == [least]
        if extra.threshold is not None:
            assert min(extra.value) >= least > max(extra.open_value)
            assert "is the least value" in picture["section"]["foot"]
        else:
            assert "one over the budget" in picture["section"]["foot"]


def test_a_large_draft_is_folded_in_the_middle() -> None:
    picture, _, extra = shown(run(budget=60))
    assert len(extra.node) == 60
    values = column(figure_of(picture), "filled", "x")
    assert len(values) == 23
    assert values == [*extra.value[:19], *extra.value[-4:]]
    notes = cast(list[dict[str, object]], figure_of(picture)["layout"]["annotations"])
    assert any(note["text"] == "... 37 more" for note in notes)
    assert cast(int, figure_of(picture)["layout"]["height"]) < 640


def test_the_accepted_path_is_drawn_on_top() -> None:
    trace = run(budget=12)
    index = next(i for i, r in enumerate(trace.rounds) if r.outcome.accepted)
    picture, reading, _ = shown(trace, index)
    path = column(figure_of(picture), "path", "x")
    assert len(path) == 4 * len(reading.round.outcome.accepted)


def test_a_round_of_another_method_has_none() -> None:
    assert pictured.has_none_without_its_block(run(), draw)


def test_the_record_survives_the_file_and_wrong_ones_are_refused() -> None:
    trace = run(budget=12)
    _, _, extra = shown(trace)
    wrong = (
        replace(extra, parent=[12, *extra.parent[1:]]),
        replace(extra, value=extra.value[1:]),
        replace(extra, node=[99, *extra.node[1:]]),
        replace(extra, open_parent=[99] * len(extra.open_value)),
        replace(extra, open_rank=[]),
    )
    pictured.assert_kept_and_guarded(trace, wrong, "extras, dyspec")


def test_the_record_of_a_round_is_small() -> None:
    trace = run(budget=8)
    few = trace.rounds[:2]
    assert len(dumps(replace(trace, rounds=few, totals=totals(few)))) < 12_000


def test_token_text_is_no_markup_and_no_colour() -> None:
    pictured.assert_token_text_is_data(run(budget=16), draw)
