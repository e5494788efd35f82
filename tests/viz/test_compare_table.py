"""The table's numbers are those of the records, and its marks are right."""

from __future__ import annotations

import csv as reader
import io
import json
import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.waterfall import waterfall
from core.metrics import METRICS, prompt_passes
from core.trace import Round, Trace, token_ids
from tests.compared import cut, entry, plain_of, written
from tests.sample_traces import ALL, chain, hostile, tree, with_replacement
from tests.traces import traces
from viz.compare.entry import Entry
from viz.compare.measured import ENOUGH
from viz.compare.payload import Cell, Row, Table
from viz.compare.table import csv, table

TEXT = list(range(20))
times = st.floats(0.1, 500)
drafts = st.lists(st.integers(1, 5), min_size=3, max_size=20).map(lambda sizes: [1, *sizes])


def methods(sizes: Sequence[Sequence[int]], ms: Sequence[float]) -> list[Entry]:
    """Return plain decoding and a method for each cutting of the same text."""
    made = [
        written(TEXT, cuts, verify_ms=time, rejected=place, name=f"Method {place}")
        for place, (cuts, time) in enumerate(zip(sizes, ms, strict=True))
    ]
    return [entry(written(TEXT, name="Plain")), *map(entry, made)]


def cells(found: Table, key: str) -> dict[int, Cell]:
    index = [column["key"] for column in found["columns"]].index(key)
    return {row["method"]: row["cells"][index] for row in found["rows"]}


def row(found: Table, method: int) -> Row:
    return next(row for row in found["rows"] if row["method"] == method)


def after_prompt(trace: Trace) -> list[Round]:
    marked = zip(trace.rounds, prompt_passes(trace), strict=True)
    return [r for r, is_prompt in marked if not is_prompt]


@pytest.mark.parametrize("make", [chain, tree, with_replacement])
def test_numbers_are_counted_after_the_prompt_pass(make: type) -> None:
    trace: Trace = make()
    plain = plain_of(trace)
    found = table([entry(plain), entry(trace)])
    rounds = after_prompt(trace)
    emitted = sum(len(r.outcome.emitted) for r in rounds)
    drafted = sum(r.drafted for r in rounds)
    accepted = sum(len(r.outcome.accepted) for r in rounds)
    fall = waterfall(trace, plain)
    assert fall is not None
    expected = {
        "time": fall.total,
        "per_pass": emitted / sum(r.cost.target_forwards for r in rounds),
        "passes": sum(r.cost.target_forwards for r in rounds),
        "forwards": sum(r.cost.draft_forwards for r in rounds),
        "drafted": drafted,
        "accepted": accepted / drafted,
        "wasted": drafted - accepted,
    }
    assert {key: cells(found, key)[1]["value"] for key in expected} == expected
    assert row(found, 1)["delivered"] == fall.speedup
    assert row(found, 1)["promised"] == expected["per_pass"]
    assert row(found, 0)["delivered"] == row(found, 0)["promised"] == 1


@given(st.lists(drafts, min_size=2, max_size=4), st.data())
def test_best_and_worst_are_the_ends_of_a_column_and_ties_share_them(
    sizes: list[list[int]], data: st.DataObject
) -> None:
    ms = [data.draw(st.sampled_from([5.0, 20.0, 40.0])) for _ in sizes]
    found = table(methods(sizes, ms))
    for column in found["columns"]:
        shown = cells(found, column["key"]).values()
        values = [cell["value"] for cell in shown if cell["value"] is not None]
        best, worst = (min, max) if column["falls"] else (max, min)
        if column["key"] == "drafted" or len(set(values)) < 2:
            assert {cell["best"] for cell in shown} == {""}
            continue
        for cell in shown:
            assert (cell["best"] == "best") == (cell["value"] == best(values))
            assert (cell["best"] == "worst") == (cell["value"] == worst(values))


