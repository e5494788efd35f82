"""OPT-Tree keeps the best tree there is, stops when a step adds little, and changes no law."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.consistency import round_problems
from core.extras import OptTreeExtras, tokens_of
from core.laws import Law
from core.models.toy import hashed
from core.shapes.opt_tree import MOST_LISTED, OptTree
from core.trace import Round
from core.tree import Draft, Sampling
from tests.exactness import TOLERANCE, error
from tests.ranked_trees import mean_accepted, path_sum, ranked, small_world
from tests.slow_trees import (
    Path,
    fixture_world,
    name,
    opt_tree,
    paths_of,
    proposed,
    reach,
    tied,
)
from tests.toys import WORLDS
from tests.tree_rounds import drafted_rounds

VOCABULARY = dict.fromkeys(range(9), b"")
NEVER = 0.0  # a threshold that only a step without any gain meets


def told(draft: Draft) -> OptTreeExtras:
    (extra,) = draft.extras
    assert isinstance(extra, OptTreeExtras)
    return extra


def drafted(shape: OptTree) -> Draft:
    return proposed(shape, fixture_world().draft, 3)


# -- the fixtures of the sheet --


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [(3, 1.356), (4, 1.656), (5, 1.824), (6, 1.974), (7, 2.094), (8, 2.214)],
)
def test_the_expected_length_is_that_of_the_fixture(nodes: int, expected: float) -> None:
    draft = drafted(OptTree(nodes, NEVER, 10))
    assert told(draft).expected[-1] == expected
    total = math.fsum(score for score in draft.scores if score is not None)
    assert total == pytest.approx(expected, abs=1e-12)
    assert draft.tree.drafted == nodes


def test_the_largest_products_are_those_of_the_fixture() -> None:
    draft = drafted(OptTree(10, NEVER, 10))
    named = dict(zip(map(name, paths_of(draft)), list(draft.scores)[1:], strict=True))
    assert named == {
        "a": 0.6, "aa": 0.42, "aaa": 0.336, "b": 0.3, "aaaa": 0.168,
        "ba": 0.15, "ab": 0.12, "bb": 0.12, "aaab": 0.1008, "c": 0.1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("threshold", "steps", "expected"),
    [(0.2, 3, [1.0, 1.47, 1.656]), (0.1, 4, [1.0, 1.47, 1.656, 1.656])],
)
def test_drafting_stops_at_the_step_of_the_fixture(
    threshold: float, steps: int, expected: list[float]
) -> None:
    draft = drafted(OptTree(4, threshold, 10))
    assert told(draft).expected == expected
    assert draft.work.forwards == steps
    gain = {0.2: 0.186, 0.1: 0.0}[threshold]
    assert draft.stop is not None
    assert (draft.stop.reason, draft.stop.value, draft.stop.threshold) == ("gain", gain, threshold)
    assert [name(path) for path in paths_of(draft)] == ["a", "b", "aa", "aaa"]


def test_as_released_the_same_tree_costs_one_step_more() -> None:
    prompt, late = drafted(OptTree(4, 0.2, 10)), drafted(OptTree(4, 0.2, 10, lags=True))
    assert paths_of(late) == paths_of(prompt)
    assert told(late).expected == told(prompt).expected
    assert late.work.forwards == prompt.work.forwards + 1
    assert len(told(late).layers) == len(told(late).expected) + 1


def test_as_released_the_last_level_is_drafted_in_vain_at_the_depth_limit_too() -> None:
    late = drafted(OptTree(8, NEVER, 3, lags=True))
    assert late.work.forwards == 3
    assert late.tree.max_depth == 2
    only = drafted(OptTree(8, NEVER, 1, lags=True))
    assert only.tree.max_depth == 1


# -- the construction --

size_of_toys = st.integers(2, 4)
shapes = st.builds(
    OptTree,
    st.integers(1, 12),
    st.sampled_from([0.0, 0.1, 0.3, 0.8]),
    st.integers(1, 5),
    st.booleans(),
)


@settings(deadline=None, max_examples=80)
@given(shape=shapes, size=size_of_toys, seed=st.integers(0, 10**6), ties=st.booleans())
def test_the_tree_and_its_value_are_those_of_the_literal_algorithm(
    shape: OptTree, size: int, seed: int, ties: bool
) -> None:
    """Although nodes that can have no part in it are not scored: a layer of only such ends it."""
    table = tied(size, seed) if ties else hashed(size, seed, 3.0)
    draft = proposed(shape, table, size)
    slow = opt_tree(table, shape.nodes, shape.threshold, shape.deepest, shape.lags)
    assert sorted(paths_of(draft)) == sorted(slow.kept)
    assert told(draft).expected == pytest.approx(slow.expected, abs=1e-6)
    idle = shape.lags and slow.expected[1:] and slow.expected[-1] == slow.expected[-2]
    assert draft.work.forwards == slow.steps - bool(idle)
    assert draft.stop is not None
    assert draft.stop.reason in ("gain", "depth")


@settings(deadline=None, max_examples=40)
@given(shape=shapes, size=size_of_toys, seed=st.integers(0, 10**6), ties=st.booleans())
def test_what_is_kept_is_a_tree_within_its_bounds(
    shape: OptTree, size: int, seed: int, ties: bool
) -> None:
    draft = proposed(shape, tied(size, seed) if ties else hashed(size, seed, 3.0), size)
    kept = set(paths_of(draft))
    assert all(path[:-1] in kept or len(path) == 1 for path in kept)
    assert draft.tree.drafted <= shape.nodes
    assert draft.tree.max_depth <= shape.deepest
    total = math.fsum(score for score in draft.scores if score is not None)
    assert told(draft).expected[-1] == pytest.approx(total, abs=1e-5)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6), nodes=st.integers(2, 4))
def test_no_tree_of_as_many_nodes_and_levels_has_a_larger_value(seed: int, nodes: int) -> None:
    table = hashed(4, seed, 2.0)
    draft = proposed(OptTree(nodes, NEVER, 2), table, 4)
    every: list[Path] = [(a,) for a in range(4)] + [(a, b) for a in range(4) for b in range(4)]
    best = max(
        math.fsum(reach(table, path) for path in chosen)
        for chosen in combinations(every, nodes)
        if all(len(path) == 1 or path[:1] in chosen for path in chosen)
    )
    assert told(draft).expected[-1] == pytest.approx(best, abs=1e-5)


def test_more_nodes_and_more_levels_never_lower_the_value_and_nodes_add_less_and_less() -> None:
    table = hashed(6, 11, 3.0)
    by_nodes = [told(proposed(OptTree(n, NEVER, 4), table, 6)).expected[-1] for n in range(1, 12)]
    gains = [after - before for before, after in pairwise(by_nodes)]
    assert all(gain >= 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)
    by_depth = told(proposed(OptTree(9, NEVER, 6), table, 6)).expected
    assert by_depth == sorted(by_depth)
    assert len(by_depth) > 3


@pytest.mark.parametrize("law", [Law(0), Law(0.5), Law(2), Law(0.7, top_k=1, top_p=0.5)])
def test_the_tree_is_the_same_at_every_temperature_and_needs_no_luck(law: Law) -> None:
    shape, table = OptTree(9, 0.05, 6), hashed(5, 8, 2.0)
    assert shape.sampling(law.is_greedy) is Sampling.DETERMINISTIC
    assert paths_of(proposed(shape, table, 5, law)) == paths_of(proposed(shape, table, 5))


def test_a_draft_is_no_deeper_than_the_text_has_room() -> None:
    draft = proposed(OptTree(9, NEVER, 6), hashed(4, 2), 4, limit=2)
    assert draft.tree.max_depth == 2
    assert draft.stop is not None
    assert draft.stop.reason == "depth"


# -- verification --


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 6))
def test_accepted_tokens_are_the_sum_of_the_target_s_path_probabilities(
    seed: int, nodes: int
) -> None:
    toy, shape = small_world(seed), OptTree(nodes, 0.1, 4)
    expected = path_sum(shape, toy)
    assert mean_accepted(shape, toy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", [Law(0), Law(0.7), Law(1, top_k=2), Law(1, top_p=0.75)])
@pytest.mark.parametrize("toy", WORLDS)
def test_the_law_of_the_text_is_the_target_s(toy: str, law: Law) -> None:
    shape = OptTree(6, 0.1, 3)
    assert error(ranked(shape), WORLDS[toy](3), law, rounds=1) < TOLERANCE


@pytest.mark.parametrize("lags", [False, True])
def test_so_it_is_over_two_rounds(lags: bool) -> None:
    toy = WORLDS["zeros in both laws"](2)
    assert error(ranked(OptTree(3, 0.2, 3, lags)), toy, Law(1), rounds=2) < TOLERANCE


class CalledDrawn(OptTree):
    """The same candidates, verified as if they had been drawn."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.INDEPENDENT


