"""Trees are tidy: one row per leaf, in the order tried, and nothing on top of anything."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.sample_traces import ALL, tree
from viz.layout import lay_out, place
from viz.reading import OWN, read


@st.composite
def edges(draw: st.DrawFn) -> list[tuple[int, int]]:
    size = draw(st.integers(1, 60))
    return [(draw(st.integers(0, node - 1)), node) for node in range(1, size)]


def depths_of(found: list[tuple[int, int]]) -> dict[int, int]:
    depth = {0: 0}
    for parent, child in found:
        depth[child] = depth[parent] + 1
    return depth


@given(edges())
def test_no_two_nodes_share_a_place(found: list[tuple[int, int]]) -> None:
    layout, depth = place(found), depths_of(found)
    places = {(depth[node], row) for node, row in layout.row.items()}
    assert len(places) == len(depth) == len(layout.row)


@given(edges())
def test_leaves_fill_the_rows_and_parents_stand_midway(found: list[tuple[int, int]]) -> None:
    layout = place(found)
    children: dict[int, list[int]] = {}
    for parent, child in found:
        children.setdefault(parent, []).append(child)
    leaves = [layout.row[node] for node in layout.row if node not in children]
    assert sorted(leaves) == list(range(layout.rows))
    for parent, kids in children.items():
        assert layout.row[parent] == (layout.row[kids[0]] + layout.row[kids[-1]]) / 2


@given(edges())
def test_siblings_stand_in_the_order_tried(found: list[tuple[int, int]]) -> None:
    layout = place(found)
    children: dict[int, list[int]] = {}
    for parent, child in found:
        children.setdefault(parent, []).append(child)
    for kids in children.values():
        assert all(layout.row[a] < layout.row[b] for a, b in pairwise(kids))


def test_own_token_is_the_last_child_of_where_the_walk_ended() -> None:
    for make in ALL.values():
        trace = make()
        for index in range(len(trace.rounds)):
            reading = read(trace, index)
            layout = lay_out(reading)
            if reading.own is None:
                assert OWN not in layout.row
            else:
                siblings = reading.children[reading.end]
                assert all(layout.row[child] < layout.row[OWN] for child in siblings)


def test_siblings_follow_their_rank_not_their_number() -> None:
    trace = tree()
    reading = read(trace, 1)
    for siblings in reading.children:
        ranks = [reading.round.nodes.rank[node] for node in siblings]
        assert ranks == sorted(ranks)


def test_deep_chain_needs_no_recursion() -> None:
    deep = [(node, node + 1) for node in range(3000)]
    assert place(deep).rows == 1
