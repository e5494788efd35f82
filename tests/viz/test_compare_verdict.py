"""Verdicts say where a text differs and why, and nothing before that is certain."""

from __future__ import annotations

from dataclasses import replace as changed
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.verdict import NEAR_TIE
from core.trace import Trace, token_ids
from tests.compared import changed_at, cut, entry, plain_of, written
from tests.sample_traces import chain, hostile
from viz.compare.entry import Entry
from viz.compare.methods import methods, names, notes
from viz.compare.payload import Verdict
from viz.compare.verdict import verdicts
from viz.sentence import plain as as_text

TEXT = list(range(20))
FOURS = [1, 4, 4, 4, 4, 4]


def verdict(own: Entry, exact: Entry) -> Verdict:
    first, second = verdicts([exact, own])
    assert (first["sign"], first["head"], first["place"]) == ("", "reference", None)
    return second


def line(found: Verdict) -> str:
    return as_text(found["line"])


def target(trace: Trace, dtype: str) -> Trace:
    return replace(
        trace, models=replace(trace.models, target=replace(trace.models.target, dtype=dtype))
    )


def test_the_same_text_is_identical_however_it_was_cut() -> None:
    found = verdict(entry(written(TEXT, FOURS)), entry(written(TEXT)))
    assert (found["sign"], found["head"], found["place"]) == ("=", "identical", None)
    assert line(found) == "20 of 20 tokens"


@pytest.mark.parametrize(
    ("lossless", "temperature", "dtype", "head", "cause"),
    [
        (True, 0.0, "float16", "differs from 7 on", "unexplained: please report this defect"),
        (True, 0.0, "bfloat16", "differs from 7 on", "near tie in bfloat16"),
        (False, 0.0, "bfloat16", "differs from 7 on", "lossy rule"),
        (False, 0.7, "bfloat16", "differs from 7 on", "lossy rule, sampled"),
        (True, 0.7, "bfloat16", "same law, another text", "sampling"),
    ],
)
def test_a_difference_has_both_tokens_the_gap_and_the_cause(
    lossless: bool, temperature: float, dtype: str, head: str, cause: str
) -> None:
    gap = 0.21
    assert NEAR_TIE["float16"] < gap < NEAR_TIE["bfloat16"]
    exact = written(TEXT, temperature=temperature)
    scalars = replace(exact.rounds[7].scalars, top2_gap=[gap])
    rounds = [*exact.rounds[:7], replace(exact.rounds[7], scalars=scalars), *exact.rounds[8:]]
    own = changed_at(written(TEXT, FOURS, temperature=temperature, lossless=lossless), 7)
    found = verdict(entry(target(own, dtype)), entry(target(replace(exact, rounds=rounds), dtype)))
    assert (found["sign"], found["head"], found["place"]) == ("≠", head, 7)
    start = "from 7 on: " if head.startswith("same") else ""
    assert line(found) == f"{start}·process → ·called, gap 0.21 logits, {cause}"
    tokens = [run["text"] for run in found["line"] if run["style"] == "token"]
    assert tokens == ["·process", "·called"]


@pytest.mark.parametrize("status", ["running", "cancelled", "error"])
def test_a_text_that_goes_on_or_was_cut_off_differs_by_no_end(status: str) -> None:
    whole = written(TEXT, FOURS)
    for rounds in range(len(whole.rounds)):
        own = changed(entry(cut(whole, rounds)), status=status)
        found = verdict(own, entry(written(TEXT)))
        assert (found["sign"], found["place"]) == ("", None)
        size = sum(len(r.outcome.emitted) for r in whole.rounds[:rounds])
        assert line(found) == (f"{size} of 20 tokens" if size else "")
        assert verdict(entry(whole), changed(own, trace=cut(whole, rounds)))["sign"] == ""


def test_a_text_under_way_that_differs_says_so_at_once() -> None:
    own = changed_at(written(TEXT, FOURS), 2)
    found = [verdict(entry(cut(own, n), "running"), entry(written(TEXT))) for n in range(5)]
    assert [each["place"] for each in found] == [None, None, 2, 2, 2]


