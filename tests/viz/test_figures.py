"""Every figure is one that plotly accepts, in either theme, and it counts what the trace counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.trace import Trace
from tests.sample_traces import (
    ALL,
    END,
    HOSTILE,
    Recipe,
    World,
    build,
    cancelled,
    chain,
    hostile,
    long_run,
    relaxed,
    tree,
    untimed,
)
from viz.acceptance import acceptance
from viz.columns import MOST_COLUMNS
from viz.numbers import probability
from viz.overview import overview
from viz.payload import Figure, Picture, Section
from viz.round import round_view
from viz.theme import DARK, LIGHT, painted
from viz.timeline import timeline

SAMPLES = pytest.mark.parametrize("make", list(ALL.values()), ids=list(ALL))
THEMES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def views(trace: Trace, index: int) -> list[Picture]:
    """Return the pictures of a round."""
    view = round_view(trace, index)
    return [*([view["picture"]] if view["picture"] else []), *view.get("more_pictures", [])]


def pictures(trace: Trace, most: int = 40) -> Iterator[Picture]:
    for index in range(min(most, len(trace.rounds))):
        yield from views(trace, index)


def sections(trace: Trace) -> Iterator[Section]:
    found = overview(trace)
    yield found["timeline"]
    yield found["acceptance"]
    yield from (picture["section"] for picture in pictures(trace))


def figure_of(section: Section) -> Figure:
    assert section["figure"] is not None
    return section["figure"]


@SAMPLES
@THEMES
def test_plotly_accepts_every_figure(make: Callable[[], Trace], palette: dict[str, str]) -> None:
    for section in sections(make()):
        if section["figure"]:
            assert section["alt"]
            go.Figure(painted(section["figure"], palette))


def test_both_themes_have_the_same_keys() -> None:
    assert LIGHT.keys() == DARK.keys()


def column(figure: Figure, name: str, key: str = "x") -> list[float]:
    """Return one column of the figure's trace `name`."""
    found = next(trace for trace in figure["data"] if trace.get("name") == name)
    return cast(list[float], found[key])


def test_timeline_has_one_block_per_accepted_token_and_one_mark_per_own_token() -> None:
    trace = tree()
    figure = figure_of(timeline(trace))
    blocks = column(figure, "accepted")
    for r in trace.rounds[1:]:
        assert blocks.count(r.index) == len(r.outcome.accepted)
    marks = [*column(figure, "correction"), *column(figure, "bonus")]
    assert sorted(marks) == [r.index for r in trace.rounds[1:]]


def test_relaxed_tokens_have_their_own_blocks() -> None:
    trace = relaxed()
    blocks = column(figure_of(timeline(trace)), "relaxed")
    states = [s for r in trace.rounds for s in r.nodes.state]
    assert len(blocks) == states.count("relaxed")


def test_timeline_pays_in_plain_steps() -> None:
    trace = tree()
    depth = column(figure_of(timeline(trace)), "draft", "y")
    assert trace.plain_step_ms is not None
    expected = [-r.cost.draft_ms / trace.plain_step_ms for r in trace.rounds[1:]]
    assert depth == pytest.approx(expected)
    assert "one plain step (63 ms)" in timeline(trace)["note"]


def test_timeline_without_a_plain_step_says_so() -> None:
    section = timeline(untimed())
    assert "No plain step was timed" in section["note"]
    assert "paid off" not in section["foot"]
    ticks = figure_of(section)["layout"]["yaxis"]
    assert isinstance(ticks, dict)
    assert any("ms" in text for text in ticks["ticktext"])


def test_deep_columns_are_cut_with_a_mark() -> None:
    slow = replace(tree(), plain_step_ms=10.0)
    figure = figure_of(timeline(slow))
    assert len(column(figure, "break")) == len(slow.rounds) - 1
    draft, verify = column(figure, "draft", "y"), column(figure, "verify", "y")
    depth = [d + v for d, v in zip(draft, verify, strict=True)]
    assert min(depth) == pytest.approx(-12)


def test_long_runs_are_averaged_to_a_readable_number_of_columns() -> None:
    trace = long_run()
    section = timeline(trace)
    figure = figure_of(section)
    assert len(column(figure, "draft")) <= MOST_COLUMNS
    assert "Each column is the mean of 9 rounds." in section["note"]


def test_acceptance_counts_and_says_when_intervals_overlap() -> None:
    section = acceptance(chain())
    assert section["alt"].startswith("Depth 1: ")
    assert section["foot"] == "All intervals overlap: 14 rounds are too few to rank the depths."
    assert "Depth 1 is accepted more often than" in acceptance(long_run())["foot"]


def test_few_tries_make_a_hollow_dot() -> None:
    figure = figure_of(acceptance(cancelled()))
    marker = figure["data"][0]["marker"]
    assert isinstance(marker, dict)
    assert "@paper" in marker["color"]


def hostile_lookup() -> Trace:
    """A copied draft of tokens that are markup."""
    recipe = Recipe(branching=(1,) * 5, drawing="lookup", rounds=20, draft_ms=0.1)
    return build(World(pieces=(*HOSTILE, END), temperature=0.9), recipe, method="prompt_lookup")


def test_films_show_what_was_thrown_at_what_and_what_came_of_it() -> None:
    trace, seen = tree(), 0
    for index, r in enumerate(trace.rounds):
        films = [film for picture in views(trace, index) for film in picture.get("films", [])]
        for film in films:
            heads = [frame["head"] for frame in film["frames"]]
            for row in film["rows"]:
                assert len(row["cells"]) == len(heads)
            for place, head in enumerate(heads):
                (tried,) = [c for row in film["rows"] if (c := row["cells"][place])["tried"]]
                assert sum(row["cells"][place]["share"] for row in film["rows"]) <= 1 + 1e-5
                if head.startswith("Dart "):
                    number, chance = head.removeprefix("Dart ").split(" · ")
                    check = r.checks[int(number) - 1]
                    assert chance == probability(check.accept_probability)
                    assert tried["tried"] == r.nodes.state[check.node]
                    assert tried["share"] == pytest.approx(check.p, abs=1e-5)
                seen += 1
    assert seen >= 10


def test_token_text_is_markup_in_no_picture() -> None:
    """Neither in HTML nor in the pseudo-markup or formulas of a chart."""
    drawn = [*pictures(hostile()), *pictures(hostile_lookup())]
    text = "".join(picture["html"] for picture in drawn)
    charts = repr([picture["section"]["figure"] for picture in drawn])
    for token in ("<script", "<b>", "<br>", "</p>b", 'onmouseover="'):
        assert token not in text.replace('<p class="ds-quote">', "").replace("</p>", "")
        assert token not in charts
    assert "$x^2$" not in charts
    assert "${" not in charts
    assert "&lt;script&gt;" in text
    assert "&lt;script&gt;" in charts
