"""A comparison is whole and agrees with itself at every moment of its runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace as changed

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from core.trace import Trace, token_ids
from tests.compared import cut, entry, plain_of, written
from tests.sample_traces import ALL, chain, hostile, relaxed, tree
from tests.traces import traces
from viz.compare.comparison import compare
from viz.compare.entry import Entry
from viz.compare.payload import Comparison
from viz.compare.positions import Positions

TEXT = list(range(16))


def compared(*entries: Entry) -> Comparison:
    found = compare(entries, "name", "", "Your run")
    json.dumps(found, allow_nan=False)
    return found


def moments(*whole: Trace) -> Iterator[list[Entry]]:
    """Yield a comparison's entries after every round of every method, as a page may ask for it."""
    for now, trace in enumerate(whole):
        before = [entry(done) for done in whole[:now]]
        after = [entry(None, "waiting", name=later.method_name) for later in whole[now + 1 :]]
        for rounds in range(len(trace.rounds) + 1):
            yield [*before, entry(cut(trace, rounds), "running"), *after]
    yield [entry(done) for done in whole]


@pytest.mark.parametrize("make", [tree, relaxed, hostile])
def test_every_moment_of_a_run_has_a_payload(make: type) -> None:
    trace: Trace = make()
    for entries in moments(plain_of(trace), trace):
        found = compared(*entries)
        exact = entries[0].trace
        assert exact is not None
        assert len(found["places"]) == len(token_ids(exact))
        assert (found["score"] is None) == (not token_ids(exact))
        assert found["finished"] == all(each.status == "done" for each in entries)
        assert [m["status"] for m in found["methods"]] == [each.status for each in entries]
        assert found["finding"]


def test_a_method_that_is_cut_off_takes_nothing_from_the_others() -> None:
    whole = [entry(written(TEXT)), entry(written(TEXT, [1, 4, 4], verify_ms=30))]
    alone = compared(*whole)
    for lost in (entry(None, "error"), entry(None, "cancelled")):
        found = compared(*whole, lost)
        assert found["finished"]
        assert found["table"]["rows"] == alone["table"]["rows"]
        assert found["score"] is not None
        assert alone["score"] is not None
        assert found["score"]["staves"][:2] == alone["score"]["staves"]


@pytest.mark.parametrize("name", ALL)
def test_every_sample_can_be_compared(name: str) -> None:
    compared(entry(plain_of(chain())), entry(ALL[name]()))
    compared(entry(ALL[name]()), entry(chain()))


@settings(max_examples=25)
@given(traces(), traces())
def test_any_records_can_be_compared(first: Trace, second: Trace) -> None:
    alone = (replace(first, sequences=1), replace(second, sequences=1))
    compared(*(entry(trace) for trace in alone), entry(None, "running"))


def test_times_of_table_and_waterfalls_are_the_same() -> None:
    made = [written(TEXT, [1, size, size], verify_ms=20.0 * size) for size in (2, 4)]
    found = compared(entry(written(TEXT)), *map(entry, made))
    times = {row["method"]: row["cells"][0] for row in found["table"]["rows"]}
    assert [fall["method"] for fall in found["waterfalls"]] == [1, 2]
    for fall in found["waterfalls"]:
        total = fall["bars"][-1]
        assert total["stop"] - total["start"] == pytest.approx(times[fall["method"]]["value"])
        assert fall["head"] == times[fall["method"]]["text"]


def test_the_page_says_what_ran_where_and_that_it_was_timed_once() -> None:
    first = written(TEXT, temperature=0.7)
    found = compared(entry(first), entry(written(TEXT, [1, 4])))
    assert found["prompt"] == found["title"] == first.prompt.text
    for part in ("Your run", "World-135M", "float32 on cpu", "temperature 0.7", "seed 7", "toy"):
        assert part in found["source"]
    assert "2025-06-01" in found["source"]
    assert "One run of each method" in found["note"]
    assert "prompt pass left out" in found["note"]
    assert compare([entry(first)], "name", "A title", "")["title"] == "A title"


def test_times_of_two_machines_are_not_passed_off_as_comparable() -> None:
    first = written(TEXT)
    other = replace(first, environment=replace(first.environment, threads=8))
    assert "do not compare" in compared(entry(first), entry(other))["note"]


def test_nothing_yet_is_a_page_too() -> None:
    waiting = entry(None, "waiting")
    found = compared(changed(waiting, status="running"), waiting)
    assert found["score"] is None
    assert found["places"] == []
    assert not found["finished"]
    assert compared()["finished"]


@pytest.mark.parametrize(
    "own",
    [
        [1, 2, 3, 4, 5, 6],
        [1, 2, 9, 3, 4, 5, 6],
        [1, 2, 4, 5, 6],
        [1, 9, 9, 8, 9, 3, 7, 7],
        [1, 2, 3],
    ],
)
def test_the_round_at_a_place_is_the_capsule_that_covers_it(own: list[int]) -> None:
    made = [written([1, 2, 3, 4, 5, 6]), written(own, [1, 2, 2, 2], lossless=False)]
    for entries in ([entry(t) for t in made], [entry(made[0]), entry(cut(made[1], 2), "running")]):
        found = compared(*entries)
        score = found["score"]
        assert score is not None
        for column, each in enumerate(score["places"]):
            if each["place"] is None:
                continue
            shown = Positions(entries).at(found["places"][each["place"]])
            for small, stave in zip(shown["trees"], score["staves"], strict=True):
                capsules = [c for c in stave["capsules"] if c["start"] <= column < c["stop"]]
                assert [small["round"]] == [c["round"] for c in capsules] or not capsules
