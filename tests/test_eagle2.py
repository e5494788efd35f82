"""EAGLE-2's tree is the paper's, whatever the temperature, and verified without a change of law."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.consistency import round_problems
from core.drafters.ranking import RankingConfig
from core.extras import PoolExtras, tokens_of
from core.laws import Law
from core.models.toy import Table, ToyModel, hashed
from core.registry import Models, get
from core.shapes.eagle2 import MOST_LISTED, ExpandRerank
from core.tree import Draft, Sampling
from tests.exactness import TOLERANCE, error
from tests.ranked_trees import mean_accepted, path_sum, ranked, small_world
from tests.slow_trees import (
    Path,
    eagle2,
    fixture_world,
    name,
    paths_of,
    proposed,
    tied,
)
from tests.toys import WORLDS
from tests.tree_rounds import drafted_rounds

HARM = 1e-3
VOCABULARY = dict.fromkeys(range(9), b"")


def pool_of(draft: Draft) -> PoolExtras:
    (extra,) = draft.extras
    assert isinstance(extra, PoolExtras)
    return extra


def pool_paths(pool: PoolExtras) -> list[Path]:
    """Return the token path of every candidate of the record."""
    paths: list[Path] = []
    for token, parent in zip(pool.token, pool.parent, strict=True):
        paths.append((*(() if parent is None else paths[parent]), token))
    return paths


def whole_pool(draft: Draft) -> dict[str, float]:
    pool = pool_of(draft)
    return {name(path): score for path, score in zip(pool_paths(pool), pool.score, strict=True)}


# -- the fixtures of the sheet: k = 2, two expansions --


@pytest.mark.parametrize(
    ("kept", "names", "total"),
    [
        (4, ["a", "b", "aa", "aaa"], 1.656),
        (5, ["a", "b", "aa", "ba", "aaa"], 1.806),
        (6, ["a", "b", "aa", "ab", "ba", "aaa"], 1.926),
    ],
)
def test_the_nodes_kept_are_those_of_the_fixture(kept: int, names: list[str], total: float) -> None:
    draft = proposed(ExpandRerank(2, kept + 1, 2), fixture_world().draft, 3)
    assert [name(path) for path in paths_of(draft)] == names
    assert math.fsum(s for s in draft.scores if s is not None) == pytest.approx(total, abs=1e-12)


def test_the_pool_and_its_frontiers_are_those_of_the_fixture() -> None:
    draft = proposed(ExpandRerank(2, 5, 2), fixture_world().draft, 3)
    scores = whole_pool(draft)
    expected = {
        "a": 0.6, "b": 0.3,
        "aa": 0.42, "ab": 0.12, "ba": 0.15, "bb": 0.12,
        "aaa": 0.336, "aab": 0.042, "baa": 0.09, "bab": 0.045,
    }  # fmt: skip
    assert scores == expected
    pool = pool_of(draft)
    marked = [name(p) for p, on in zip(pool_paths(pool), pool.frontier, strict=True) if on]
    assert marked == ["a", "b", "aa", "ba"]
    assert pool.sizes == [2, 4, 4]
    assert pool.step == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(("kept", "accepted"), [(4, 1.41), (5, 1.53), (6, 1.68)])
def test_expected_accepted_tokens_under_the_target_are_those_of_the_fixture(
    kept: int, accepted: float
) -> None:
    found = mean_accepted(ExpandRerank(2, kept + 1, 2), fixture_world())
    assert found == pytest.approx(accepted, abs=1e-12)


def test_of_equal_candidates_the_earlier_one_is_kept() -> None:
    even: Table = lambda context: [0.25] * 4  # noqa: E731
    draft = proposed(ExpandRerank(2, 4, 1), even, 4)
    assert paths_of(draft) == [(0,), (1,), (0, 0)]


# -- the construction, against the literal one --


sizes = st.integers(2, 5)
shapes = st.builds(ExpandRerank, st.integers(1, 4), st.integers(2, 24), st.integers(0, 4))


@settings(deadline=None, max_examples=60)
@given(shape=shapes, size=sizes, seed=st.integers(0, 10**6), ties=st.booleans())
def test_the_tree_is_that_of_the_literal_construction(
    shape: ExpandRerank, size: int, seed: int, ties: bool
) -> None:
    table = tied(size, seed) if ties else hashed(size, seed, 3.0)
    draft = proposed(shape, table, size)
    slow = eagle2(table, shape.width, shape.nodes, shape.expansions)
    assert sorted(paths_of(draft)) == sorted(slow.kept)
    pool = pool_of(draft)
    marked = {p for p, on in zip(pool_paths(pool), pool.frontier, strict=True) if on}
    assert marked == {path for level in slow.frontiers for path in level}
    assert sum(pool.sizes) == len(slow.pool)


@settings(deadline=None, max_examples=60)
@given(shape=shapes, size=sizes, seed=st.integers(0, 10**6), ties=st.booleans())
def test_what_is_kept_is_a_tree_within_its_bounds_and_no_other_choice_has_a_larger_sum(
    shape: ExpandRerank, size: int, seed: int, ties: bool
) -> None:
    table = tied(size, seed) if ties else hashed(size, seed, 3.0)
    draft = proposed(shape, table, size)
    kept = set(paths_of(draft))
    assert all(path[:-1] in kept or len(path) == 1 for path in kept)
    assert draft.tree.drafted <= shape.nodes - 1
    assert draft.tree.max_depth <= shape.expansions + 1
    pool = pool_of(draft)
    best = sorted(pool.score, reverse=True)[: len(kept)]
    mine = [score for score, node in zip(pool.score, pool.node, strict=True) if node is not None]
    assert sorted(mine, reverse=True) == best


@pytest.mark.parametrize(("width", "expansions"), [(1, 3), (2, 2), (3, 2), (4, 4)])
def test_the_pool_holds_k_and_d_times_k_squared_candidates(width: int, expansions: int) -> None:
    draft = proposed(ExpandRerank(width, 60, expansions), hashed(6, 3), 6)
    pool = pool_of(draft)
    assert sum(pool.sizes) == width + expansions * width**2
    assert draft.work.forwards == expansions + 1
    assert sum(pool.frontier) == expansions * width
    assert draft.tree.max_depth == expansions + 1


def test_a_draft_is_no_deeper_than_the_text_has_room() -> None:
    shape = ExpandRerank(2, 9, 4)
    draft = proposed(shape, hashed(4, 2), 4, limit=2)
    assert draft.tree.max_depth == 2
    assert pool_of(draft).sizes == [2, 4]


@pytest.mark.parametrize("law", [Law(0), Law(0.5), Law(1), Law(2), Law(0.7, top_k=1, top_p=0.5)])
def test_the_tree_is_the_same_at_every_temperature_and_needs_no_luck(law: Law) -> None:
    shape, table = ExpandRerank(3, 12, 3), hashed(5, 8, 2.0)
    assert shape.sampling(law.is_greedy) is Sampling.DETERMINISTIC
    draft = proposed(shape, table, 5, law)
    assert paths_of(draft) == paths_of(proposed(shape, table, 5))
    assert draft.sampling is Sampling.DETERMINISTIC


def test_a_temperature_of_its_own_changes_the_ranking_as_the_tempered_law_would() -> None:
    def tempered(context: tuple[int, ...]) -> list[float]:
        row = [p ** (1 / 1.7) for p in table(context)]
        return [p / sum(row) for p in row]

    table = hashed(5, 8, 4.0)
    warm = proposed(ExpandRerank(3, 12, 3, temperature=1.7), table, 5)
    assert paths_of(warm) == paths_of(proposed(ExpandRerank(3, 12, 3), tempered, 5))
    assert paths_of(warm) != paths_of(proposed(ExpandRerank(3, 12, 3), table, 5))


def test_tokens_without_any_mass_are_no_candidates() -> None:
    one: Table = lambda context: [0.0, 1.0, 0.0]  # noqa: E731
    assert paths_of(proposed(ExpandRerank(3, 9, 2), one, 3)) == [(1,), (1, 1), (1, 1, 1)]


# -- verification --


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), nodes=st.integers(2, 7))
def test_accepted_tokens_are_the_sum_of_the_target_s_path_probabilities(
    seed: int, nodes: int
) -> None:
    toy, shape = small_world(seed), ExpandRerank(2, nodes, 2)
    expected = path_sum(shape, toy)
    assert mean_accepted(shape, toy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", [Law(0), Law(0.7), Law(1, top_k=2), Law(1, top_p=0.75)])
@pytest.mark.parametrize("toy", WORLDS)
def test_the_law_of_the_text_is_the_target_s(toy: str, law: Law) -> None:
    shape = ExpandRerank(2, 7, 2)
    assert error(ranked(shape), WORLDS[toy](3), law, rounds=1) < TOLERANCE


def test_so_it_is_over_two_rounds() -> None:
    shape = ExpandRerank(2, 4, 1)
    assert error(ranked(shape), WORLDS["zeros in both laws"](2), Law(1), rounds=2) < TOLERANCE


class CalledDrawn(ExpandRerank):
    """The same candidates, verified as if they had been drawn."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT


