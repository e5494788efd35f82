"""A trace as text and as tables."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable

import pytest

from core.trace import Trace
from tests.sample_traces import ALL, greedy_lookup, hostile, long_run, tree
from viz.export import Table, to_csv
from viz.outline import outline
from viz.reading import read
from viz.terminal import render, render_round

SAMPLES = pytest.mark.parametrize("make", list(ALL.values()), ids=list(ALL))


@SAMPLES
def test_text_holds_no_control_character(make: Callable[[], Trace]) -> None:
    text = render(make(), trees=True)
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    assert not bad
    assert "\u202e" not in text


def test_every_round_is_told() -> None:
    trace = tree()
    text = render(trace)
    assert all(f"\nRound {r.index}: " in text for r in trace.rounds)
    assert render(trace, rounds=[3]).count("\nRound ") == 1


def test_outline_lists_what_was_reached_and_counts_the_rest() -> None:
    trace = tree()
    for index, r in enumerate(trace.rounds):
        lines = outline(read(trace, index))
        tried = len(r.checks)
        assert sum(any(glyph in line for glyph in "●✕◐") for line in lines) >= tried
        whole = outline(read(trace, index), whole=True)
        own = int(r.outcome.final_token is not None)
        assert len(whole) == len(r.nodes.token) + own
        counted = [int(line.split()[1]) for line in lines if line.endswith(" not reached")]
        below = [int(line.split(", ")[-1].split()[0]) for line in lines if "below" in line]
        listed = len(lines) - len([line for line in lines if line.endswith("○") or "○ " in line])
        assert listed + sum(counted[: len(counted) - len(below)]) + sum(below) <= len(whole)


def test_outline_of_a_deep_chain_needs_no_recursion() -> None:
    assert render_round(greedy_lookup(), 9)


@SAMPLES
@pytest.mark.parametrize("table", ["rounds", "nodes", "darts"])
def test_tables_are_rectangular_and_complete(make: Callable[[], Trace], table: Table) -> None:
    trace = make()
    rows = list(csv.reader(io.StringIO(to_csv(trace, table))))
    assert len({len(row) for row in rows}) == 1
    expected = {
        "rounds": len(trace.rounds),
        "nodes": sum(len(r.nodes.token) for r in trace.rounds),
        "darts": sum(len(r.checks) for r in trace.rounds),
    }
    assert len(rows) - 1 == expected[table]


def test_no_cell_is_a_formula() -> None:
    text = to_csv(hostile(), "nodes") + to_csv(tree(), "nodes")
    for row in csv.reader(io.StringIO(text)):
        assert not any(cell[:1] in ("=", "+", "@") for cell in row)


def test_long_runs_are_told_quickly() -> None:
    assert render(long_run(), rounds=[]).count("\n") < 400
