"""VocabTrim's picture: the curve with its cut, speed-ups by the paper's measure, and the tokens
that no draft could have been.
"""

from __future__ import annotations

from math import log10
from typing import cast

import pytest
from msgspec.structs import replace

from core.extras import TrimExtras
from core.trace import Trace
from tests.viz.pictured import (
    assert_kept_and_guarded,
    column,
    figure_of,
    has_none_without_its_block,
    parts,
    run,
)
from viz.pictures.vocabtrim import draw
from viz.reading import read
from viz.trim_gains import gains


def sized(found: Trace, rest: int = 10, row: int = 1, target: int = 1000) -> Trace:
    """Return the trace of a run of the toys with sizes and a vocabulary that they do not have."""
    known = {"rest": rest, "row": row, "target": target, "size": 50_000}
    curve = {"rank": [1, 64, 1000, 50_000], "count": [9, 5, 1, 0], "share": [0.1, 0.5, 0.9, 1.0]}
    rounds = [
        replace(
            r,
            extras=[
                replace(e, **known, **curve) if isinstance(e, TrimExtras) else e for e in r.extras
            ],
        )
        for r in found.rounds
    ]
    return replace(found, rounds=rounds)


def trace(temperature: float = 0.8) -> Trace:
    return run("vocabtrim", temperature, draft_vocabulary=16, length=3, tokens=40)


def block(found: Trace, index: int = 1) -> TrimExtras:
    return next(e for e in found.rounds[index].extras if isinstance(e, TrimExtras))


def test_the_curve_is_the_counts_and_the_cut_stands_where_the_drafter_s_rows_end() -> None:
    found = trace()
    extra, figure = block(found), figure_of(draw(read(found, 1)))
    assert extra.kept == 16
    seen = [i for i, number in enumerate(extra.count) if number]
    assert column(figure, "frequency") == [extra.rank[i] for i in seen]
    assert column(figure, "frequency", "y") == [extra.count[i] for i in seen]
    shapes = cast("list[dict[str, object]]", figure["layout"]["shapes"])
    ground, cut = shapes[:2]
    assert (ground["x0"], ground["x1"]) == (16, extra.size)
    assert cut["x0"] == cut["x1"] == 16
    texts = [a["text"] for a in cast("list[dict[str, object]]", figure["layout"]["annotations"])]
    assert "cut at 16" in texts
    assert parts(figure, "speed-up") == []  # toys have no sizes


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_speed_ups_are_the_paper_s_measure_at_the_acceptance_of_the_rounds_so_far(
    temperature: float,
) -> None:
    found = sized(trace(temperature))
    index = 6
    reading = read(found, index)
    extra = block(found, index)
    rounds = [r for r in found.rounds[: index + 1] if r.checks]
    wrote = sum(len(r.outcome.emitted) for r in rounds) / len(rounds)
    gamma = sum(r.drafted for r in rounds) / len(rounds)
    tried = 0.0
    for r in rounds:
        own = next(e for e in r.extras if isinstance(e, TrimExtras))
        for depth in range(len(r.checks)):  # a chain: test number i is at node i
            tried += 1 - own.lost[depth]
    inside = sum(len(r.outcome.accepted) for r in rounds) / tried
    result = gains(reading, extra)
    assert result is not None
    assert result.inside == pytest.approx(min(1, inside))
    assert result.own == pytest.approx(wrote / (gamma * (10 + extra.kept) / 1000 + 1))
    for rank, gain in zip(result.ranks, result.modelled, strict=True):
        beta = result.inside * extra.share[extra.rank.index(rank)]
        whole = int(gamma)
        tau = sum(beta**i for i in range(whole + 1)) + (gamma - whole) * beta ** (whole + 1)
        assert gain == pytest.approx(tau / (gamma * (10 + rank) / 1000 + 1))
    figure = figure_of(draw(reading))
    assert column(figure, "best", "y") == [max(result.modelled)]
    assert column(figure, "this run") == [extra.kept]
    assert column(figure, "this run", "y") == [result.own]


def test_a_tiny_row_asks_for_all_tokens_and_a_large_one_for_few() -> None:
    best: list[int] = []
    for target in (10**9, 10**5, 10**2):
        found = sized(trace(), target=target)
        result = gains(read(found, 6), block(found, 6))
        assert result is not None
        assert result.ranks == [64, 1000, 50_000]
        best.append(result.ranks[result.best])
    assert best == [50_000, 1000, 64]


def test_tokens_outside_are_outlined_in_the_text_so_far() -> None:
    found = trace()
    found = replace(found, vocabulary=dict.fromkeys(found.vocabulary, b" word"))
    marked = 0
    for index in range(1, len(found.rounds)):
        picture = draw(read(found, index))
        if picture is None:
            continue
        flags = [
            flag
            for r in found.rounds[: index + 1]
            for e in r.extras
            if isinstance(e, TrimExtras)
            for flag in e.outside
        ]
        assert picture["html"].count("ds-quote-outside") == sum(flags)
        marked = sum(flags)
    assert marked > 1


def test_a_character_that_a_token_outside_begins_is_outlined_where_it_is_shown() -> None:
    found = trace()
    halves = {token: b"\xc3" if token % 2 else b"\xa9" for token in found.vocabulary}
    rounds = [
        replace(
            r,
            outcome=replace(r.outcome, emitted=[1, 2]),
            extras=[replace(e, outside=[True, False])],
        )
        for r in found.rounds[1:2]
        for e in r.extras
        if isinstance(e, TrimExtras)
    ]
    picture = draw(read(replace(found, vocabulary=halves, rounds=rounds), 0))
    assert picture is not None
    assert picture["html"] == '<p class="ds-quote"><mark class="ds-quote-outside">\u00e9</mark></p>'


def test_words_name_the_share_that_is_covered() -> None:
    found = sized(trace())
    picture = draw(read(found, 4))
    assert picture is not None
    extra = block(found, 4)
    foot = picture["section"]["foot"]
    assert f"names 16 of {extra.size:,} tokens" in foot
    assert f"{100 * extra.covered:.1f} %" in foot
    assert picture["section"]["alt"] == foot
    axis = cast("dict[str, list[float]]", figure_of(picture)["layout"]["xaxis"])
    assert axis["range"][1] == pytest.approx(log10(extra.size) + 0.02)


def test_the_file_gives_it_back_and_wrong_blocks_are_refused() -> None:
    found = trace()
    extra = block(found)
    wrong = [
        replace(extra, kept=extra.size + 1),
        replace(extra, lost=[*extra.lost, 0.5]),
        replace(extra, outside=[*extra.outside, True]),
        replace(extra, node=[0, *extra.node]),
        replace(extra, rank=list(reversed(extra.rank))),
        replace(extra, count=list(reversed(range(len(extra.count))))[::-1]),
    ]
    assert_kept_and_guarded(found, wrong, "extras, trim")


def test_it_is_for_rounds_with_its_block_and_tokens_are_data() -> None:
    found = trace()
    assert has_none_without_its_block(found, draw)
    spelled = dict.fromkeys(found.vocabulary, b"@kept<b>$x$")
    picture = draw(read(replace(found, vocabulary=spelled), 3))
    assert picture is not None
    assert "<b>" not in picture["html"]
    assert "&lt;b&gt;" in picture["html"]
    assert "<b>" not in repr(picture["section"]["figure"])