def test_chosen_candidates_verified_as_drawn_ones_are_caught() -> None:
    toy = WORLDS["one token overrated"](3)
    assert error(ranked(CalledDrawn(2, 5, 1)), toy, Law(1), rounds=1) > HARM


# -- the record --


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_record_is_consistent_and_says_what_became_of_every_candidate(
    temperature: float,
) -> None:
    made = drafted_rounds("eagle2", {"nodes": 12, "width": 3, "depth": 3}, temperature)
    assert len(made) > 3
    for r in made:
        assert list(round_problems(r, VOCABULARY)) == []
        (pool,) = [extra for extra in r.extras if isinstance(extra, PoolExtras)]
        kept = [node for node in pool.node if node is not None]
        assert sorted(kept) == list(range(1, r.drafted + 1))
        assert set(tokens_of(pool)) <= VOCABULARY.keys()
        for node, score in zip(pool.node, pool.score, strict=True):
            assert node is None or r.nodes.score[node] == score
        reasons = {
            reason
            for reason, state in zip(r.nodes.reason, r.nodes.state, strict=True)
            if state == "pruned"
        }
        assert reasons <= {"reranked"}


def test_scores_are_products_of_the_unscaled_law_at_any_temperature() -> None:
    for r in drafted_rounds("eagle2", {"nodes": 12, "width": 3, "depth": 3}, 0.4):
        for node in range(1, r.drafted + 1):
            parent = r.nodes.parent[node]
            above, raw = (r.nodes.score[parent] if parent else 1.0), r.nodes.q_raw[node]
            assert above is not None
            assert raw is not None
            assert r.nodes.score[node] == pytest.approx(above * raw, rel=1e-4)