def test_chosen_candidates_verified_as_drawn_ones_are_caught() -> None:
    toy = WORLDS["one token overrated"](3)
    assert error(ranked(CalledDrawn(4, 0.2, 3)), toy, Law(1), rounds=1) > 1e-3


# -- the record --


def block(r: Round) -> OptTreeExtras:
    (extra,) = [extra for extra in r.extras if isinstance(extra, OptTreeExtras)]
    return extra


@pytest.mark.parametrize("lags", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_record_is_consistent_and_says_what_was_kept(temperature: float, lags: bool) -> None:
    made = drafted_rounds("opt_tree", {"nodes": 7, "threshold": 0.05, "lags": lags}, temperature)
    assert len(made) > 3
    for r in made:
        assert list(round_problems(r, VOCABULARY)) == []
        extra = block(r)
        kept = [node for layer in extra.layers for node in layer.node if node is not None]
        assert sorted(kept) == list(range(1, r.drafted + 1))
        assert set(tokens_of(extra)) <= VOCABULARY.keys()
        for layer in extra.layers:
            assert layer.value == sorted(layer.value, reverse=True)
            for node, value in zip(layer.node, layer.value, strict=True):
                assert node is None or r.nodes.score[node] == value


def test_a_large_tree_leaves_a_bounded_record() -> None:
    draft = proposed(OptTree(60, NEVER, 8), hashed(16, 5, 0.5), 16)
    layers = told(draft).layers
    assert all(len(layer.token) <= max(60, MOST_LISTED) for layer in layers)
    assert any(len(layer.token) > MOST_LISTED for layer in layers)


def test_a_broken_record_is_refused_in_words() -> None:
    r = drafted_rounds("opt_tree", {"nodes": 7, "threshold": 0.05}, 0.0)[0]
    extra = block(r)
    first, second, *_ = extra.layers
    wrong = [
        replace(extra, expected=[*extra.expected, *extra.expected]),
        replace(extra, layers=[replace(first, value=first.value[1:])]),
        replace(extra, layers=[second]),
        replace(extra, layers=[first, replace(second, parent=[99] * len(second.token))]),
        replace(extra, layers=[replace(first, node=[0] * len(first.token))]),
    ]
    for each in wrong:
        (said, *_) = round_problems(replace(r, extras=[each]), VOCABULARY)
        assert said.startswith("extras, opt_tree")
