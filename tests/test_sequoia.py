"""Sequoia's plan is the best tree there is, its expectation comes true, its drafts bend no law."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.dice import Dice, SeededDice
from core.drafters.by_law import ByLaw
from core.drafters.model import ModelDrafter
from core.extras import SequoiaExtras
from core.laws import RAW, Law
from core.models.toy import ToyModel, hashed
from core.parts import shapes
from core.registry import Models, get
from core.shapes.base import Grower
from core.shapes.positional import Best, Plan, best_trees, choose
from core.shapes.sequoia import DEPTH, PUBLISHED, Sequoia, _Filling, planned, published
from core.tree import Draft, Sampling
from core.verify.base import Context
from core.verify.rejection import RecursiveRejection
from tests.exactness import TOLERANCE, error, first_round
from tests.sheet import P, Q, constant, decoder
from tests.slow_trees import PROMPT, proposed_by
from tests.toys import WORLDS, broad

TOY = (0.6, 0.2, 0.1, 0.05)
DEMO_TIMES = {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.2, 16: 1.4, 32: 1.8}
DEMO_STEP = 0.03
HARM = 1e-3
RULE = RecursiveRejection(uniform_fallback=True)

shares = st.lists(st.floats(0, 1), min_size=1, max_size=5).map(
    lambda raw: tuple(share / max(1.0, sum(raw)) for share in raw)
)


def plan_of(parents: Sequence[int]) -> Plan:
    """Return the plan of these parents, siblings in the order given."""
    ranks = [
        sum(other == parent for other in parents[:node]) for node, parent in enumerate(parents)
    ]
    return Plan(tuple(parents), tuple(ranks))


@pytest.fixture(scope="module")
def repo() -> Best:
    return best_trees(published(), 128)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (2, 1.6342),
        (4, 2.2914),
        (8, 2.7322),
        (16, 3.1303),
        (32, 3.5007),
        (64, 3.8554),
        (128, 4.2021),
    ],
)
def test_the_published_vector_gives_the_sheet_s_values(
    repo: Best, nodes: int, expected: float
) -> None:
    assert len(PUBLISHED) == 20
    assert repo.value(nodes, 128) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [(3, 2.6664), (4, 3.2176), (5, 3.5254), (6, 3.7017), (8, 3.824), (10, 3.8523)],
)
def test_bounded_depth_gives_the_sheet_s_values(levels: int, expected: float) -> None:
    """The sheet's row is that of at most eleven children; twenty give more in flat trees."""
    found = best_trees(published()[:11], 64, levels).value(64, levels)
    assert found == pytest.approx(expected, abs=5e-5)
    assert best_trees(published(), 64, levels).value(64, levels) >= found


def test_the_toy_vector_gives_the_sheet_s_values() -> None:
    best = best_trees(TOY, 16)
    expected = [
        1, 1.6, 1.96, 2.176, 2.376, 2.5056, 2.6256, 2.7456, 2.8456, 2.92336, 2.99536, 3.06736,
        3.13936, 3.19936, 3.25936, 3.30936,
    ]  # fmt: skip
    assert [best.value(n, 16) for n in range(1, 17)] == pytest.approx(expected, abs=1e-12)
    assert best.plan(5, 16) == plan_of([-1, 0, 0, 1, 3])  # a chain of three and a second child


def test_the_demo_config_chooses_the_chain_of_four() -> None:
    best = best_trees(published(), 32, 10)
    choice = choose(best, DEMO_TIMES, DEMO_STEP, 10)
    assert (choice.nodes, choice.levels) == (4, 4)
    assert choice.speedup == pytest.approx(2.046, abs=5e-4)
    assert best.plan(4, 4) == plan_of([-1, 0, 1, 2])


def test_a_chain_alone_has_a_bound() -> None:
    chain = best_trees(published()[:1], 200).value(200, 200)
    assert chain == pytest.approx(1 / (1 - published()[0]), abs=1e-9)
    assert chain == pytest.approx(2.734, abs=1e-3)


