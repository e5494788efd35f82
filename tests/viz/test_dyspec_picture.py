"""DySpec's picture shows every filled slot once, where it was filled, at its value."""

from __future__ import annotations

from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import DySpecExtras
from core.metrics import totals
from core.registry import get
from core.run import Request, Run
from core.trace import Trace
from core.trace_io import dumps, loads
from core.validate import TraceError, validate
from tests.app.toys import toy_engine
from viz.payload import Figure, Picture
from viz.pictures.dyspec import draw
from viz.reading import Reading, read
from viz.theme import DARK, LIGHT, painted


def run(temperature: float = 0.8, **config: object) -> Trace:
    request = Request(
        prompt="sky",
        method=get("dyspec"),
        config={"drafter": "model", **config},
        temperature=temperature,
        seed=4,
        max_new_tokens=24,
    )
    made = Run(request, toy_engine(), lambda: 0.0, "2026-11-30T00:00:00+00:00")
    for _ in made:
        pass
    return made.trace()


def shown(trace: Trace, index: int = 1) -> tuple[Picture, Reading, DySpecExtras]:
    reading = read(trace, index)
    picture = draw(reading)
    assert picture is not None
    (extra,) = (e for e in reading.round.extras if isinstance(e, DySpecExtras))
    return picture, reading, extra


def figure(picture: Picture) -> Figure:
    assert picture["section"]["figure"] is not None
    return picture["section"]["figure"]


def part(picture: Picture, name: str) -> dict[str, object]:
    return next(trace for trace in figure(picture)["data"] if trace["name"] == name)


def column(picture: Picture, name: str, key: str) -> list[float]:
    return cast(list[float], part(picture, name)[key])


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
            go.Figure(painted(figure(picture), palette))
            assert picture["section"]["alt"].startswith("Slots in the order filled: ")
            assert picture["section"]["foot"]
            assert ("temperature 1" in picture["section"]["note"]) == (temperature == 0)


def test_a_bar_per_filled_slot_in_order_at_its_value() -> None:
    picture, reading, extra = shown(run(budget=12))
    assert column(picture, "filled", "x") == extra.value
    assert extra.value == sorted(extra.value, reverse=True)
    assert column(picture, "filled", "y") == [-place for place in range(1, 13)]
    x = column(picture, "growth", "x")
    assert x == [0, *(reading.depths[node] for node in extra.node)]
    sizes = cast(dict[str, list[float]], part(picture, "growth")["marker"])["size"][1:]
    areas = [size**2 for size in sizes]
    assert areas == pytest.approx([225 * value for value in extra.value], abs=8)


def test_open_slots_stand_below_and_the_best_comes_first() -> None:
    picture, _, extra = shown(run(budget=12))
    found = column(picture, "open", "x")
    assert found == extra.open_value[:5]
    assert max(column(picture, "open", "y")) < min(column(picture, "filled", "y"))
    assert found[0] <= extra.value[-1]


def test_the_line_stands_at_the_threshold_or_at_one_over_the_budget() -> None:
    for config, least in (
        ({"budget": 12}, 1 / 12),
        ({"variant": "threshold", "threshold": 0.2}, 0.2),
    ):
        picture, _, extra = shown(run(**config))
        shapes = cast(list[dict[str, object]], figure(picture)["layout"]["shapes"])
        assert [shape["x0"] for shape in shapes] == [least]
        if extra.threshold is not None:
            assert min(extra.value) >= least > max(extra.open_value)
            assert "is the least value" in picture["section"]["foot"]
        else:
            assert "one over the budget" in picture["section"]["foot"]


def test_a_large_draft_is_folded_in_the_middle() -> None:
    picture, _, extra = shown(run(budget=60))
    assert len(extra.node) == 60
    values = column(picture, "filled", "x")
    assert len(values) == 23
    assert values == [*extra.value[:19], *extra.value[-4:]]
    notes = cast(list[dict[str, object]], figure(picture)["layout"]["annotations"])
    assert any(note["text"] == "... 37 more" for note in notes)
    assert cast(int, figure(picture)["layout"]["height"]) < 640


def test_the_accepted_path_is_drawn_on_top() -> None:
    trace = run(budget=12)
    index = next(i for i, r in enumerate(trace.rounds) if r.outcome.accepted)
    picture, reading, _ = shown(trace, index)
    path = column(picture, "path", "x")
    assert len(path) == 4 * len(reading.round.outcome.accepted)


def test_a_round_of_another_method_has_none() -> None:
    trace = run()
    r = replace(trace.rounds[1], extras=[])
    assert draw(read(replace(trace, rounds=[trace.rounds[0], r]), 1)) is None


def test_the_record_survives_the_file_and_wrong_ones_are_refused() -> None:
    trace = run(budget=12)
    assert loads(dumps(trace)) == trace
    _, _, extra = shown(trace)
    for wrong in (
        replace(extra, parent=[12, *extra.parent[1:]]),
        replace(extra, value=extra.value[1:]),
        replace(extra, node=[99, *extra.node[1:]]),
        replace(extra, open_parent=[99] * len(extra.open_value)),
        replace(extra, open_rank=[]),
    ):
        r = replace(trace.rounds[1], extras=[wrong])
        with pytest.raises(TraceError, match="extras, dyspec"):
            validate(replace(trace, rounds=[trace.rounds[0], r, *trace.rounds[2:]]))


def test_the_record_of_a_round_is_small() -> None:
    trace = run(budget=8)
    few = trace.rounds[:2]
    assert len(dumps(replace(trace, rounds=few, totals=totals(few)))) < 12_000


def test_token_text_is_no_markup_and_no_colour() -> None:
    trace = run(budget=16)
    spelled = dict.fromkeys(trace.vocabulary, b"@kept<b>$x$")
    text = repr(figure(shown(replace(trace, vocabulary=spelled))[0]))
    assert "<b>$" not in text
    assert "@kept<" not in text
    assert "&#64;kept&lt;b&gt;" in text
