"""The picture of what any rule could keep: the numbers of one fixture, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.consistency import round_problems
from core.extras import PrefixExtras, PrefixLine, PrefixNode, PrefixWay, Rung, Way
from core.trace import Round, Trace
from tests.viz.by_hand import (
    IT,
    THE,
    THIS,
    WHEN,
    WORDS,
    check,
    law,
    nodes,
    round_of,
    trace_of,
)
from viz.payload import Figure, Picture
from viz.pictures.prefix_gap import draw
from viz.reading import read
from viz.theme import DARK, LIGHT, painted

# p (.5, .3, .2), q (.2, .3, .5) over THIS, WHEN, THE; two drafts
MASS, TARGET = [0.0, 0.5, 0.8, 1.0], [0.0, 0.2, 0.5, 1.0]


def line(*ways: tuple[Way, Sequence[float], int, float]) -> PrefixLine:
    return PrefixLine(
        mass=MASS,
        target=TARGET,
        token=[THE, WHEN, THIS],
        begin=[0.0, 0.5, 0.8],
        end=[0.5, 0.8, 1.0],
        ways=[
            PrefixWay(way=way, inside=list(inside), widest=widest, optimum=best)
            for way, inside, widest, best in ways
        ],
    )


DRAWN = line(
    ("independent", (0, 0.25, 0.64, 1), 2, 0.86),
    ("distinct", (0, 0, 0.514286, 1), 2, 0.985714),
)
GREEDY = line(("top_and_one", (0, 0, 0.6, 1), 2, 0.9))
KEPT: Mapping[str, float] = {
    "one/standard": 0.7,
    "independent/naive": 0.483,
    "independent/recursive": 0.76,
    "independent/k_seq": 0.791355,
    "independent/optimum": 0.86,
    "distinct/naive": 0.613214,
    "distinct/recursive": 0.82,
    "distinct/optimum": 0.985714,
    "top_and_one/naive": 0.58,
    "top_and_one/recursive": 0.82,
    "top_and_one/optimum": 0.9,
    "deterministic/one_hot": 0.5,
}


def rungs(estimated: str = "") -> list[Rung]:
    return [
        Rung(name=name, value=value, margin=0.001 if name == estimated else None)
        for name, value in KEPT.items()
    ]


def node(**changes: object) -> PrefixNode:
    made = PrefixNode(node=0, drafts=2, fixed=1, lines=[DRAWN, GREEDY], rungs=rungs())
    return replace(made, **changes)


SHORT = node(  # as the nodes are kept that are not drawn
    rungs=[],
    lines=[
        PrefixLine(
            mass=[0.8],
            target=[0.5],
            token=[],
            begin=[],
            end=[],
            ways=[PrefixWay(way="top_and_one", inside=[0.55], widest=0, optimum=0.95)],
        )
    ],
)


def drafted(*found: PrefixNode) -> Round:
    """Return a round whose drawn child missed, and whose likeliest child stayed."""
    made = round_of(
        nodes(
            [IT, THE, WHEN],
            [-1, 0, 0],
            ["root", "accepted", "rejected"],
            [None, 0.2, 0.3],
            [None, None, 0.6],
        ),
        [check(2, 0.7, 0.3, 0.6), check(1, 0.1, 0.4, None)],
        [law(0, [(THIS, 0.5, 0.2), (WHEN, 0.3, 0.3), (THE, 0.2, 0.5)])],
        [1],
        None,
        "none",
    )
    return replace(made, extras=[PrefixExtras(nodes=list(found))])


def picture(*found: PrefixNode, trace: Trace | None = None, temperature: float = 1) -> Picture:
    whole = trace or trace_of(drafted(*found), temperature)
    drawn = draw(read(whole, 0))
    assert drawn is not None
    return drawn


def figure(drawn: Picture) -> Figure:
    found = drawn["section"]["figure"]
    assert found is not None
    return found


def bars(found: Figure) -> list[list[float]]:
    """Return the lengths of the bars that tell what is kept, row by row."""
    return [
        cast(list[float], trace["x"])
        for trace in found["data"]
        if trace["type"] == "bar" and "base" not in trace
    ]


def texts(found: Figure) -> list[str]:
    return [
        str(each["text"]) for each in cast(list[dict[str, object]], found["layout"]["annotations"])
    ]


def test_the_round_by_hand_is_consistent() -> None:
    made = drafted(SHORT, node())
    problems = list(round_problems(made, dict(enumerate(word.encode() for word in WORDS))))
    assert problems == []


@pytest.mark.parametrize(
    "bad",
    [
        node(node=7),
        node(fixed=3),
        node(lines=[DRAWN]),
        node(rungs=[], lines=[DRAWN]),
        node(lines=SHORT.lines),
        node(rungs=[], lines=[*SHORT.lines, *SHORT.lines]),
        node(rungs=rungs()[1:]),
        node(lines=[replace(DRAWN, target=[0.0, 0.2, 0.5])]),
        node(lines=[replace(DRAWN, begin=[0.0])]),
        node(lines=[line(("independent", (0, 0.25, 0.64), 2, 0.86))]),
        node(lines=[line(("independent", (0, 0.25, 0.64, 1), 9, 0.86))]),
        node(lines=[line(("independent", (0, 0.25, 0.64, 1), 2, 0.96))]),
    ],
)
def test_bounds_that_contradict_themselves_are_found(bad: PrefixNode) -> None:
    made = drafted(bad)
    problems = list(round_problems(made, dict(enumerate(word.encode() for word in WORDS))))
    assert any("bounds" in problem for problem in problems)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_the_figure(palette: dict[str, str]) -> None:
    go.Figure(painted(figure(picture(node())), palette))


def test_a_row_per_way_of_drafting_has_its_rules_from_naive_to_best() -> None:
    assert bars(figure(picture(node()))) == [
        [0.483, 0.76, 0.791355, 0.86],
        [0.613214, 0.82, 0.985714],
        [0.58, 0.82, 0.9],
    ]


def test_the_loss_is_told_and_marked_where_the_gap_is_widest() -> None:
    found = figure(picture(node()))
    assert [text for text in texts(found) if text.endswith("lost")] == [
        ".140 lost",
        ".014 lost",
        ".100 lost",
    ]
    shapes = cast(list[dict[str, object]], found["layout"]["shapes"])
    marks = [s for s in shapes if cast(dict[str, object], s["line"])["color"] == "@rejected"]
    assert [(s["x0"], s["y0"], s["y1"]) for s in marks] == [
        (0.8, 0.5, 0.64),
        (0.8, 0.5, 0.514286),
        (0.8, 0.5, 0.6),
    ]


def test_the_shading_lies_between_p_and_the_chance_that_all_drafts_lie_in_h() -> None:
    found = figure(picture(node()))
    shaded = [trace["y"] for trace in found["data"] if trace.get("fill") == "tonexty"]
    assert shaded == [[0, 0.25, 0.64, 1], [0, 0.2, 0.514286, 1], [0, 0.2, 0.6, 1]]


def test_where_nothing_is_lost_nothing_is_marked() -> None:
    sure = line(("independent", TARGET, 0, 1.0), ("distinct", TARGET, 0, 1.0))
    found = figure(picture(node(lines=[sure, GREEDY])))
    assert [text for text in texts(found) if text.endswith("lost")] == [".100 lost"]


def test_words_say_what_one_draft_and_the_best_would_keep() -> None:
    section = picture(node())["section"]
    assert section["foot"] == (
        "After It one draft would be kept .700 of the time; 2 drafts made as here are kept .900 of "
        "the time, the most that any rule could keep. Drawn without replacement the most would be "
        ".986, with replacement .860."
    ).replace("After It", "After “·It”")
    assert section["alt"] == section["foot"]


def test_other_nodes_are_told_but_the_one_with_a_ladder_is_drawn() -> None:
    shown = node(node=1)
    drawn = picture(SHORT, shown)
    assert bars(figure(drawn))[2][-1] == 0.9
    assert drawn["section"]["note"].startswith("After “·The”")
    assert drawn["section"]["foot"].startswith(
        "After “·It” 2 drafts made as here are kept .950 of the time, the most that any rule could "
        "keep. After “·The” one draft"
    )
    assert drawn["section"]["foot"].count("replacement") == 2


def test_an_estimate_says_that_it_is_one() -> None:
    found = figure(picture(node(rungs=rungs("distinct/recursive"))))
    assert "≈.820" in texts(found)
    assert ".820" in texts(found)


def test_the_row_in_use_is_named_by_how_its_drafts_are_made() -> None:
    def titles(made: PrefixNode) -> list[str]:
        return [text for text in texts(figure(picture(made))) if "draw" in text or "use" in text]

    assert titles(node()) == [
        "2 drafts drawn with replacement",
        "2 drafts drawn without replacement",
        "<b>The likeliest, 1 drawn: in use</b>",
    ]
    assert titles(node(drafts=4, fixed=3))[2] == "<b>The likeliest 3, 1 drawn: in use</b>"
    assert titles(node(drafts=2, fixed=2))[2] == "<b>The likeliest 2: in use</b>"


def test_token_text_is_never_markup() -> None:
    hostile = {THE: b"<b>$x^2$</b>", WHEN: b"<script>", IT: b"</p>"}
    whole = trace_of(drafted(node()), 1)
    whole = replace(whole, vocabulary={**whole.vocabulary, **hostile})
    found = figure(picture(trace=whole))
    shown = [*texts(found), *(str(trace.get("hovertext")) for trace in found["data"])]
    assert not any(mark in text for text in shown for mark in ("<script", "<b>$", "$x", "</p>"))


def test_rounds_that_recorded_no_bounds_have_no_picture() -> None:
    without = replace(drafted(node()), extras=[])
    assert draw(read(trace_of(without), 0)) is None
    assert draw(read(trace_of(drafted()), 0)) is None
    assert draw(read(trace_of(drafted(node(rungs=[]))), 0)) is None
    single = node(drafts=1, fixed=0)
    assert draw(read(trace_of(drafted(single)), 0)) is None