def test_an_end_that_should_not_be_there_is_a_difference() -> None:
    found = verdict(entry(written(TEXT[:8], FOURS)), entry(written(TEXT)))
    assert (found["sign"], found["place"]) == ("≠", 8)
    assert "·called → end of text" in line(found)
    longer = verdict(entry(written(TEXT, FOURS)), entry(written(TEXT[:8])))
    assert "end of text → ·called" in line(longer)


def test_a_character_that_is_spread_over_tokens_is_whole_at_its_last() -> None:
    words = {**chain().vocabulary, 1: "é".encode()[:1], 2: "é".encode()[1:], 3: b"x"}
    exact, own = ([5, 1, last, 5, 5, 5] for last in (2, 3))
    made = [replace(written(text), vocabulary=words) for text in (exact, own)]
    found = verdict(entry(made[1]), entry(made[0]))
    assert line(found).startswith("é → x, gap")


def test_hostile_tokens_stay_data() -> None:
    trace = hostile()
    exact = plain_of(trace)
    for place in range(len(token_ids(trace))):
        found = verdict(entry(changed_at(trace, place)), entry(exact))
        assert found["place"] == place
        assert all(set(run) == {"text", "style"} for run in found["line"])
        assert all(character.isprintable() for character in line(found))


def test_nothing_is_said_without_a_record() -> None:
    for entries in (
        [entry(None, "waiting"), entry(chain())],
        [entry(chain()), entry(None, "error")],
    ):
        assert verdicts(entries)[1] == {"sign": "", "head": "", "line": [], "place": None}
    assert verdicts([]) == []


def test_heads_say_what_is_promised_before_anything_is_known() -> None:
    waiting = entry(None, "waiting")
    lossy = changed(waiting, lossless=False, words="Next.")
    greedy, sampled = written(TEXT), written(TEXT, temperature=0.7)
    badges = [methods([entry(t), waiting, lossy])[1]["badge"] for t in (greedy, sampled)]
    assert [each["meaning"] for each in badges] == [
        "Same text as greedy",
        "Same law as plain sampling",
    ]
    plain, first, second = methods([entry(greedy, "running"), waiting, lossy])
    assert [each["plain"] for each in (plain, first, second)] == [True, False, False]
    assert plain["rounds"] == 20
    assert (second["badge"]["word"], second["status"], second["words"]) == (
        "Lossy",
        "waiting",
        "Next.",
    )


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ({}, ""),
        ({"length": 8}, "8 tokens"),
        ({"length": 1, "drafter": "skip"}, "1 token"),
        ({"drafts": 8, "length": 4}, "8 drafts, 4 tokens"),
        ({"width": 8, "nodes": 24, "depth": 4}, "24 nodes"),
        ({"tree": [4, 2, 2]}, "tree 4 · 2 · 2"),
        ({"tree": "0 1 00 01"}, "4 nodes"),
        ({"length": 6, "threshold": 0.6}, "6 tokens, threshold 0.6"),
        ({"budget": 16, "threshold": None}, "16 nodes"),
    ],
)
def test_settings_are_told_in_a_few_words(config: dict[str, object], note: str) -> None:
    trace = written(TEXT)
    made = replace(trace, config=config)  # pyright: ignore[reportArgumentType]
    assert notes([entry(made)]) == [note]


def test_what_tells_two_runs_of_a_method_apart_is_in_their_notes() -> None:
    made = [
        replace(
            written(TEXT, FOURS),
            config={"length": 4, "drafter": drafter},
            config_names={"drafter": "Drafter"},
        )
        for drafter in ("skip", "exit")
    ]
    entries = [entry(written(TEXT, name="Plain")), *map(entry, made)]
    assert notes(entries)[1:] == ["4 tokens, drafter skip", "4 tokens, drafter exit"]
    assert names(entries)[1:] == [f"Written ({note})" for note in notes(entries)[1:]]
    assert names(entries[:2])[1] == "Written"


@given(st.integers(0, 19), st.integers(0, 30))
def test_the_place_does_not_change_as_texts_grow(place: int, rounds: int) -> None:
    own = changed_at(written(TEXT, FOURS), place)
    exact = written(TEXT)
    places = [
        verdict(entry(cut(own, n), "running"), entry(cut(exact, rounds), "running"))["place"]
        for n in range(len(own.rounds) + 1)
    ]
    assert set(places) <= {None, place}
    assert all(b is not None for a, b in pairwise(places) if a is not None)