@given(st.lists(drafts, min_size=1, max_size=4), st.data())
def test_rows_go_by_time_and_the_axis_holds_every_mark(
    sizes: list[list[int]], data: st.DataObject
) -> None:
    found = table(methods(sizes, [data.draw(times) for _ in sizes]))
    shown = [cell["value"] for cell in cells(found, "time").values()]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(shown))
    marks = [x for r in found["rows"] for x in (r["delivered"], r["promised"]) if x is not None]
    assert found["axis"] >= max(marks)
    assert found["axis"] - 1 < max(marks) or found["axis"] == 2


@pytest.mark.parametrize("tokens", range(1, ENOUGH + 3))
def test_no_speed_up_is_told_of_a_short_text(tokens: int) -> None:
    text = TEXT[:tokens]
    found = table([entry(written(text, name="Plain")), entry(written(text, [1, 3, 2, 2]))])
    for method in (0, 1):
        told = row(found, method)["delivered"] is not None
        assert told == (tokens - 1 >= ENOUGH)
        assert told == bool(row(found, method)["delivered_text"])
    assert ("no speed-up" in found["note"]) == (tokens - 1 < ENOUGH)
    assert ("dotted line" in found["note"]) == (tokens - 1 >= ENOUGH)


def test_no_speed_up_is_told_of_a_method_that_has_hardly_begun() -> None:
    growing = cut(written(TEXT, [1, 3, 3, 3]), 2)
    found = table([entry(written(TEXT, name="Plain")), entry(growing, "running")])
    assert row(found, 1)["delivered"] is None
    assert row(found, 1)["promised"] == 3


def test_less_is_better_of_all_that_costs() -> None:
    found = {column["key"]: column["falls"] for column in table([])["columns"]}
    assert {key for key, falls in found.items() if not falls} == {"per_pass", "accepted"}


def test_no_speed_up_is_told_where_plain_decoding_was_not_timed() -> None:
    plain = written(TEXT, verify_ms=0.0)
    found = table([entry(plain), entry(written(TEXT, [1, 4, 4]))])
    assert [r["delivered"] for r in found["rows"]] == [None, None]
    assert "no speed-up" in found["note"]


def test_the_prompt_pass_is_in_no_time() -> None:
    slow = written(TEXT, [1, 4, 4])
    first = replace(slow.rounds[0], cost=replace(slow.rounds[0].cost, verify_ms=1e6))
    late = replace(slow, rounds=[first, *slow.rounds[1:]])
    plain = entry(written(TEXT, name="Plain"))
    assert table([plain, entry(late)]) == table([plain, entry(slow)])


def test_recording_is_in_the_time() -> None:
    plain = entry(written(TEXT, name="Plain"))
    quiet, chatty = written(TEXT, [1, 4]), written(TEXT, [1, 4], record_ms=3.0)
    before, after = (cells(table([plain, entry(t)]), "time")[1]["value"] for t in (quiet, chatty))
    assert before is not None
    assert after == pytest.approx(before + 3.0 * (len(chatty.rounds) - 1))


def test_texts_of_other_lengths_go_by_time_per_token_and_sums_are_not_ranked() -> None:
    short = written(TEXT[:10], [1, 2, 2], verify_ms=30, name="Short", lossless=False)
    long = written(TEXT, [1, 2, 2], verify_ms=19, name="Long")
    found = table([entry(written(TEXT, name="Plain")), entry(short), entry(long)])
    per_token = cells(found, "time")
    shown = [per_token[r["method"]]["value"] for r in found["rows"]]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(shown))
    totals = cells(found, "total")
    assert totals[1]["value"] == pytest.approx(7 * 30)
    assert totals[2]["value"] == pytest.approx(17 * 19)
    assert {cell["best"] for key in ("total", "passes") for cell in cells(found, key).values()} == {
        ""
    }
    assert [per_token[method]["best"] for method in (0, 1, 2)] == ["", "worst", "best"]
    assert "length" in found["note"]


def test_a_method_under_way_comes_last_and_wins_nothing() -> None:
    quick = cut(written(TEXT, [1, 4, 4], verify_ms=1), 3)
    slow = written(TEXT, [1, 4, 4], name="Slow")
    for status in ("running", "cancelled", "error"):
        found = table([entry(written(TEXT)), entry(quick, status), entry(slow)])
        assert [r["method"] for r in found["rows"]] == [2, 0, 1]
        assert {cell["best"] for cell in row(found, 1)["cells"]} == {""}
        assert found["columns"][0]["label"] == "time"


