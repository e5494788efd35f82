"""What the methods had on the table: every drafted token is a dot, and dots do not collide."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.overlay import round_at
from core.metrics import depths, offered
from core.trace import Trace, token_ids
from tests import sample_traces as samples
from tests.compared import entry
from tests.sample_traces import Recipe, World, build
from tests.traces import traces
from viz.compare.entry import Entry
from viz.compare.payload import Position, SmallTree
from viz.compare.positions import Positions, positions_of
from viz.compare.tidy import tidy
from viz.reading import read

CLOSE = 2e-3  # rows are rounded


@cache
def greedy() -> tuple[Trace, ...]:
    """Return the same text by four methods, plain decoding first."""
    world = World(temperature=0.0, agreement=3.0)
    shapes = {"plain": (), "chain": (1, 1, 1, 1), "bush": (2, 2, 1), "broad": (4, 1)}
    return tuple(
        build(world, Recipe(branching=shape, drawing="fixed", rounds=40 if not shape else 14), name)
        for name, shape in shapes.items()
    )


@cache
def sampled() -> tuple[Trace, ...]:
    """Return texts that differ: the laws are the same, the dice are not."""
    found = samples.plain(), samples.tree(), samples.chain(), samples.relaxed()
    return (*found, samples.hostile(), samples.sometimes_idle())


def entries(found: tuple[Trace, ...]) -> list[Entry]:
    return [entry(trace) for trace in found]


def all_positions(given_entries: list[Entry]) -> list[Position]:
    made = Positions(given_entries)
    return [made.at(index) for index in range(1 + max(made.numbers, default=-1))]


def depth_and_state(trace: Trace, tree: SmallTree) -> Counter[tuple[int, str]]:
    """Return what the dots must be, from the record alone: depth in the draft, and state."""
    assert tree["round"] is not None
    r = trace.rounds[tree["round"]]
    depth, shown = depths(r.nodes), offered(r.nodes)
    found = Counter((depth[n] - 1, r.nodes.state[n]) for n, ok in enumerate(shown) if ok)
    if r.outcome.final_token is not None:
        found[len(r.outcome.accepted), r.outcome.origin] += 1
    return Counter({key: number for key, number in found.items() if number})


def check_tree(tree: SmallTree, trace: Trace, found: Position) -> None:
    dots = tree["dots"]
    start = min(dot["place"] for dot in dots) if dots else 0
    assert Counter((d["place"] - start, d["state"]) for d in dots) == depth_and_state(trace, tree)
    for number, dot in enumerate(dots):
        assert -1 <= dot["parent"] < number
        before = dots[dot["parent"]]["place"] if dot["parent"] >= 0 else start - 1
        assert dot["place"] == before + 1
        assert 0 <= dot["row"] <= tree["rows"] - 1 + CLOSE
        assert found["first"] <= dot["place"] <= found["last"]
    for place in {dot["place"] for dot in dots}:
        rows = sorted(dot["row"] for dot in dots if dot["place"] == place)
        assert all(b - a >= 1 - CLOSE for a, b in pairwise(rows))


def check(given_entries: list[Entry]) -> None:
    for found in all_positions(given_entries):
        json.dumps(found, allow_nan=False)
        assert [tree["method"] for tree in found["trees"]] == list(range(len(given_entries)))
        for tree, each in zip(found["trees"], given_entries, strict=True):
            assert tree["alt"].startswith(each.name)
            assert tree["caption"]
            if tree["round"] is None:
                assert not tree["dots"]
            else:
                assert each.trace is not None
                check_tree(tree, each.trace, found)


@pytest.mark.parametrize("made", [greedy, sampled])
def test_every_drafted_token_of_the_rounds_is_a_dot_with_a_cell_of_its_own(made: object) -> None:
    assert callable(made)
    check(entries(made()))


@settings(max_examples=40, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=4))
def test_any_records_can_be_laid_beside_each_other(found: list[Trace]) -> None:
    check([entry(trace) for trace in found])


def test_big_trees_have_no_collisions() -> None:
    check(entries((samples.plain(), samples.big_tree(), samples.huge_tree())))


def test_leaves_at_different_depths_share_rows() -> None:
    comb = [[1, 2], [], [3, 4], [], [5, 6], [], [7, 8], [], []]
    assert max(tidy(comb)) <= 2.5  # with a row for each of the five leaves it would be 4


def test_siblings_stand_in_the_order_tried() -> None:
    for found in all_positions(entries(greedy())):
        for tree in found["trees"]:
            for parent in {dot["parent"] for dot in tree["dots"]}:
                rows = [dot["row"] for dot in tree["dots"] if dot["parent"] == parent]
                assert rows == sorted(rows)


def test_the_pinned_token_stands_at_its_place_in_every_method_that_wrote_it() -> None:
    found = entries(greedy())
    assert found[0].trace is not None
    for place, index in enumerate(positions_of(found)):
        for each, tree in zip(found, Positions(found).at(index)["trees"], strict=True):
            assert each.trace is not None
            covering = round_at(each.trace, place)
            assert tree["round"] == (covering and covering[0])
            written = ("accepted", "correction", "bonus", "plain")
            states = [dot["state"] for dot in tree["dots"] if dot["place"] == place]
            assert covering is None or len([s for s in states if s in written]) == 1


def test_places_share_a_position_exactly_where_the_same_rounds_cover_them() -> None:
    found = [entry(trace) for trace in greedy()[1:]]  # plain decoding has a round per place
    numbers = positions_of(found)
    covering = [
        tuple(round_at(each.trace, place) for each in found if each.trace)
        for place in range(len(numbers))
    ]
    assert [a == b for a, b in pairwise(numbers)] == [a == b for a, b in pairwise(covering)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) < len(numbers)
    assert positions_of(entries(greedy())) == list(range(len(token_ids(greedy()[0]))))


def test_a_method_that_waits_or_is_not_so_far_says_so() -> None:
    whole = greedy()[2]
    begun = replace(whole, rounds=whole.rounds[:2], finish_reason="cancelled")
    waits = Entry("later", "Later", True, "waiting")
    found = [entry(greedy()[0]), entry(begun, "running"), entry(begun, "cancelled"), waits]
    last = all_positions(found)[-1]
    assert [tree["round"] is None for tree in last["trees"]] == [False, True, True, True]
    told = [tree["caption"] for tree in last["trees"][1:]]
    assert told == ["Not there yet", "Its text ended before", "Not there yet"]
    check(found)


def test_without_an_exact_text_there_is_no_position() -> None:
    assert positions_of([]) == positions_of([Entry("plain", "Plain", True, "running")]) == []
    with pytest.raises(IndexError, match="Position 0"):
        Positions([]).at(0)
    with pytest.raises(IndexError):
        Positions(entries(greedy())).at(-1)


def test_captions_count_what_the_record_counts() -> None:
    found = all_positions(entries(sampled()))
    for at in found:
        for tree, trace in zip(at["trees"], sampled(), strict=True):
            if tree["round"]:
                r = trace.rounds[tree["round"]]
                states = [r.nodes.state[node] for node in r.outcome.accepted]
                relaxed = states.count("relaxed")
                if r.drafted:
                    kept = len(states) or "none"
                    assert tree["caption"].startswith(f"{r.drafted} drafted, {kept} kept")
                assert ("relaxed" in tree["caption"]) == bool(relaxed)
                assert ("corrected" in tree["caption"]) == (r.outcome.origin == "correction")
                assert not read(trace, tree["round"]).is_prompt
    assert {t["caption"] for t in found[0]["trees"]} == {"Prompt read, 1 written by the target"}


@given(st.lists(st.integers(0, 40), max_size=60))
def test_a_tidy_tree_has_parents_midway_and_a_row_between_nodes_of_a_depth(
    above: list[int],
) -> None:
    children: list[list[int]] = [[] for _ in range(len(above) + 1)]
    depth = [0]
    for node, at in enumerate(above, start=1):
        children[min(at, node - 1)].append(node)
        depth.append(depth[min(at, node - 1)] + 1)
    rows = tidy(children)
    assert min(rows) == 0
    for level in set(depth):
        same = sorted(row for row, d in zip(rows, depth, strict=True) if d == level)
        assert all(b - a >= 1 - 1e-9 for a, b in pairwise(same))
    for node, below in enumerate(children):
        if below:
            assert rows[node] == pytest.approx((rows[below[0]] + rows[below[-1]]) / 2)
            assert [rows[child] for child in below] == sorted(rows[child] for child in below)
