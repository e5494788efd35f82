"""The sliced mask of DynaSD: filled where a node sees another, and the block that was needed."""

from __future__ import annotations

from typing import cast

from core.trace import Round, Trace
from tests.sample_traces import changed
from tests.tree_rounds import toy_trace
from viz.pictures import strand_mask
from viz.reading import read

TREE = {"tree": [2, 2, 1], "stop": "never"}


def cut(trace: Trace, r: Round) -> Trace:
    """Return a trace whose last round drafted the first two of three levels."""
    widths = [changed(extra, widths=[2, 2, 1]) for extra in r.extras if hasattr(extra, "widths")]
    return changed(trace, rounds=[changed(r, index=0, extras=widths)])


def test_whole_levels_are_the_upper_left_block_of_the_ancestor_mask() -> None:
    whole = next(r for r in toy_trace("dynasd", TREE).rounds if r.drafted == 10)
    short_trace = toy_trace("dynasd", {"tree": [2, 2], "stop": "never"})
    short = next(r for r in short_trace.rounds if r.drafted == 6)
    picture = strand_mask.draw(read(cut(short_trace, short), 0))
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    cells = cast(list[list[int | None]], figure["data"][0]["z"])
    parents = whole.nodes.parent
    for node, row in enumerate(cells):
        path = {node}
        while node > 0:
            node = parents[node]
            path.add(node)
        assert {other for other, cell in enumerate(row) if cell is not None} == path
    sizes = [[cell for cell in row if cell is not None] for row in cells]
    assert all(set(row) == {2 if node < 7 else 1} for node, row in enumerate(sizes))
    (block,) = cast(list[dict[str, float]], figure["layout"]["shapes"])
    assert (block["x1"], block["y1"]) == (6.5, 6.5)
    assert "block of 7 by 7" in picture["section"]["foot"]
    assert parents[:7] == short.nodes.parent


def test_a_full_tree_and_other_methods_have_no_sliced_mask() -> None:
    full = toy_trace("dynasd", TREE)
    for index, r in enumerate(full.rounds):
        if r.drafted in (0, 10):
            assert strand_mask.draw(read(full, index)) is None
    other = toy_trace("mcsd", {"tree": [2, 2]})
    assert all(strand_mask.draw(read(other, i)) is None for i in range(len(other.rounds)))
