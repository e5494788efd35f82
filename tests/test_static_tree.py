"""A tree given ahead is filled by rank, drawn where chance is asked for, and changes no law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from torch import Tensor

from core.consistency import round_problems
from core.decode import start, step
from core.dice import Dice, Key, SeededDice
from core.extras import StaticExtras
from core.laws import Law
from core.models.toy import Table, hashed
from core.parts import shapes
from core.registry import Models, get
from core.shapes.static import EAGLE, StaticTree, _Filling, check, parse
from core.tree import Draft, Sampling
from core.verify.rejection import RecursiveRejection
from tests.exactness import TOLERANCE, error
from tests.sheet import decoder
from tests.slow_trees import Path, children, paths_of, proposed
from tests.test_device_reads import ReadCounter
from tests.tiny import tiny, wrapped
from tests.toys import WORLDS
from tests.tree_rounds import drafted_rounds

SMALL = StaticTree(parse("0 1 00"))
RULE = RecursiveRejection()


def ranks_of(draft: Draft) -> list[Path]:
    (extra,) = draft.extras
    assert isinstance(extra, StaticExtras)
    return [tuple(ranks) for ranks in extra.ranks[1:]]


def test_the_published_tree_has_25_nodes_in_levels_of_4_8_8_3_2() -> None:
    paths = parse(EAGLE)
    assert [len([p for p in paths if len(p) == depth]) for depth in range(1, 7)] == [
        4, 8, 8, 3, 2, 0,
    ]  # fmt: skip
    assert len(paths) == 25
    assert set(paths) == {
        (0,), (1,), (2,), (3,),
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0),
        (0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0),
        (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2),
        (0, 0, 0, 0, 0), (0, 0, 0, 0, 1),
    }  # fmt: skip


def by_rank(table: Table, ranks: Path) -> Path:
    """Return the tokens at `ranks`, read off the laws one by one."""
    path: Path = ()
    for rank in ranks:
        path = children(table, path, 1.0, rank + 1)[rank][0]
    return path


def test_at_temperature_zero_a_rank_is_that_of_the_law() -> None:
    table = hashed(6, 5, 2.0)
    draft = proposed(StaticTree(parse(EAGLE)), table, 6, Law(0))
    assert set(ranks_of(draft)) == set(parse(EAGLE))
    assert paths_of(draft) == [by_rank(table, ranks) for ranks in ranks_of(draft)]
    assert draft.sampling is Sampling.DETERMINISTIC


@dataclass
class Counting:
    """A seeded dice that notes what was drawn where."""

    inner: Dice
    drawn: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @property
    def u(self) -> float:
        return self.inner.u

    def at(self, *key: Key) -> Counting:
        return Counting(self.inner.at(*key), self.drawn)

    def flip(self, heads: float) -> bool:
        return self.inner.flip(heads)

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        assert not replace
        found = self.inner.draw(weights, count, replace)
        self.drawn.append((weights, found))
        return found


def test_above_it_a_rank_is_the_place_in_the_order_drawn_and_nothing_else_is_drawn() -> None:
    dice = Counting(SeededDice(3))
    draft = proposed(StaticTree(parse(EAGLE)), hashed(6, 5), 6, Law(1), dice=dice)
    assert draft.sampling is Sampling.DISTINCT
    assert sum(found.numel() for _, found in dice.drawn) == 25
    rows = [row for _, found in dice.drawn for row in found.tolist()]
    tree = draft.tree
    offered = [[tree.tokens[n] for n in tree.children(i)] for i in range(len(tree))]
    assert sorted(rows) == sorted(row for row in offered if row)
    assert set(ranks_of(draft)) == set(parse(EAGLE))


def test_a_law_that_runs_out_of_tokens_leaves_its_places_empty() -> None:
    draft = proposed(SMALL, lambda context: [0.0, 1.0, 0.0], 3, Law(1), dice=SeededDice(0))
    assert ranks_of(draft) == [(0,), (0, 0)]
    assert paths_of(draft) == [(1,), (1, 1)]


def test_a_draft_is_no_deeper_than_the_text_has_room() -> None:
    shape = StaticTree(parse(EAGLE))
    draft = proposed(shape, hashed(6, 5), 6, Law(0), limit=2)
    assert Counter(map(len, ranks_of(draft))) == {1: 4, 2: 8}
    assert draft.work.forwards == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "it has 0 nodes, and 1 to 256 are allowed"),
        ("0 " * 257, "it has 257 nodes, and 1 to 256 are allowed"),
        ("0 0", "a path stands there twice"),
        ("0 x", "'x' is no path of 1 to 16 ranks, a digit for each"),
        ("0 ²", "'²' is no path of 1 to 16 ranks, a digit for each"),
        ("0" * 17, f"'{'0' * 17}' is no path of 1 to 16 ranks, a digit for each"),
        ("1", "1 is there, but not its parent and all earlier siblings"),
        ("0 10", "10 is there, but not its parent and all earlier siblings"),
        ("0 00 02", "02 is there, but not its parent and all earlier siblings"),
    ],
)
def test_what_is_no_tree_is_refused_in_words(words: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(words)
    assert str(caught.value) == said
    with pytest.raises(ValueError, match=r"^Tree is .*\.$"):
        get("eagle1").configure({"tree": words})


trees = st.lists(st.integers(0, 10**6), min_size=1, max_size=12).map(lambda raw: _closed_tree(raw))


def _closed_tree(raw: list[int]) -> StaticTree:
    """Return a tree grown by one more child of some node for every number."""
    paths: list[Path] = [()]
    for number in raw:
        parent = paths[number % len(paths)]
        rank = sum(path[:-1] == parent for path in paths if path)
        paths.append((*parent, rank))
    chosen = sorted(paths[1:], key=lambda path: (len(path), path))
    check(chosen)
    return StaticTree(tuple(chosen))


@settings(deadline=None, max_examples=40)
@given(shape=trees, seed=st.integers(0, 10**6), greedy=st.booleans())
def test_any_tree_is_filled_whole_where_the_vocabulary_allows(
    shape: StaticTree, seed: int, greedy: bool
) -> None:
    law, dice = Law(0) if greedy else Law(1), SeededDice(seed)
    draft = proposed(shape, hashed(13, seed), 13, law, dice=dice)
    assert sorted(ranks_of(draft)) == sorted(shape.paths)
    tree = draft.tree
    for node in range(len(tree)):
        tokens = [tree.tokens[child] for child in tree.children(node)]
        assert len(set(tokens)) == len(tokens)


@pytest.mark.parametrize("budget", range(1, 26))
def test_the_published_tree_cut_to_a_budget_is_a_tree(budget: int) -> None:
    made = shapes()["static"].make(budget)
    assert isinstance(made, StaticTree)
    check(made.paths)
    assert len(made.paths) == budget


@pytest.mark.parametrize("law", [Law(0), Law(0.7)])
def test_levels_of_uneven_nodes_are_read_at_once(law: Law) -> None:
    models = Models(wrapped(tiny("llama")), wrapped(tiny("llama", layers=1, seed=1)))
    made_of = get("eagle1").build({"drafter": "model"}, models)
    state = start([1, 2, 3, 1, 2], models.target, made_of, law, 40)
    step([state], SeededDice(2), lambda: 0.0)
    with ReadCounter() as counter:
        (made,) = step([state], SeededDice(2), lambda: 0.0)
    assert made.drafted == 25
    assert len(counter.reads) == 5 + 3


@pytest.mark.parametrize("law", [Law(0), Law(0.7), Law(1, top_k=2), Law(1, top_p=0.75)])
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("words", ["0 1 2 00", "0 1 00 000", "0 00 01"])
def test_the_law_of_the_text_is_the_target_s(words: str, toy: str, law: Law) -> None:
    assert error(decoder(StaticTree(parse(words)), RULE), WORLDS[toy](3), law, rounds=1) < TOLERANCE


def test_so_it_is_over_two_rounds() -> None:
    toy = WORLDS["different laws"](2)
    assert error(decoder(SMALL, RULE), toy, Law(1), rounds=2) < TOLERANCE


@dataclass(slots=True)
class _Second(_Filling):
    """Draws two tokens at the root and offers only the second, as a tree without rank 0 would."""

    def _drawn(self, laws: Tensor, widths: Sequence[int], dice: Dice) -> list[list[int]]:
        drawn = dice.draw(laws, 2, replace=False)
        return [[row[1]] if row[1] >= 0 else [row[0]] for row in drawn.tolist()]


class SecondOnly(StaticTree):
    def begin(self, greedy: bool) -> _Second:
        return _Second(self, greedy)


@dataclass(slots=True)
class _Likelier(_Filling):
    """Tries the siblings in the order of their probability instead of the order drawn."""

    def _drawn(self, laws: Tensor, widths: Sequence[int], dice: Dice) -> list[list[int]]:
        drawn = dice.draw(laws, max(widths), replace=False)
        order = laws.gather(1, drawn.clamp(min=0)).argsort(dim=1, descending=True)
        found: list[list[int]] = drawn.gather(1, order).tolist()
        return found


class LikelierFirst(StaticTree):
    def begin(self, greedy: bool) -> _Likelier:
        return _Likelier(self, greedy)


@pytest.mark.parametrize(
    "shape", [SecondOnly(parse("0")), LikelierFirst(parse("0 1"))], ids=["gap", "sorted"]
)
def test_leaving_a_drawn_rank_out_or_sorting_what_was_drawn_is_caught(shape: StaticTree) -> None:
    toy = WORLDS["one token overrated"](3)
    assert error(decoder(shape, RULE), toy, Law(1), rounds=1) > 1e-3


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_record_is_consistent(temperature: float) -> None:
    drafted = drafted_rounds("eagle1", {}, temperature)
    assert len(drafted) > 3
    vocabulary = dict.fromkeys(range(9), b"")
    for r in drafted:
        assert list(round_problems(r, vocabulary)) == []
        (extra,) = [extra for extra in r.extras if isinstance(extra, StaticExtras)]
        assert extra.planned == 25
        for wrong in (extra.ranks[1:], [[0], *extra.ranks[1:]], [*extra.ranks[:-1], [9] * 9]):
            block = replace(extra, ranks=wrong)
            (said, *_) = round_problems(replace(r, extras=[block]), vocabulary)
            assert said.startswith("extras, static: ")
