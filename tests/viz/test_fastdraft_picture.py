"""FastDraft's picture: the run's own numbers, and a model of draft sizes that goes through them."""

from __future__ import annotations

from dataclasses import replace as replaced
from functools import cache
from math import log10
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.trace import Trace
from tests.viz import pictured
from tests.viz.pictured import column, figure_of
from viz.draft_size import PUBLISHED, DraftSize, draft_size, expected, sizes, speedup
from viz.pictures.fastdraft import draw
from viz.reading import read
from viz.theme import DARK, LIGHT, painted

RUN = DraftSize(size=0.1, kept=30, tested=100, length=3, cost=0.06, verify=1.1)


@cache
def trace(draft: int = 13_000_000, target: int = 135_000_000, plain: float | None = 20.0) -> Trace:
    """Return a run of the toys, as if they had these sizes and took these times."""
    made = pictured.run("speculative_sampling", seed=3, tokens=40, length=3)
    assert made.models.draft is not None
    models = replace(
        made.models,
        target=replace(made.models.target, parameters=target),
        draft=replace(made.models.draft, parameters=draft),
    )
    rounds = [
        replace(
            r, cost=replace(r.cost, draft_ms=1.5 * r.cost.draft_forwards, verify_ms=22.0 + r.index)
        )
        for r in made.rounds
    ]
    return replace(made, models=models, rounds=rounds, plain_step_ms=plain)


def first_drafted(found: Trace) -> int:
    return next(r.index for r in found.rounds if r.drafted)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_it_and_words_come_with_it(palette: dict[str, str]) -> None:
    found = trace()
    for index, r in enumerate(found.rounds):
        picture = draw(read(found, index))
        assert (picture is not None) == (r.drafted > 0)
        if picture is not None:
            go.Figure(painted(figure_of(picture), palette))
            assert "of the tokens tested" in picture["section"]["alt"]


def test_the_run_s_own_numbers_are_those_of_its_rounds() -> None:
    found = trace()
    told = draft_size(found)
    assert told is not None
    drafted = [r for r in found.rounds if r.drafted]
    kept = sum(len(r.outcome.accepted) for r in drafted)
    assert told.kept == kept
    assert told.tested == sum(len(r.checks) for r in drafted)
    assert told.size == pytest.approx(13 / 135)
    assert told.cost == pytest.approx(1.5 / 20)
    assert told.length == 3
    middle = sorted(22.0 + r.index for r in drafted)
    assert middle[0] <= 20 * cast(float, told.verify) <= middle[-1]
    picture = draw(read(found, first_drafted(found)))
    assert picture is not None
    foot = picture["section"]["foot"]
    assert f"({told.kept} of {told.tested})" in foot
    assert "a draft step costs .07 plain steps" in foot or "costs .08 plain steps" in foot


def test_the_curves_go_through_the_run_and_end_at_the_target() -> None:
    assert RUN.beta_at(0.1) == pytest.approx(0.3)
    assert RUN.cost_at(0.1) == pytest.approx(0.06)
    assert RUN.beta_at(1.0) == pytest.approx(1.0)
    assert RUN.cost_at(1.0) == pytest.approx(1.0)
    assert RUN.beta_at(0.01) == pytest.approx(0.09)  # a power: squared where the size is
    assert replaced(RUN, kept=0).beta_at(0.5) == 0
    assert replaced(RUN, kept=0).beta_at(1.0) == 1
    assert replaced(RUN, kept=100).beta_at(0.01) == 1
    assert RUN.cost_at(0.001) == 0
    assert RUN.speedup_at(1.0) == pytest.approx(4 / (3 + 1.1))
    assert RUN.speedup_at(0.1) == pytest.approx(speedup(0.3, 0.06, 1.1, 3))


def test_the_speed_up_is_an_inverted_u() -> None:
    gains = [RUN.speedup_at(size) for size in sizes()]
    top = gains.index(max(gains))
    assert 0 < top < len(gains) - 1
    assert gains[0] < gains[top] > gains[-1]


def test_the_expectation_is_the_sum_over_accepted_prefixes() -> None:
    assert expected(0.0, 3) == 1
    assert expected(1.0, 3) == 4
    assert expected(0.5, 3) == pytest.approx((1 - 0.5**4) / (1 - 0.5))


def test_every_curve_and_point_stands_where_the_model_has_it() -> None:
    found = trace()
    told = draft_size(found)
    picture = draw(read(found, first_drafted(found)))
    assert told is not None
    assert picture is not None
    figure = figure_of(picture)
    at = [10**x for x in column(figure, "speed-up")]
    for name, model in (
        ("acceptance", told.beta_at),
        ("cost", told.cost_at),
        ("speed-up", told.speedup_at),
    ):
        assert column(figure, name, "y") == pytest.approx([model(s) for s in at], abs=1e-3)
    assert at[-1] == 1
    here = [told.beta, told.c, told.speedup_at(told.size)]
    for name in ("measured", "chosen"):
        assert column(figure, name, "y") == pytest.approx(here, abs=1e-4)
        assert column(figure, name) == pytest.approx([log10(told.size)] * 3, abs=1e-4)
    assert picture.get("dials") == {
        "size": told.size,
        "beta": told.beta,
        "c": told.c,
        "v": told.v,
        "length": told.length,
    }


def test_the_paper_s_drafts_are_those_of_the_paper() -> None:
    phi, llama = PUBLISHED
    assert phi.acceptance == (0.369, 0.306, 0.370, 0.562)
    assert llama.acceptance == (0.307, 0.266, 0.334, 0.649)
    assert phi.size == pytest.approx(50 / 3800)
    assert llama.size == pytest.approx(150 / 8000)


def test_without_a_timed_plain_step_the_cost_is_the_share_of_parameters() -> None:
    found = trace(plain=None)
    told = draft_size(found)
    assert told is not None
    assert (told.cost, told.c, told.v) == (None, told.size, 1.0)
    picture = draw(read(found, first_drafted(found)))
    assert picture is not None
    assert "no plain step was timed" in picture["section"]["foot"]


def test_a_draft_that_no_size_would_save_is_told() -> None:
    poor = replaced(RUN, kept=10)
    assert max(map(poor.speedup_at, sizes())) < 1
    found = trace()
    rounds = [
        replace(r, cost=replace(r.cost, draft_ms=40.0 * r.cost.draft_forwards, verify_ms=200.0))
        for r in found.rounds
    ]
    picture = draw(read(replace(found, rounds=rounds), first_drafted(found)))
    assert picture is not None
    assert "no size beats it" in picture["section"]["foot"]


def test_there_is_none_without_a_smaller_second_model_that_drafts_chains() -> None:
    for other in (trace(draft=135_000_000), trace(draft=0), trace(target=0)):
        assert draft_size(other) is None
    alone = trace()
    alone = replace(alone, models=replace(alone.models, draft=None))
    assert draft_size(alone) is None
    assert draw(read(alone, first_drafted(alone))) is None
    tree = pictured.run("rsd", tree=[2, 2])
    models = trace().models
    assert draft_size(replace(tree, models=models)) is None
