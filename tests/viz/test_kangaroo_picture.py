"""Kangaroo's picture: what ran while drafting is not run again, and the token that ended a draft is
the one below the threshold.
"""

from __future__ import annotations

from functools import cache
from typing import cast

import pytest
from msgspec.structs import replace

from core.decode import decode, start
from core.dice import SeededDice
from core.extras import AdapterExtras
from core.laws import Law
from core.registry import Models, get
from core.trace import Round, Trace
from tests.sample_traces import changed
from tests.test_kangaroo import LAYERS, kangaroo
from tests.tiny import VOCABULARY, tiny, wrapped
from tests.viz.pictured import (
    assert_token_text_is_data,
    column,
    figure_of,
    has_none_without_its_block,
    parts,
    with_extras,
)
from tests.viz.toy_rounds import shown as traced
from viz.pictures.kangaroo import draw
from viz.reading import read

WORDS = {token: f" w{token}".encode() for token in range(VOCABULARY)}


@cache
def made(temperature: float = 1.0, threshold: float = 0.12, key: str = "kangaroo") -> list[Round]:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    models = Models(wrapped(model), heads=lambda kind, weights="": head)
    values = {"threshold": threshold} if key == "kangaroo" else {"drafter": "kangaroo"}
    decoder = get(key).build(values, models)
    state = start([5, 9, 2, 7, 5], models.target, decoder, Law(temperature), 40)
    return [r for r in decode(state, SeededDice(3), lambda: 0.0) if r.drafted]


def trace(r: Round, temperature: float = 1.0, threshold: float = 0.12) -> Trace:
    found = traced([r, r], temperature, WORDS)
    return changed(found, method="kangaroo", config={"threshold": threshold})


def stacked(r: Round, name: str) -> list[tuple[int, int, int]]:
    """Return token, first and last layer of every part of a bar."""
    figure = figure_of(draw(read(trace(r), 1)))
    return sorted(
        (place, cast(int, part["base"]), cast(int, part["base"]) + height)
        for part in parts(figure, name)
        for place, height in zip(
            cast("list[int]", part["x"]), cast("list[int]", part["y"]), strict=True
        )
    )


def test_every_layer_runs_once_on_every_token_early_or_in_the_verify_call() -> None:
    assert any(r.drafted > 1 for r in made())
    for r in made():
        drafting, verifying = stacked(r, "drafting"), stacked(r, "verifying")
        assert drafting == [(place, 0, 2) for place in range(r.drafted)]
        assert verifying == sorted(
            [(place, 2, LAYERS) for place in range(r.drafted + 1)] + [(r.drafted, 0, 2)]
        )


def test_without_reuse_everything_runs_in_the_verify_call() -> None:
    r = made()[0]
    again = replace(r, cost=replace(r.cost, sublayers_reused=0))
    assert stacked(again, "drafting") == []
    assert len(stacked(again, "verifying")) == 2 * (r.drafted + 1)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_second_exit_is_the_token_below_the_threshold(temperature: float) -> None:
    rounds = made(temperature, 0.3 if temperature == 0 else 0.12)
    stopped = [r for r in rounds if r.stop and r.stop.reason == "confidence"]
    assert stopped
    for r in stopped:
        assert r.stop is not None
        picture = draw(read(trace(r, temperature), 1))
        figure = figure_of(picture)
        assert column(figure, "unsure") == [r.drafted]
        assert column(figure, "unsure", "y") == pytest.approx([r.stop.value], rel=1e-4)
        assert column(figure, "sure") == list(range(1, r.drafted))
        assert picture is not None
        assert "checked all the same" in picture["section"]["foot"]
        lines = cast("list[dict[str, object]]", figure["layout"]["shapes"])
        assert [line["y0"] for line in lines if line.get("yref") == "y2"] == [r.stop.threshold]


def test_a_draft_that_ended_by_its_length_says_so() -> None:
    (r, *_) = [r for r in made(1.0, 0.12) if r.stop and r.stop.reason == "length"]
    picture = draw(read(trace(r), 1))
    assert picture is not None
    assert "No token fell below 0.12" in picture["section"]["foot"]


def test_what_the_adapter_had_to_catch_up_with_is_told() -> None:
    r = made()[1]
    extra = next(e for e in r.extras if isinstance(e, AdapterExtras))
    for taken, words in ((0, ""), (1, "one token behind"), (7, "took in 7 tokens of the text")):
        other = with_extras(trace(r), [replace(extra, taken=taken)])
        rounds = [*other.rounds, changed(other.rounds[1], index=2)]
        picture = draw(read(changed(other, rounds=rounds), 2))
        assert picture is not None
        assert words in picture["section"]["foot"]
        assert words or "behind, since" not in picture["section"]["foot"]


def test_other_methods_draw_the_stack_alone() -> None:
    r = next(r for r in made(0.0, key="eagle2") if r.drafted > 2)
    picture = draw(read(changed(trace(r, 0.0), method="eagle2"), 1))
    assert parts(figure_of(picture), "unsure")[0]["x"] == []


def test_it_is_for_rounds_with_its_block_and_tokens_are_data() -> None:
    found = trace(made()[0])
    assert has_none_without_its_block(found, draw)
    assert_token_text_is_data(found, draw)
