"""Medusa's tree holds the most valuable nodes, for every accuracy, and fits every drafter."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.decode import Decoder, start, step
from core.dice import SeededDice
from core.drafters.choice import drafter_of
from core.drafters.source import Source
from core.extras import AccuracyTreeExtras
from core.heads.accuracy import Accuracy
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.parts import shapes
from core.registry import Models, get
from core.shapes.accuracy_tree import LEVELS, AccuracyTree, generic, grown, published, value
from core.shapes.static import Path, check
from core.trace import Round
from core.verify.greedy_draft import GreedyDraft
from core.verify.rejection import RecursiveRejection
from tests.exactness import unrecorded
from tests.toy_heads import toy_heads
from tests.toys import Text

ROWS = st.lists(st.floats(0.01, 0.5), min_size=1, max_size=3).map(lambda r: sorted(r)[::-1])
TABLES = st.lists(ROWS, min_size=1, max_size=3)


def every_path(table: list[list[float]]) -> list[Path]:
    found: list[Path] = [()]
    for row in table:
        found += [(*p, rank) for p in found if len(p) == len(found[-1]) for rank in range(len(row))]
    return [path for path in found if path]


def is_tree(paths: list[Path]) -> bool:
    try:
        check(sorted(paths, key=lambda path: (len(path), path)))
    except ValueError:
        return False
    return True


@given(TABLES, st.integers(1, 4))
def test_no_tree_of_so_many_nodes_is_worth_more(table: list[list[float]], nodes: int) -> None:
    ours = grown(table, nodes)
    every = every_path(table)
    assert len(ours) == min(nodes, len(every))
    assert is_tree(ours)
    worth = sum(value(path, table) for path in ours)
    for others in combinations(every, len(ours)):
        if is_tree(list(others)):
            assert sum(value(path, table) for path in others) <= worth + 1e-12


@given(TABLES, st.integers(1, 30))
def test_nodes_are_added_from_the_most_valuable_down(table: list[list[float]], nodes: int) -> None:
    ours = grown(table, nodes)
    worth = [value(path, table) for path in ours]
    assert worth == sorted(worth, reverse=True)
    for count in range(1, len(ours) + 1):
        assert is_tree(ours[:count])


def test_candidates_that_were_never_right_have_no_place() -> None:
    assert grown([[0.5, 0.0], [0.0, 0.0]], 9) == [(0,)]
    assert grown([[0.0, 0.0]], 9) == [(0,)]  # a draft of nothing would be no method


def test_the_published_tree_has_its_published_depths() -> None:
    paths = generic(4, 63)
    assert Counter(map(len, paths)) == dict(enumerate(LEVELS, start=1))
    assert is_tree(paths)
    for nodes in range(1, 64):
        assert is_tree(generic(4, nodes))
        assert len(generic(4, nodes)) == nodes
    assert max(map(len, generic(2, 63))) == 2
    assert max(map(len, generic(5, 63))) == 4  # the published tree is no deeper


def test_the_published_heads_are_right_as_published() -> None:
    for row, first, five in zip(
        published(), (0.560, 0.316, 0.201, 0.147), (0.78, 0.56, 0.42, 0.34), strict=True
    ):
        assert row[0] == first
        assert sum(row[:5]) == pytest.approx(five, abs=5e-4)


def rounds(kind: str, nodes: int, temperature: float = 0, seed: int = 1) -> list[Round]:
    size = 5
    target = ToyModel(hashed(size, seed), size)
    models = Models(target, heads=toy_heads(size))
    decoder = get(kind).build({"nodes": nodes}, models)
    state = start((0, 1), target, decoder, Law(temperature), 30)
    made = [step([state], SeededDice(2), lambda: 0.0)[0] for _ in range(6)]
    return made[1:]


@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize(("kind", "origin"), [("medusa", "measured"), ("hydra", "published")])
def test_a_round_records_the_tree_that_it_filled(
    kind: str, origin: str, temperature: float
) -> None:
    for made in rounds(kind, 5, temperature):
        (extra,) = (e for e in made.extras if isinstance(e, AccuracyTreeExtras))
        assert extra.origin == origin
        assert extra.counted == (10 if kind == "medusa" else 0)
        assert len(extra.value) == 5
        assert made.drafted == 5
        assert extra.value == sorted(extra.value, reverse=True)
    if kind == "medusa":
        assert extra.value == pytest.approx([0.5, 0.3, 0.2, 0.12, 0.05])
        assert extra.accuracy == [[0.5, 0.3], [0.4, 0.1]]


def test_typical_acceptance_drafts_the_same_trees_and_at_temperature_0_writes_the_same() -> None:
    ours, typical = rounds("medusa", 5), rounds("medusa_typical", 5)
    assert [r.outcome.emitted for r in ours] == [r.outcome.emitted for r in typical]
    assert [r.nodes.token for r in ours] == [r.nodes.token for r in typical]
    warm = [r for seed in range(4) for r in rounds("medusa_typical", 5, 1, seed)]
    assert any(state == "relaxed" for r in warm for state in r.nodes.state)


@pytest.mark.parametrize("kind", ["medusa", "hydra"])
@pytest.mark.parametrize("key", shapes())
@pytest.mark.parametrize("temperature", [0, 1])
def test_every_tree_stops_where_the_heads_end(kind: str, key: str, temperature: float) -> None:
    size = 5
    target = ToyModel(hashed(size, 1), size)
    head = toy_heads(size)(kind)
    drafter = drafter_of(Source(head.open, kind, head.taps), shapes()[key].make(8))
    text: Text = (0, 1)
    rule = GreedyDraft() if key == "top_and_one" else RecursiveRejection()
    decoder, law = Decoder(drafter, rule), Law(temperature)
    state = start(text, target, decoder, law, 30, recorder=unrecorded)
    made = [step([state], SeededDice(2), lambda: 0.0)[0] for _ in range(5)][1:]
    assert all(0 < r.max_depth <= 2 for r in made)
    if temperature == 0:
        for token in state.tokens[2:]:
            row = target.table(text)
            assert token == row.index(max(row))
            text = (*text, token)


def test_a_measurement_of_more_heads_makes_a_deeper_tree() -> None:
    sure = Accuracy(tried=[100] * 4, hits=[[90, 5]] * 4)
    tree = AccuracyTree.of(sure, 4, 6)
    assert tree.paths[:4] == ((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0))
    assert tree.branches
    assert not AccuracyTree.of(sure, 4, 3).branches
