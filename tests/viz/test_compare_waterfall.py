"""The bars of a waterfall follow from each other, and its sentence is made of their numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace as having
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.compare.waterfall import Waterfall as Parts
from core.compare.waterfall import waterfall as parts_of
from tests import sample_traces as samples
from tests.compared import entry, plain_of
from tests.traces import random_trace
from tests.viz.test_compare_positions import entries, greedy, sampled
from viz.compare.entry import Entry
from viz.compare.measured import Measured, measured
from viz.compare.payload import Waterfall
from viz.compare.table import table
from viz.compare.waterfall import waterfalls
from viz.compare.waterfall_words import sentence
from viz.sentence import plain

MOST = 180  # letters in three lines
_MS = re.compile(r"(<?[\d,]+) ms")
_WORTHLESS = re.compile(r"[\d,]+ ms a pass more")  # explains a cost, decides nothing


def check(found: list[Entry]) -> list[Waterfall]:
    made, axis = waterfalls(found)
    json.dumps(made, allow_nan=False)
    assert axis == max((max(b["start"], b["stop"]) for w in made for b in w["bars"]), default=0)
    for each in made:
        check_bars(each)
        check_sentence(each)
        trace, reference = found[each["method"]].trace, found[0].trace
        assert trace is not None
        assert reference is not None
        numbers = measured(trace, reference)
        assert each["bars"][-1]["stop"] == pytest.approx(numbers.ms)
        assert each["bars"][0]["stop"] == pytest.approx(numbers.plain_ms)
    return made


def check_bars(found: Waterfall) -> None:
    bars = found["bars"]
    assert [bar["kind"] for bar in bars][::5] == ["plain", "total"]
    for bar, after in pairwise(bars[:-1]):
        assert after["start"] == bar["stop"]
    assert bars[0]["start"] == bars[-1]["start"] == 0
    assert bars[-2]["stop"] == pytest.approx(bars[-1]["stop"])
    steps = sum(bar["stop"] - bar["start"] for bar in bars[:-1])
    assert steps == pytest.approx(bars[-1]["stop"], abs=1e-6)
    for bar in bars[1:-1]:
        assert (bar["kind"] == "saved") == (bar["stop"] < bar["start"])
        size = f"{abs(bar['stop'] - bar['start']):,.0f}"
        assert bar["text"].lstrip("+−") in (size, "<1")
        assert 0 <= bar["wasted"] <= 1
    hatched = {bar["label"] for bar in bars if bar["wasted"]}
    assert hatched <= {"each pass is wider", "drafting"}
    assert found["head"].removesuffix(" ms") == bars[-1]["text"].split(" = ")[0]


def check_sentence(found: Waterfall) -> None:
    text = plain(found["sentence"])
    told = _MS.findall(_WORTHLESS.sub("", text))
    numbers = {bar["text"].split(" = ")[0].lstrip("+−") for bar in found["bars"]}
    assert len(told) == 2
    assert set(told) <= numbers
    assert len(text) <= MOST
    assert text.endswith(".")


@pytest.mark.parametrize("made", [greedy, sampled])
def test_bars_chain_and_end_at_the_time_of_the_table(made: object) -> None:
    assert callable(made)
    found = entries(made())
    drawn = check(found)
    assert [each["method"] for each in drawn] == list(range(1, len(found)))
    rows = {row["method"]: row for row in table(found)["rows"]}
    for each in drawn:
        cells = {cell["text"] for cell in rows[each["method"]]["cells"]}
        assert each["head"] in cells
        assert rows[each["method"]]["delivered_text"] in each["bars"][-1]["text"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 12)), min_size=1, max_size=4))
def test_any_records_have_bars_that_chain(drawn: list[tuple[int, int]]) -> None:
    check([entry(random_trace(Random(seed), rounds)) for seed, rounds in drawn])


def test_what_is_hatched_is_the_share_of_the_drafts_that_was_thrown_away() -> None:
    chain = samples.chain()
    made = check([entry(plain_of(chain)), entry(chain)])[0]
    drafted = sum(r.drafted for r in chain.rounds)
    kept = sum(len(r.outcome.accepted) for r in chain.rounds)
    share = {bar["label"]: bar["wasted"] for bar in made["bars"]}
    for label in ("drafting", "each pass is wider"):
        assert share[label] == pytest.approx(1 - kept / drafted)


def test_only_methods_that_have_ended_have_a_waterfall() -> None:
    chain = samples.chain()
    found = [
        entry(plain_of(chain)),
        entry(chain, "running"),
        Entry("later", "Later", True, "waiting"),
        entry(chain, "cancelled"),
    ]
    assert [each["method"] for each in check(found)] == [3]
    assert waterfalls([]) == waterfalls([Entry("plain", "Plain", True, "running")]) == ([], 0.0)


def sample() -> tuple[Parts, Measured]:
    chain = samples.chain()
    parts = parts_of(chain, plain_of(chain))
    assert parts is not None
    return parts, measured(chain, plain_of(chain))


def told(most: bool = False, **changes: float) -> str:
    """Return the sentence on a waterfall with these bars; the total follows from them."""
    parts, number = sample()
    parts = having(parts, plain=1000.0, fewer_passes=-600.0, wider_passes=0.0, rest=0.0)
    parts = having(parts, **{"drafting": 0.0, **changes})
    total = parts.plain + parts.fewer_passes + parts.wider_passes + parts.drafting + parts.rest
    return plain(sentence(having(parts, total=total), number, most))


def test_the_sentence_names_what_was_saved_and_the_largest_cost() -> None:
    number = sample()[1]
    saved = f"{number.tokens - number.passes} target passes fewer save 600 ms"
    assert told(drafting=200.0, wider_passes=100.0).startswith(f"{saved}; drafting takes 200 ms of")
    assert told(drafting=100.0, wider_passes=200.0).startswith(f"{saved}; wider passes take 200 ms")
    assert told(drafting=700.0).startswith(f"{saved}, but drafting alone costs 700 ms: ")
    slower = told(drafting=350.0, wider_passes=300.0)
    assert slower.startswith(f"{saved}, but what it takes is more: drafting first, 350 ms, ")
    little = told(drafting=20.0, rest=40.0)
    paid = "and little is paid for that, most for accepting and recording: 40 ms."
    assert little == f"{saved}, {paid}"
    assert told() == f"{saved}, and nothing is paid for that: 400 ms in all."
    assert told(most=True).startswith("Saves the most target passes, ")
    more = told(fewer_passes=0.0, wider_passes=50.0, drafting=20.0)
    assert more == "No target pass is saved, so wider passes come on top: 50 ms of the 1,070 ms."
    assert told(fewer_passes=0.0) == "No target pass is saved: 1,000 ms against 1,000 ms."


def test_the_reason_of_a_cost_has_the_counts_of_the_record() -> None:
    number = sample()[1]
    drafting = f"{number.draft_passes} draft passes for {number.drafted} tokens, "
    assert f": {drafting}{number.accepted} kept." in told(drafting=200.0)
    assert f"{number.tokens / number.passes:.1f}." in told(wider_passes=200.0)


def test_the_one_that_saves_most_passes_is_called_that() -> None:
    found = check(entries(greedy()))
    saved = {each["method"]: each["bars"][1]["start"] - each["bars"][1]["stop"] for each in found}
    called = [each["method"] for each in found if "the most" in plain(each["sentence"])]
    assert called == [max(saved, key=lambda method: saved[method])]
