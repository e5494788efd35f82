"""The first line of the page follows from the numbers, and claims no more than they show."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.trace import Round, Trace
from tests.compared import changed_at, cut, entry, written
from tests.sample_traces import ALL
from tests.traces import traces
from viz.compare.entry import Entry
from viz.compare.finding import finding, is_inverted
from viz.compare.table import table
from viz.sentence import plain as as_text

TEXT = list(range(25))  # 24 after the prompt pass, which take plain decoding 20 ms each
PLAIN = written(TEXT, name="Plain decoding")
ONE, TWO, THREE, FOUR, SIX = ([1, *[size] * 24] for size in (1, 2, 3, 4, 6))

Made = tuple[str, Sequence[int], float]


def compared(*made: Made) -> list[Entry]:
    """Return plain decoding and methods: name, tokens per round, ms of a round."""
    return [
        entry(PLAIN),
        *(entry(written(TEXT, sizes, verify_ms=ms, name=name)) for name, sizes, ms in made),
    ]


def bold(entries: Sequence[Entry]) -> str:
    return "".join(run["text"] for run in finding(entries) if run["style"] == "strong")


def said(entries: Sequence[Entry]) -> str:
    return as_text(finding(entries))


def test_the_fastest_has_its_factor() -> None:
    entries = compared(("Quick", FOUR, 40), ("Late", TWO, 38))
    assert bold(entries) == "Quick, the fastest, is 2.0 times as fast as plain decoding"
    assert said(entries).endswith(": 240 ms against 480 ms, with 4.0 tokens per target pass.")
    assert not is_inverted(entries)


def test_two_orders_that_differ_come_before_the_factor() -> None:
    entries = compared(("Lookup", TWO, 20), ("Eagle", FOUR, 60), ("Judge", SIX, 110))
    assert bold(entries) == "Of three methods, the one accepted most finishes last."
    assert said(entries).endswith(
        " Judge wins 6.0 tokens per target pass, Lookup 2.0, "
        "yet Lookup is done after 240 ms and Judge after 440 ms."
    )
    assert is_inverted(entries)


def test_the_method_accepted_most_need_not_be_the_last() -> None:
    entries = compared(("Quick", TWO, 10), ("Most", SIX, 60), ("Last", THREE, 45))
    assert bold(entries) == "The method accepted most is not the fastest."
    assert "Most wins 6.0 tokens per target pass, Quick 2.0" in said(entries)


def test_orders_that_differ_among_others_come_after_the_fastest() -> None:
    entries = compared(("Best", SIX, 20), ("Wide", FOUR, 76), ("Narrow", TWO, 20))
    assert bold(entries).startswith("Best, the fastest,")
    assert "Wide wins 4.0 tokens per target pass, Narrow 2.0, yet Narrow is done" in said(entries)


@pytest.mark.parametrize("difference", [1.02, 1.2])
def test_times_that_hardly_differ_are_no_order(difference: float) -> None:
    entries = compared(("Less", TWO, 20), ("More", THREE, 30 * difference))
    assert is_inverted(entries) == (difference > 1.05)
    assert ("accepted more finishes last" in said(entries)) == (difference > 1.05)


def test_slower_than_plain_decoding_is_said_first() -> None:
    alone = compared(("Heavy", FOUR, 100))
    assert bold(alone) == "Heavy is slower than plain decoding"
    assert said(alone).endswith(": 600 ms against 480 ms, with 4.0 tokens per target pass.")
    both = compared(("Heavy", FOUR, 100), ("Heavier", TWO, 90))
    assert bold(both) == "No method is faster than plain decoding here."
    assert "Heavy comes nearest: 600 ms against 480 ms" in said(both)
    assert is_inverted(both)


def test_one_that_is_slower_than_plain_decoding_is_named_beside_the_fastest() -> None:
    entries = compared(("Quick", SIX, 40), ("Heavy", FOUR, 100), ("Heavier", TWO, 90))
    told = "Slower than plain decoding: Heavy with 4.0 tokens per target pass and Heavier with 2.0."
    assert said(entries).endswith(told)


def test_even_is_called_even() -> None:
    entries = compared(("Even", TWO, 39.5))
    assert bold(entries) == "Even is as fast as plain decoding"


def test_a_lossy_method_is_called_so() -> None:
    lossy = entry(written(TEXT, SIX, verify_ms=40, name="Judge", lossless=False))
    assert bold([entry(PLAIN), lossy]).startswith("Judge (lossy) is 3.0 times as fast")


def test_texts_of_other_lengths_are_compared_by_the_token() -> None:
    short = written(TEXT[:13], SIX, verify_ms=90, name="Short", lossless=False)
    entries = [*compared(("Long", TWO, 20)), entry(short)]
    assert said(entries).endswith("yet Long takes 10.0 ms per token and Short 15.0 ms.")


def with_gap(trace: Trace, gap: float) -> Trace:
    rounds: list[Round] = [
        replace(r, scalars=replace(r.scalars, top2_gap=[gap] * len(r.nodes.token)))
        for r in trace.rounds
    ]
    return replace(trace, rounds=rounds)


@pytest.mark.parametrize("gap", [0.0004, 0.5])
def test_a_lossless_text_that_differs_comes_first(gap: float) -> None:
    other = changed_at(written(TEXT, FOUR, verify_ms=10, name="Odd"), 7)
    told = finding([entry(with_gap(PLAIN, gap)), entry(other)])
    assert told[0] == {"text": "Odd writes another text from 7 on", "style": "strong"}
    near = "a near tie in float32" in as_text(told)
    assert near == (gap < 0.001)
    assert ("Please report this defect." in as_text(told)) != near
    assert "is 8.0 times as fast" in as_text(told)


@pytest.mark.parametrize(("temperature", "lossless"), [(0.7, True), (0.0, False), (0.7, False)])
def test_other_texts_that_were_to_be_expected_do_not(temperature: float, lossless: bool) -> None:
    plain = written(TEXT, temperature=temperature)
    other = written(TEXT, FOUR, name="Odd", temperature=temperature, lossless=lossless)
    assert "another text" not in said([entry(plain), entry(changed_at(other, 7))])


def test_no_factor_is_told_without_a_pace_of_plain_decoding() -> None:
    for text, ms in ((TEXT[:4], 20.0), (TEXT, 0.0)):
        plain, quick = written(text, verify_ms=ms), written(text, FOUR, name="Quick")
        told = said([entry(plain), entry(quick)])
        assert re.match(r"Quick took \d+ ms for \d+ tokens\.", told)
        assert "no speed-up" in told
        assert "times as fast" not in told


def test_what_is_not_over_is_not_ranked() -> None:
    growing = cut(written(TEXT, SIX, verify_ms=1, name="Growing"), 3)
    entries = [*compared(("Quick", FOUR, 40)), entry(growing, "running"), entry(None, "waiting")]
    assert bold(entries) == "2 of 4 methods are done."
    assert "Quick is 2.0 times as fast" in said(entries)
    assert "Growing" not in said(entries)


def test_before_and_without_methods_little_is_said() -> None:
    assert said([]) == "Nothing is decoded yet."
    assert said([entry(None, "running"), entry(None, "waiting")]) == "Nothing is decoded yet."
    assert said([entry(cut(PLAIN, 3), "running")]) == "0 of 1 methods are done."
    assert said([entry(PLAIN)]) == "Plain decoding took 480 ms for 24 tokens, one per pass."


def test_what_failed_is_named_and_takes_the_others_not_down() -> None:
    entries = [*compared(("Quick", FOUR, 40)), entry(None, "error", name="Broken")]
    assert bold(entries).startswith("Quick is 2.0 times")
    assert said(entries).endswith(" Broken failed.")
    assert said([*entries, entry(None, "cancelled", name="Late")]).endswith(" Late was cancelled.")


def test_methods_of_one_name_are_told_apart_by_their_settings() -> None:
    made = [
        replace(written(TEXT, sizes, verify_ms=ms, name="Copy"), config={"length": length})
        for sizes, ms, length in ((TWO, 10, 1), (SIX, 60, 5))
    ]
    assert "Copy (5 tokens) wins 6.0" in said([entry(PLAIN), *map(entry, made)])


@given(
    st.lists(
        st.tuples(st.sampled_from([ONE, TWO, THREE, FOUR, SIX]), st.floats(1, 300)),
        min_size=1,
        max_size=4,
    )
)
def test_every_time_of_the_finding_stands_in_the_table(
    made: list[tuple[list[int], float]],
) -> None:
    named = [(f"Method {i}", sizes, ms) for i, (sizes, ms) in enumerate(made)]
    entries = compared(*named)
    shown = {row["cells"][0]["text"] for row in table(entries)["rows"]}
    told = said(entries)
    assert set(re.findall(r"[\d,]+ ms", told)) <= shown
    if "finishes last" in told:
        assert max(sizes for _, sizes, _ in named) == named[slowest(entries)][1]


def slowest(entries: Sequence[Entry]) -> int:
    """Return which of the methods beside plain decoding takes longest."""
    rows = [row["method"] for row in table(entries)["rows"] if row["method"]]
    return rows[-1] - 1


@pytest.mark.parametrize("name", ALL)
def test_something_is_said_of_every_sample(name: str) -> None:
    trace = ALL[name]()
    for entries in ([entry(trace)], [entry(PLAIN), entry(trace)], [entry(trace), entry(trace)]):
        assert bold(entries)


@given(traces(), traces())
def test_something_is_said_of_any_records(first: Trace, second: Trace) -> None:
    assert bold([entry(first), entry(second)])