def best_first(acceptance: Sequence[float], nodes: int, levels: int) -> float:
    """Return the sum of the largest path products: what a pick of one node after another gets."""
    heap, total = [(-1.0, 1)], 0.0
    for _ in range(nodes):
        if heap:
            product, level = heapq.heappop(heap)
            total -= product
            for share in acceptance if level < levels else ():
                heapq.heappush(heap, (product * share, level + 1))
    return total


@given(acceptance=shares, nodes=st.integers(1, 24), levels=st.integers(1, 8))
def test_for_falling_shares_the_program_equals_the_best_first_pick(
    acceptance: tuple[float, ...], nodes: int, levels: int
) -> None:
    falling = sorted(acceptance, reverse=True)
    found = best_trees(falling, nodes, levels).value(nodes, levels)
    assert found == pytest.approx(best_first(falling, nodes, levels), abs=1e-9)


def by_hand(acceptance: Sequence[float], nodes: int, levels: int) -> float:
    """Return the best F over every tree of at most `nodes` nodes, tried one by one."""

    @cache
    def forest(left: int, rank: int, level: int) -> float:
        """Return the best sum below one node from child `rank` on, with `left` nodes to spend."""
        if rank == len(acceptance) or level > levels:
            return 0.0
        options = [
            acceptance[rank] * (1 + forest(below - 1, 0, level + 1))
            + forest(left - below, rank + 1, level)
            for below in range(1, left + 1)
        ]
        return max(options, default=0.0)

    return 1 + forest(nodes - 1, 0, 2)


@given(acceptance=shares, nodes=st.integers(1, 9), levels=st.integers(1, 6))
def test_no_tree_is_better_than_the_plan(
    acceptance: tuple[float, ...], nodes: int, levels: int
) -> None:
    best = best_trees(acceptance, nodes, levels)
    plan = best.plan(nodes, levels)
    assert best.value(nodes, levels) == pytest.approx(by_hand(acceptance, nodes, levels), abs=1e-9)
    assert plan.expected(acceptance) == pytest.approx(best.value(nodes, levels), abs=1e-9)
    assert len(plan) <= nodes
    assert plan.levels <= levels
    for node, children in enumerate(plan.children):
        assert [plan.ranks[child] for child in children] == list(range(len(children)))
        assert all(child > node for child in children)


@given(acceptance=shares, nodes=st.integers(2, 16))
def test_more_nodes_and_more_levels_never_cost_acceptance(
    acceptance: tuple[float, ...], nodes: int
) -> None:
    best = best_trees(acceptance, nodes)
    values = [best.value(n, nodes) for n in range(1, nodes + 1)]
    assert values == sorted(values)
    depths = [best.value(nodes, levels) for levels in range(1, nodes + 1)]
    assert depths == sorted(depths)


def test_a_choice_without_a_measured_size_is_refused() -> None:
    with pytest.raises(ValueError, match="No time was measured for a tree of 2 to 4 nodes"):
        choose(best_trees(TOY, 4), {1: 1.0, 8: 1.2}, 0.1, 3)


def expected_tokens(shape: Sequoia, name: str) -> float:
    """Return the mean number of tokens that a round with one law everywhere writes, exactly."""
    outcomes = first_round(decoder(shape, RULE), constant(P[name], Q[name]))
    return math.fsum(chance * len(outcome.emitted) for outcome, chance in outcomes)


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_where_acceptance_is_positional_the_expectation_comes_true(nodes: int) -> None:
    acceptance = (0.7, 0.12, 0.18)  # of the sheet's first fixture, without replacement
    plan = best_trees(acceptance, nodes).plan(nodes, nodes)
    found = expected_tokens(Sequoia(plan), "F1")
    assert found == pytest.approx(plan.expected(acceptance), abs=1e-12)
    flat = plan_of([-1, 0, 0, 0])
    assert expected_tokens(Sequoia(flat), "F1") == pytest.approx(2, abs=1e-12)


LAWS = [Law(1), Law(0.7), Law(0), Law(1, top_k=1), Law(1, top_k=2), Law(1, top_p=0.75)]
TREES = {"pair": plan_of([-1, 0, 0, 1]), "three": plan_of([-1, 0, 0, 0]), "chain": plan_of([-1, 0])}


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("plan", TREES.values(), ids=list(TREES))
def test_the_law_is_the_target_s(plan: Plan, toy: str, law: Law) -> None:
    assert error(decoder(Sequoia(plan), RULE), WORLDS[toy](3), law, rounds=1) < TOLERANCE


