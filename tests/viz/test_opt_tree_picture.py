"""OPT-Tree's picture shows the layers, what was kept, and what every step added."""

from __future__ import annotations

from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import OptTreeExtras
from core.trace import Trace
from tests.sample_traces import chain
from tests.tree_rounds import MARKUP, hostile_trace, toy_trace
from tests.viz.pictured import figure_of, part
from viz.opt_gains import added_text, gains
from viz.payload import Figure, Picture
from viz.pictures import opt_tree
from viz.reading import read
from viz.theme import DARK, LIGHT, painted

SETTINGS = {"nodes": 9, "threshold": 0.1}


def block(trace: Trace, index: int) -> OptTreeExtras | None:
    return next((e for e in trace.rounds[index].extras if isinstance(e, OptTreeExtras)), None)


def drafted(trace: Trace) -> int:
    """Return the round with the most layers."""
    return max(
        range(len(trace.rounds)),
        key=lambda i: len(found.layers) if (found := block(trace, i)) else 0,
    )


def picture_of(trace: Trace, index: int) -> tuple[Picture, Figure, OptTreeExtras]:
    picture, extra = opt_tree.draw(read(trace, index)), block(trace, index)
    assert picture is not None
    assert extra is not None
    return picture, figure_of(picture), extra


def shapes(figure: Figure, kind: str) -> list[dict[str, object]]:
    found = cast(list[dict[str, object]], figure["layout"]["shapes"])
    return [shape for shape in found if shape["type"] == kind]


@pytest.mark.parametrize("lags", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_frame_stands_around_every_node_kept_and_a_bar_over_every_step_judged(
    temperature: float, lags: bool
) -> None:
    trace, seen = toy_trace("opt_tree", {**SETTINGS, "lags": lags}, temperature), 0
    for index, r in enumerate(trace.rounds):
        if block(trace, index) is None:
            assert opt_tree.draw(read(trace, index)) is None
            continue
        _, figure, extra = picture_of(trace, index)
        frames = shapes(figure, "rect")
        assert len(frames) == r.drafted
        thick = [f for f in frames if cast(dict[str, object], f["line"])["color"] == "@accepted"]
        assert len(thick) == len(r.outcome.accepted)
        bars = part(figure, "added")
        assert bars["y"] == gains(extra)
        assert bars["base"] == [0.0, *extra.expected[:-1]]
        assert len(shapes(figure, "line")) == len(extra.expected)
        seen += 1
    assert seen > 3


def test_a_bar_is_solid_where_the_step_passed_the_dashed_line() -> None:
    trace = toy_trace("opt_tree", SETTINGS)
    _, figure, extra = picture_of(trace, drafted(trace))
    colours = cast(dict[str, list[str]], part(figure, "added")["marker"])["color"]
    needed = [cast(float, shape["y0"]) for shape in shapes(figure, "line")]
    for colour, total, least in zip(colours, extra.expected, needed, strict=True):
        assert (colour == "@law") == (round(total - least, 6) > 0)


def test_a_cell_is_the_root_of_its_value_and_columns_stand_apart() -> None:
    trace = toy_trace("opt_tree", SETTINGS)
    _, figure, extra = picture_of(trace, drafted(trace))
    cells = part(figure, "candidates")
    rows, edges = cast(list[list[float | None]], cells["z"]), cast(list[float], cells["x"])
    assert len(edges) == 2 * len(extra.layers)
    assert all(len(row) == len(edges) - 1 for row in rows)
    for step, layer in enumerate(extra.layers):
        column = [row[2 * step] for row in rows]
        shown = [value for value in column if value is not None]
        assert shown == pytest.approx([v**0.5 for v in layer.value[: len(shown)]], abs=1e-4)
    gaps = {row[i] for row in rows for i in range(1, len(edges) - 1, 2)}
    assert gaps <= {None}


def test_the_foot_tells_why_drafting_ended() -> None:
    trace = toy_trace("opt_tree", SETTINGS)
    index = next(i for i, r in enumerate(trace.rounds) if r.stop and r.stop.reason == "gain")
    picture, _, extra = picture_of(trace, index)
    gain = added_text(gains(extra)[-1])[2:]
    said = f"Step {len(extra.expected)} added {gain}, not above .10. The draft expected "
    assert picture["section"]["foot"].startswith(said)
    deep = toy_trace("opt_tree", {**SETTINGS, "threshold": 0.0, "depth": 2})
    picture, _, _ = picture_of(deep, drafted(deep))
    assert picture["section"]["foot"].startswith("Drafting ended at depth 2. ")


def test_a_step_made_in_vain_is_called_so() -> None:
    trace = toy_trace("opt_tree", {**SETTINGS, "lags": True})
    index = next(
        i
        for i in range(len(trace.rounds))
        if (e := block(trace, i)) and len(e.layers) > len(e.expected)
    )
    picture, figure, extra = picture_of(trace, index)
    texts = [a["text"] for a in cast(list[dict[str, object]], figure["layout"]["annotations"])]
    assert texts.count("in vain") == 1
    assert "which the next one showed" in picture["section"]["foot"]
    assert f"Step {len(extra.layers)}:" not in picture["section"]["alt"]


def test_sixty_nodes_have_bounded_rows() -> None:
    pieces = tuple(f" token{i}".encode() for i in range(40))
    values = {"nodes": 60, "threshold": 0.01}
    trace = toy_trace("opt_tree", values, pieces=pieces)
    _, figure, extra = picture_of(trace, drafted(trace))
    assert max(len(layer.token) for layer in extra.layers) > 20
    assert len(cast(list[object], part(figure, "candidates")["y"])) <= 21
    assert cast(float, figure["layout"]["height"]) < 560


def test_rounds_of_other_methods_have_no_such_picture() -> None:
    trace = chain()
    assert not any(opt_tree.draw(read(trace, index)) for index in range(len(trace.rounds)))
    empty = toy_trace("opt_tree", SETTINGS)
    index = drafted(empty)
    r = replace(empty.rounds[index], extras=[])
    assert opt_tree.draw(read(replace(empty, rounds=[r]), 0)) is None


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_chart_is_accepted_and_token_text_is_markup_nowhere(palette: dict[str, str]) -> None:
    trace, drawn = hostile_trace("opt_tree", SETTINGS), 0
    for index in range(len(trace.rounds)):
        if block(trace, index) is None:
            continue
        picture, figure, _ = picture_of(trace, index)
        go.Figure(painted(figure, palette))
        shown = repr(painted(figure, palette))
        assert not any(piece in shown for piece in MARKUP)
        assert picture["section"]["alt"]
        drawn += 1
    assert drawn > 3
