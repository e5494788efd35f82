"""The line map: every token that was on the table, once, in a cell of its own."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.overlay import Station as StationOf
from core.compare.overlay import Stop, covers, overlay
from core.trace import State, Trace, token_ids
from tests import sample_traces as samples
from tests.compared import entry
from tests.sample_traces import Recipe, World, build
from tests.traces import traces
from tests.viz.test_compare_positions import all_positions, entries, greedy, sampled
from viz.compare.entry import Entry
from viz.compare.map_order import MOST_ROWS, WRITTEN, arranged
from viz.compare.map_rows import Branch, Weight, branches, rows_of
from viz.compare.methods import names
from viz.compare.payload import Line, Map, Position, Station
from viz.compare.positions import Positions
from viz.reading import OWN, read
from viz.sentence import named, plain


@cache
def scattered() -> tuple[Trace, ...]:
    """Return texts that have nothing in common after the first token, by trees of 33 and 64."""
    shapes = ((), (3, 2, 2, 1), (4, 3, 2, 1), (3, 2, 2, 1))
    worlds = (World(endless=True), *(World(endless=True, agreement=x) for x in (2.0, 1.5, 1.0)))
    recipes = (Recipe(branching=shape, rounds=8 if shape else 30) for shape in shapes)
    pairs = enumerate(zip(worlds, recipes, strict=True))
    return tuple(build(world, recipe, f"m{i}" if i else "plain") for i, (world, recipe) in pairs)


def covering(found: list[Entry], index: int) -> Counter[tuple[int, int | None]]:
    """Return how often each method and node stops on the stations of `core.compare.overlay`."""
    place = Positions(found).numbers.index(index)
    assert found[0].trace is not None
    exact = token_ids(found[0].trace)
    each = [each.trace and covers(each.trace, exact)[place] for each in found]
    stations = overlay([e.trace for e in found], each)
    return Counter(tuple(sorted({stop.method for stop in s.stops})) for s in stations)


def check_map(found: Map) -> None:
    stations = found["stations"]
    cells = [(station["place"], station["row"]) for station in stations]
    assert len(set(cells)) == len(cells)
    at = {cell: number for number, cell in enumerate(cells)}
    assert found["rows"] == 1 + max(row for _, row in cells)
    assert len(found["labels"]) == found["last"] - found["first"] + 1
    for number, station in enumerate(stations):
        methods = [line["method"] for line in station["lines"]]
        assert methods == sorted(set(methods))
        assert methods
        assert -1 <= station["parent"] < number
        assert found["first"] <= station["place"] <= found["last"]
        if station["parent"] >= 0:
            parent = stations[station["parent"]]
            assert parent["place"] == station["place"] - 1
            assert parent["row"] <= station["row"]
        beside = at.get((station["place"] - 1, station["row"]))
        assert beside in (None, station["parent"])  # neighbours in a row are a line
    written = [any(x["state"] in WRITTEN for x in s["lines"]) for s in stations]
    assert (
        found["rows"] <= MOST_ROWS
        or not found["folded"]
        or all(written[n] or any(s["parent"] == n for s in stations) for n in range(len(stations)))
    )
    assert len(found["notes"]) <= 2
    assert all(0 <= note["row"] < found["rows"] for note in found["notes"])


def check(given_entries: list[Entry]) -> list[Position]:
    found = all_positions(given_entries)
    for index, at in enumerate(found):
        json.dumps(at["map"], allow_nan=False)
        check_map(at["map"])
        stations = covering(given_entries, index)
        drawn = Counter(tuple(line["method"] for line in s["lines"]) for s in at["map"]["stations"])
        left_out = sum(number for _, number in at["map"]["folded"])
        assert all(number > 0 for _, number in at["map"]["folded"])
        assert not drawn - stations
        assert drawn.total() + left_out == stations.total()
        for tree, each in zip(at["trees"], given_entries, strict=True):
            if tree["round"] is not None and each.trace is not None:
                check_text(at["map"], tree["method"], each.trace, tree["round"])
    return found


def check_text(found: Map, method: int, trace: Trace, index: int) -> None:
    """What a method wrote in the round is on the map, and nothing else is said to be written."""
    wrote = [
        line["node"]
        for station in found["stations"]
        for line in station["lines"]
        if line["method"] == method and line["state"] in WRITTEN
    ]
    own = [] if trace.rounds[index].outcome.final_token is None else [None]
    assert wrote == [*trace.rounds[index].outcome.accepted, *own]


@pytest.mark.parametrize("made", [greedy, sampled])
def test_every_token_of_the_overlay_is_on_the_map_or_counted(made: object) -> None:
    assert callable(made)
    check(entries(made()))


@settings(max_examples=40, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=4))
def test_any_records_have_a_map(found: list[Trace]) -> None:
    check([entry(trace) for trace in found])


def test_what_does_not_fit_is_folded_and_what_was_written_stays() -> None:
    found = check(entries(scattered()))
    folded = [at["map"] for at in found if at["map"]["folded"]]
    assert folded
    assert all(each["rows"] <= MOST_ROWS for each in folded)


def test_the_same_draft_of_two_methods_is_one_line_of_stations() -> None:
    chain = greedy()[1]
    twice = check([entry(trace) for trace in (greedy()[0], chain, chain)])
    for at in twice:
        for station in at["map"]["stations"]:
            lines = {line["method"]: (line["node"], line["state"]) for line in station["lines"]}
            assert lines.get(1) == lines.get(2)


def test_the_first_row_is_what_the_fastest_lossless_method_wrote() -> None:
    found = entries(greedy())
    chain = found[1].trace
    assert chain is not None
    slow = [(each, 1e6) for each in found[2:]]
    from_record = [found[0], found[1], *(entry(paced(e.trace, ms)) for e, ms in slow if e.trace)]
    for at in check(from_record):
        first = [s for s in at["map"]["stations"] if s["row"] == 0]
        index = at["trees"][1]["round"]
        if index is None:
            continue
        wrote = [line["node"] for s in first for line in s["lines"] if written_by(line, 1)]
        own = [] if chain.rounds[index].outcome.final_token is None else [None]
        assert wrote == [*chain.rounds[index].outcome.accepted, *own]


def written_by(line: Line, method: int) -> bool:
    return line["method"] == method and line["state"] in WRITTEN


def paced(trace: Trace, verify_ms: float) -> Trace:
    rounds = [replace(r, cost=replace(r.cost, verify_ms=verify_ms)) for r in trace.rounds]
    return replace(trace, rounds=rounds)


def test_stations_and_columns_are_labelled_as_everywhere() -> None:
    hostile = samples.hostile()
    found = [entry(trace) for trace in (hostile, hostile)]
    words = token_ids(hostile)
    for at in check(found):
        index = at["trees"][1]["round"]
        assert index is not None
        reading = read(hostile, index)
        for station in at["map"]["stations"]:
            line = station["lines"][0]
            node = OWN if line["node"] is None else line["node"]
            assert station["label"] == reading.label(node)
        inside = [place < len(words) for place in range(at["map"]["first"], at["map"]["last"] + 1)]
        assert [label is not None for label in at["map"]["labels"]] == inside


def test_the_remark_on_an_end_names_the_target_s_token_and_the_drafter_s() -> None:
    told = 0
    for at in check(entries(greedy())):
        for note in at["map"]["notes"]:
            method = note["method"]
            assert method is not None
            trace, tree = greedy()[method], at["trees"][method]
            assert tree["round"] is not None
            reading = read(trace, tree["round"])
            text = plain(note["line"])
            own = named(reading.label(OWN))
            end = max(dot["place"] for dot in tree["dots"] if dot["state"] in WRITTEN)
            assert text.startswith(f"Here the target wrote {own}: {trace.method_name} had ")
            assert text.endswith(f"so its round ends at {end}.")
            station = next(s for s in at["map"]["stations"] if written_last(s, method))
            assert (station["row"], station["place"]) == (note["row"], end)
            drafted = {named(reading.label(child)) for child in reading.children[reading.end]}
            assert own not in drafted
            assert not drafted or any(token in text for token in drafted)
            told += 1
    assert told > 3


def written_last(station: Station, method: int) -> bool:
    return any(line["method"] == method and line["node"] is None for line in station["lines"])


def test_a_draft_with_two_verdicts_is_remarked() -> None:
    """A strict and a relaxed rule on the same dice draft the same first."""
    told, found = list[str](), list[Entry]()
    for seed in range(12):
        world = World(agreement=1.0, seed=seed)
        strict = build(world, Recipe(rounds=3), "strict")
        relaxed = build(world, Recipe(rounds=3, relaxed_above=0.05), "relaxed")
        reference = build(world, Recipe(branching=(), rounds=8), "plain")
        found = [entry(trace) for trace in (reference, strict, relaxed)]
        told += [
            plain(n["line"]) for n in Positions(found).at(1)["map"]["notes"] if n["method"] == 2
        ]
    assert told
    for text in told:
        assert text.startswith(f"{names(found)[2]} and {names(found)[1]} both drafted ")
        assert f": {names(found)[1]} rejects it" in text
        assert f", {names(found)[2]} keeps it" in text


def test_a_token_that_was_drafted_in_vain_and_then_written_is_one_line() -> None:
    trace = samples.chain()
    index = [r.outcome.origin for r in trace.rounds].index("correction")
    made = trace.rounds[index]
    missed = next(node for node, state in enumerate(made.nodes.state) if state == "rejected")
    token, kept = made.nodes.token[missed], made.outcome.emitted[:-1]
    outcome = replace(made.outcome, final_token=token, emitted=[*kept, token])
    rounds = [*trace.rounds[:index], replace(made, outcome=outcome)]
    found = [entry(replace(trace, rounds=rounds))]
    stations = check(found)[-1]["map"]["stations"]
    assert [line for s in stations for line in s["lines"] if line["node"] in (None, missed)] == [
        {"method": 0, "node": None, "state": "correction"}
    ]


def stationed(*rows: tuple[int, int, str]) -> list[StationOf]:
    """Return stations by (parent, method, state); a method has nodes as they come."""
    made = list[StationOf]()
    for number, (parent, method, state) in enumerate(rows):
        place = made[parent].place + 1 if parent >= 0 else 0
        stop = Stop(method, number, cast(State, state))
        made.append(StationOf(parent, number, place, (stop,)))
    return made


def test_the_row_of_a_parent_goes_to_where_the_main_text_is_however_far() -> None:
    stations = stationed(
        (-1, 1, "unreached"),
        (0, 2, "accepted"),
        (0, 1, "unreached"),
        (2, 1, "unreached"),
        (3, 3, "accepted"),
    )
    assert arranged(stations, 3) == (2, [0, 1, 0, 0, 0])
    assert arranged(stations, 2) == (2, [0, 0, 1, 1, 1])


def test_a_line_that_leads_to_what_was_written_is_never_folded() -> None:
    """More beginnings than rows, each an untried token of one method; some lead to a text."""
    begin = stationed(*((-1, 1, "unreached") for _ in range(2 * MOST_ROWS)))
    for leading in (1, MOST_ROWS + 10):
        ends = [StationOf(at, 0, 1, (Stop(2, 1, "accepted"),)) for at in range(leading)]
        rows, row = arranged([*begin, *ends], None)
        assert rows == max(MOST_ROWS, leading)
        assert None not in row[:leading]
        assert row[:leading] == row[2 * MOST_ROWS :]
        assert sum(at is None for at in row) == 2 * MOST_ROWS - rows


def test_the_untried_is_folded_before_the_rejected_and_that_before_the_shared() -> None:
    kinds = ["unreached"] * 20 + ["rejected"] * 20 + ["unreached"] * 20 + ["unreached"] * 10
    stations = stationed(*((-1, 1, state) for state in kinds))
    both = (Stop(1, 1, "unreached"), Stop(2, 1, "unreached"))
    stations[60:] = [StationOf(-1, number, 0, both) for number in range(60, 70)]
    _, row = arranged(stations, None)
    kept = [20 * [False], 20 * [True], 20 * [False], 10 * [True]]
    assert [at is not None for at in row] == [each for part in kept for each in part]


def test_no_line_lies_on_one_that_leaves_for_a_row_below() -> None:
    far = Branch((0, 1), 10, 20, -1)
    blocks = [Branch((2,), 18, 20, 0), Branch((3,), 18, 20, 0)]
    leaves = Branch((4,), 16, 18, 0)  # rows 1 and 2 are taken at 17: it goes down to row 3
    assert rows_of([far, *blocks, leaves]) == [0, 1, 2, 3]
    before, across = Branch((5,), 13, 14, 0), Branch((5,), 13, 16, 0)
    assert rows_of([far, *blocks, leaves, before]) == [0, 1, 2, 3, 1]
    assert rows_of([far, *blocks, leaves, across]) == [0, 1, 2, 3, 4]


@given(st.lists(st.tuples(st.integers(-1, 30), st.integers(0, 3)), max_size=40), st.integers(0, 6))
def test_rows_keep_lines_apart(drawn: list[tuple[int, int]], begin: int) -> None:
    parent = [min(above, number - 1) for number, (above, _) in enumerate(drawn)]
    place = list[int]()
    for above, (_, offset) in zip(parent, drawn, strict=True):
        place.append(place[above] + 1 if above >= 0 else begin + offset)
    weight: list[Weight] = [(number % 3, -number) for number in range(len(drawn))]
    found = branches(parent, place, weight)
    assert sorted(s for branch in found for s in branch.stations) == list(range(len(drawn)))
    rows = rows_of(found)
    assert rows is not None
    assert set(rows) == set(range(1 + max(rows, default=-1)))
    for number, (branch, row) in enumerate(zip(found, rows, strict=True)):
        if branch.leaves >= 0:
            assert row > rows[branch.leaves]
        for other, at in list(zip(found, rows, strict=True))[:number]:
            if at == row:  # a place is free between them
                assert branch.first > other.last + 1 or other.first > branch.last + 1
            crossed = other.leaves >= 0 and rows[other.leaves] < row < at
            assert not (crossed and branch.first < other.first <= branch.last)
    most = max(rows, default=-1) + 1
    assert rows_of(found, most) == rows
    assert not rows or rows_of(found, most - 1) is None