def test_the_law_stays_the_target_s_in_the_second_round() -> None:
    shape, toy = Sequoia(TREES["pair"]), WORLDS["zeros in both laws"](3)
    assert error(decoder(shape, RULE), toy, Law(1), rounds=2) < TOLERANCE


class LowestSpare(Sequoia):
    """Where the support is used up, the lowest token not drawn yet stands in, not a uniform one."""

    def begin(self, greedy: bool) -> Grower:
        return _LowestSpare(self.plan, greedy, self.about)


class _LowestSpare(_Filling):
    def _filled(self, tokens: list[int], grown: object, node: int, dice: Dice) -> list[int]:
        spare = [token for token in range(4) if token not in tokens]
        drawn = [token for token in tokens if token >= 0]
        return [*drawn, *spare[: len(tokens) - len(drawn)]]


def test_a_fallback_that_is_not_uniform_is_caught() -> None:
    toy, law = WORLDS["the drafter is certain"](4), Law(1)
    three = TREES["three"]
    assert error(decoder(Sequoia(three), RULE), toy, law, rounds=1) < TOLERANCE
    assert error(decoder(LowestSpare(three), RULE), toy, law, rounds=1) > HARM


def test_the_fallback_keeps_more() -> None:
    toy = WORLDS["the drafter is certain"](3)

    def kept(rule: RecursiveRejection) -> float:
        outcomes = first_round(decoder(Sequoia(TREES["three"]), rule), toy)
        return math.fsum(chance * len(outcome.accepted) for outcome, chance in outcomes)

    assert kept(RULE) == pytest.approx(1, abs=1e-12)  # all three tokens are there
    assert kept(RecursiveRejection()) < 1 - HARM


def propose(shape: Sequoia, model: ToyModel, law: Law, limit: int = 20) -> Draft:
    return proposed_by(model, shape, law, limit, SeededDice(3))


@pytest.mark.parametrize("law", [Law(0), Law(1)], ids=repr)
@pytest.mark.parametrize("budget", [1, 8, 40])
def test_the_draft_has_the_plan_s_form(budget: int, law: Law) -> None:
    shape = shapes()["sequoia"].make(budget)
    assert isinstance(shape, Sequoia)
    draft = propose(shape, ToyModel(broad(30, 1), 30), law)
    form = sorted(tuple(draft.tree.ranks[n] for n in draft.tree.path(i)) for i in range(budget + 1))
    plan = shape.plan
    paths = [(0,)]
    for node in range(1, len(plan)):
        paths.append((*paths[plan.parents[node]], plan.ranks[node]))
    assert form == sorted(paths)
    assert draft.work.forwards == plan.levels - 1
    assert len({(p, t) for p, t in zip(draft.tree.parents, draft.tree.tokens, strict=True)}) == len(
        draft.tree
    )


@pytest.mark.parametrize("budget", [1, 5, 16, 64])
def test_as_a_part_it_is_the_method_s_tree(
    budget: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))  # nothing was measured here
    shape = shapes()["sequoia"].make(budget)
    assert isinstance(shape, Sequoia)
    asked = record_of({"budget": budget})
    assert list(shape.plan.parents[1:]) == asked.tree_parent
    likely = planned(30, (0.9, 0.05)).plan  # a drafter that is mostly right
    assert likely.levels == DEPTH + 1


def test_at_temperature_0_the_likeliest_tokens_stand_in_order() -> None:
    model = ToyModel(hashed(6, 2), 6)
    draft = propose(Sequoia(plan_of([-1, 0, 0, 0, 1])), model, Law(0))
    law = model.law(PROMPT)
    assert list(draft.tree.tokens[1:4]) == law.argsort(descending=True)[:3].tolist()
    assert draft.sampling is Sampling.DETERMINISTIC


def test_near_the_end_of_a_text_the_plan_is_cut() -> None:
    draft = propose(shapes()["sequoia"].make(30), ToyModel(broad(30, 1), 30), Law(1), limit=1)
    assert draft.tree.max_depth == 1
    assert draft.work.forwards == 1