def test_a_method_without_a_record_has_no_row() -> None:
    found = table([entry(None, "waiting"), entry(None, "error")])
    assert found["rows"] == []
    assert len(table([entry(chain()), entry(None, "waiting")])["rows"]) == 1
    assert table([])["rows"] == []


def test_definitions_are_those_of_the_metrics() -> None:
    found = {column["key"]: column["definition"] for column in table([])["columns"]}
    for key, metric in (("per_pass", "tokens_per_pass_decoding"), ("accepted", "draft_efficiency")):
        assert found[key] == " ".join(METRICS[metric].definition.split())
    assert all(found.values())
    assert all("prompt pass left out" in found[key] for key in ("time", "passes", "forwards"))


def test_numbers_and_their_texts_agree() -> None:
    found = table(methods([[1, 4, 4, 4], [1, 2, 2]], [30.4, 900.0]))
    time, passes = cells(found, "time"), cells(found, "passes")
    assert [time[method]["text"] for method in (0, 1, 2)] == ["380 ms", "304 ms", "15,300 ms"]
    assert [passes[method]["text"] for method in (0, 1, 2)] == ["19", "10", "17"]
    assert cells(found, "accepted")[1]["text"] == "100 %"
    assert cells(found, "drafted")[0] == {"text": "–", "value": None, "best": ""}
    assert (row(found, 1)["delivered_text"], row(found, 1)["promised_text"]) == ("1.25×", "1.90")


@pytest.mark.parametrize("name", ALL)
def test_every_sample_has_a_table_and_a_sheet(name: str) -> None:
    entries = [entry(plain_of(chain())), entry(ALL[name]()), entry(None, "error")]
    json.dumps(table(entries), allow_nan=False)
    rows = list(reader.reader(io.StringIO(csv(entries))))
    assert len(rows) == 4
    assert len({len(line) for line in rows}) == 1


@given(traces(), traces())
def test_any_two_records_have_a_table_and_a_sheet(first: Trace, second: Trace) -> None:
    entries = [entry(first), entry(second)]
    found = table(entries)
    json.dumps(found, allow_nan=False)
    for method, trace in enumerate((first, second)):
        fall = waterfall(trace, trace)
        key = "time" if "total" not in [c["key"] for c in found["columns"]] else "total"
        value = cells(found, key)[method]["value"]
        assert value == (fall and fall.total)
    assert len(csv(entries).splitlines()) == 3


def test_the_sheet_has_the_numbers_of_the_table_in_full() -> None:
    entries = methods([[1, 4, 4, 4], [1, 2, 2]], [30.4, 90.0])
    found = table(entries)
    head, *rows = reader.reader(io.StringIO(csv(entries)))
    assert [line[head.index("name")] for line in rows] == [
        entries[r["method"]].name for r in found["rows"]
    ]
    for line, shown in zip(rows, found["rows"], strict=True):
        assert float(line[head.index("ms")]) == cells(found, "time")[shown["method"]]["value"]
        assert float(line[head.index("speedup")]) == shown["delivered"]
        assert float(line[head.index("tokens_per_pass")]) == shown["promised"]
        plain_ms = float(line[head.index("plain_ms")])
        assert math.isclose(plain_ms, 20.0 * (len(TEXT) - 1))


def test_a_sheet_is_no_place_for_formulas() -> None:
    trace = hostile()
    other = [*token_ids(trace)]
    evil = replace(trace, vocabulary={**trace.vocabulary, other[2]: b"=1+1", 1: b"@x"})
    changed = written([*other[:2], 1, *other[3:]], name="=cmd|' /C calc'!A0")
    entries = [entry(evil), entry(replace(changed, vocabulary=evil.vocabulary))]
    lines = list(reader.reader(io.StringIO(csv(entries))))
    assert any("1+1" in cell for cell in lines[1] + lines[2])
    assert not any(cell[:1] in ("=", "+", "-", "@") for line in lines for cell in line)