def test_a_wide_tree_leaves_a_bounded_record() -> None:
    draft = proposed(ExpandRerank(16, 32, 6), hashed(16, 5, 0.2), 16)
    pool = pool_of(draft)
    assert sum(pool.sizes) == 16 + 6 * 256
    assert len(pool.token) <= 31 + 6 * 16 + MOST_LISTED


def test_a_broken_record_is_refused_in_words() -> None:
    r = drafted_rounds("eagle2", {"nodes": 12}, 0.0)[0]
    (pool,) = [extra for extra in r.extras if isinstance(extra, PoolExtras)]
    wrong = [
        replace(pool, score=pool.score[1:]),
        replace(pool, sizes=[]),
        replace(pool, parent=[len(pool.token)] * len(pool.token)),
        replace(pool, node=[len(r.nodes.token)] * len(pool.token)),
    ]
    for block in wrong:
        (first, *_) = round_problems(replace(r, extras=[block]), VOCABULARY)
        assert first.startswith("extras, pool: ")


# -- settings --


def test_the_settings_keep_the_laws_unscaled_unless_told() -> None:
    method = get("eagle2")
    config = method.configure({})
    assert isinstance(config, RankingConfig)
    assert config.temperature == 1
    warm = method.configure({"draft_temperature": 0.5})
    assert isinstance(warm, RankingConfig)
    assert warm.temperature == 0.5
    toys = Models(ToyModel(hashed(3, 1), 3), ToyModel(hashed(3, 2), 3))
    with pytest.raises(ValueError, match="name one as draft model"):
        method.build({"drafter": "model"}, Models(toys.target))