def test_a_plan_wider_than_the_vocabulary_loses_the_last_children() -> None:
    model = ToyModel(hashed(3, 1), 3)
    for law in (Law(0), Law(1), Law(1, top_k=1)):
        draft = propose(Sequoia(plan_of([-1, 0, 0, 0, 0, 0])), model, law)
        assert sorted(draft.tree.tokens[1:]) == [0, 1, 2]


def test_a_drafter_without_hope_drafts_nothing() -> None:
    plan = best_trees((0.0, 0.0), 9).plan(9, 9)
    assert len(plan) == 1
    assert len(propose(Sequoia(plan), ToyModel(hashed(3, 1), 3), Law(1)).tree) == 1


def record_of(values: dict[str, object], law: Law = RAW) -> SequoiaExtras:
    """Return what a round of the method says of its plan."""
    models = Models(ToyModel(hashed(4, 1), 4), ToyModel(hashed(4, 2), 4))
    drafter = get("sequoia").build({"drafter": "model", **values}, models).drafter
    drafter.begin((0, 1, 2), models.target.open((0, 1)))
    (extras,) = drafter.propose(Context((0, 1, 2), law), 20, SeededDice(0)).extras
    assert isinstance(extras, SequoiaExtras)
    return extras


def test_a_given_acceptance_goes_first_and_the_published_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))  # nothing was measured here
    given_one = record_of({"acceptance": TOY, "budget": 4, "depth": 8})
    assert given_one.origin == "given"
    assert given_one.expected == pytest.approx(2.376)
    assert given_one.tree_parent == [0, 0, 1, 3]
    stand_in = record_of({})
    assert stand_in.origin == "published"
    assert stand_in.counted == 667
    assert stand_in.measured_for is None
    assert stand_in.expected == pytest.approx(best_trees(published(), 17, 7).value(17, 7), abs=1e-4)


@pytest.mark.parametrize(
    "values", [{"acceptance": [0.8, 0.4]}, {"acceptance": []}, {"budget": 0}, {"depth": 99}]
)
def test_settings_out_of_range_are_refused_in_one_sentence(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        get("sequoia").configure(values)


def test_a_drafter_by_law_asks_for_the_law_in_use_once() -> None:
    model, asked = ToyModel(hashed(4, 1), 4), list[Law]()

    def make(law: Law) -> ModelDrafter:
        asked.append(law)
        return ModelDrafter(lambda prompt, _: model.open(prompt), shapes()["sequoia"].make(2), "x")

    drafter = ByLaw(make(RAW), make)
    with pytest.raises(ValueError, match="begin a sequence"):
        drafter.propose(Context((0, 1), Law(0.5)), 4, SeededDice(0))
    drafter.begin((0, 1), model.open((0,)))
    for _ in range(2):
        drafter.propose(Context((0, 1), Law(0.5)), 4, SeededDice(0))
    assert asked == [RAW, Law(0.5)]
    assert drafter.offer(greedy=True).samplings == {Sampling.DETERMINISTIC}


def test_a_drafter_that_cannot_draft_is_told_before_the_first_round() -> None:
    models = Models(ToyModel(hashed(4, 1), 4))
    drafter = get("sequoia").build({"drafter": "skip"}, models).drafter
    with pytest.raises(ValueError, match="cannot draft with its own layers"):
        drafter.begin((0, 1), models.target.open((0,)))


def test_a_real_vocabulary_is_drafted_from_without_repeats() -> None:
    logits = 6 * torch.randn(20_000, generator=torch.Generator().manual_seed(1))
    model = ToyModel(lambda _: logits.softmax(0).tolist(), 20_000)
    plan = best_trees((0.3, 0.2, 0.1, 0.1, 0.1, 0.05), 25, 3).plan(25, 3)
    draft = propose(Sequoia(plan), model, Law(1))
    assert len(draft.tree) == 25
    for node in range(25):
        tokens = [draft.tree.tokens[child] for child in draft.tree.children(node)]
        assert len(set(tokens)) == len(tokens)
