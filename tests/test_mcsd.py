"""MCSD: the acceptances of the sheet under each rule, exact for every fitting pair of rule and
drawing, and the pairs that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decode import Decoder, decode, start
from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.laws import Law
from core.models.base import Scores
from core.registry import Models
from core.shapes.base import Grower, once_each
from core.shapes.levels import K_CONFIG, Levels, node_count, within
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.membership import NaiveMembership
from core.verify.rejection import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, RecursiveRejection
from tests.exactness import TOLERANCE, error, first_round
from tests.sheet import P, Q, acceptance, configured, constant, decoder, distance, emitted
from tests.slow_rejection import SlowRejection
from tests.toys import WORLDS, normed

pytestmark = pytest.mark.matrix

WITH, WITHOUT, FIXED = Sampling.INDEPENDENT, Sampling.DISTINCT, Sampling.DETERMINISTIC
HARM = 1e-3

SHEET = [
    ("F1", "distinct", 1, 0.7, 1e-12),
    ("F2", "distinct", 1, 0.5, 1e-12),
    ("F3", "distinct", 1, 1, 1e-12),
    ("F4", "distinct", 1, 0.5, 1e-12),
    ("F6", "distinct", 1, 5 / 6, 1e-12),
    ("F1", "independent", 2, 0.76, 1e-12),
    ("F2", "independent", 2, 0.75, 1e-12),
    ("F3", "independent", 2, 1, 1e-12),
    ("F4", "independent", 2, 0.55, 1e-12),
    ("F6", "independent", 2, 0.888889, 1e-6),
    ("F1", "distinct", 2, 0.82, 1e-12),
    ("F2", "distinct", 2, 1, 1e-12),
    ("F3", "distinct", 2, 1, 1e-12),
    ("F4", "distinct", 2, 0.6125, 1e-12),
    ("F6", "distinct", 2, 0.916667, 1e-6),
    ("F1", "independent", 3, 0.808, 1e-12),
    ("F2", "independent", 3, 0.875, 1e-12),
    ("F3", "independent", 3, 1, 1e-12),
    ("F4", "independent", 3, 0.595, 1e-12),
    ("F6", "independent", 3, 0.925926, 1e-6),
    ("F1", "distinct", 3, 1, 1e-12),
    ("F2", "distinct", 3, 1, 1e-12),
    ("F4", "distinct", 3, 0.785119, 1e-6),
    ("F6", "distinct", 3, 1, 1e-12),
    ("F1", "naive", 2, 0.613214, 1e-6),
    ("F4", "naive", 3, 0.693135, 1e-6),
]


@pytest.mark.parametrize(("name", "rule", "width", "expected", "exactly"), SHEET)
def test_acceptance_is_the_sheet_s(
    name: str, rule: str, width: int, expected: float, exactly: float
) -> None:
    build = configured("mcsd", tree=[width], rule=rule)
    assert acceptance(build, P[name], Q[name]) == pytest.approx(expected, abs=exactly)


def test_the_kept_candidate_stands_at_the_places_that_the_sheet_says() -> None:
    split = [0.0, 0.0, 0.0]
    build = configured("mcsd", tree=[3])
    for outcome, probability in first_round(build, constant(P["F1"], Q["F1"])):
        split[outcome.accepted[0] - 1] += probability
    assert split == pytest.approx([0.7, 0.12, 0.18], abs=1e-12)


def laws(size: int) -> st.SearchStrategy[list[float]]:
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size)
    return weights.filter(any).map(lambda row: normed([float(w) for w in row]))


@settings(max_examples=15)
@given(data=st.data(), size=st.integers(2, 3), width=st.integers(1, 3))
def test_acceptance_with_replacement_is_one_minus_the_product_of_the_misses(
    data: st.DataObject, size: int, width: int
) -> None:
    p, q = data.draw(laws(size)), data.draw(laws(size))
    left, missed = list(p), 1.0
    for _ in range(width):
        beta = math.fsum(map(min, left, q))
        missed *= 1 - beta
        rest = [max(a - b, 0.0) for a, b in zip(left, q, strict=True)]
        left = normed(rest) if math.fsum(rest) > 1e-15 else left
    build = configured("mcsd", tree=[width], rule="independent")
    assert acceptance(build, p, q) == pytest.approx(1 - missed, abs=1e-12)


def test_candidates_that_cover_the_target_are_enough_without_replacement_only() -> None:
    certain, even = (1.0, 0.0), (0.5, 0.5)
    assert acceptance(configured("mcsd", tree=[2]), certain, even) == pytest.approx(1, abs=1e-12)
    twice = configured("mcsd", tree=[2], rule="independent")
    assert acceptance(twice, certain, even) == pytest.approx(0.75, abs=1e-12)


@settings(max_examples=15)
@given(data=st.data(), size=st.integers(2, 4))
def test_one_candidate_is_optimal_and_all_tokens_drawn_cover_every_target(
    data: st.DataObject, size: int
) -> None:
    """Sequoia's two qualities of a rule: optimal transport for one, cover for all."""
    p, q = data.draw(laws(size)), data.draw(laws(size).filter(all))
    one = acceptance(configured("mcsd", tree=[1]), p, q)
    assert one == pytest.approx(math.fsum(map(min, p, q)), abs=1e-12)
    assert acceptance(configured("mcsd", tree=[size]), p, q) == pytest.approx(1, abs=1e-12)


PAIRS = [
    {"rule": "distinct"},
    {"rule": "independent"},
    {"rule": "naive"},
    {"rule": "naive", "drawing": "independent"},
    {"rule": "distinct", "draft_temperature": 0},
    {"rule": "independent", "draft_temperature": 0},
    {"rule": "naive", "draft_temperature": 0},
    {"rule": "distinct", "draft_temperature": 0.4},
    {"rule": "independent", "draft_temperature": 1.6},
]


@pytest.mark.parametrize("toy", ["one token overrated", "zeros in both laws"])
@pytest.mark.parametrize("settings", PAIRS, ids=str)
def test_every_fitting_pair_of_rule_and_drawing_is_exact(
    settings: dict[str, object], toy: str
) -> None:
    build = configured("mcsd", tree=[2, 1], **settings)
    assert error(build, WORLDS[toy](3), Law(0.7), rounds=1) < TOLERANCE


@pytest.mark.parametrize("settings", PAIRS[:5], ids=str)
def test_two_rounds_are_exact_under_every_rule(settings: dict[str, object]) -> None:
    build = configured("mcsd", tree=[2], **settings)
    assert error(build, WORLDS["different laws"](2), Law(1), rounds=2) < TOLERANCE


@pytest.mark.parametrize(
    ("rule", "drawing", "drawn"),
    [
        ("independent", "distinct", "drawn without replacement"),
        ("distinct", "independent", "drawn with replacement"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused_with_the_reason(
    rule: str, drawing: str, drawn: str
) -> None:
    toy = WORLDS["different laws"](3)
    target, draft = toy.models()
    build = configured("mcsd", tree=[2], rule=rule, drawing=drawing)
    with pytest.raises(ValueError, match=f"{drawn}: it would bend the law") as refused:
        start(toy.prompt, target, build(Models(target, draft)), Law(1), 9)
    sentence = str(refused.value)
    name = {"independent": "with", "distinct": "without"}[rule]
    assert sentence.startswith(f"Recursive rejection {name} replacement is not valid for siblings")
    assert sentence.endswith(".")
    # at temperature 0 the candidates are fixed, and no pair is wrong
    start(toy.prompt, target, build(Models(target, draft)), Law(0), 9)


@dataclass(frozen=True, slots=True)
class Mislabelled(Levels):
    """Draws as `drawn` and says `kind`."""

    drawn: Sampling = FIXED

    def begin(self, greedy: bool) -> Grower:
        return Levels(self.widths, self.drawn).begin(greedy)


@pytest.mark.parametrize(
    ("drawn", "said", "rule"),
    [
        (WITHOUT, WITH, WITH_REPLACEMENT),
        (WITH, WITHOUT, WITHOUT_REPLACEMENT),
        (FIXED, WITH, WITH_REPLACEMENT),
        (FIXED, WITHOUT, WITHOUT_REPLACEMENT),
    ],
)
def test_a_drawing_that_is_not_what_it_says_is_caught(
    drawn: Sampling, said: Sampling, rule: RecursiveRejection
) -> None:
    toy = WORLDS["one token overrated"](3)
    assert error(decoder(Mislabelled((2,), said, drawn=drawn), rule), toy, Law(1), 1) > HARM
    assert error(decoder(Mislabelled((2,), said, drawn=said), rule), toy, Law(1), 1) < TOLERANCE


class AsIfDrawn(ModelDrafter):
    """The trap of the public code: the likeliest tokens, verified as if drawn from a softmax over
    their logits.
    """

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = super().propose(context, limit, dice)
        assert made.logits is not None
        tokens = [made.tree.tokens[child] for child in made.tree.children(0)]
        offered = torch.full_like(made.logits, -torch.inf)
        offered[0, tokens] = made.logits[0, tokens]
        return replace(made, sampling=WITHOUT, q=offered.softmax(dim=1))


def test_draft_temperature_zero_below_a_sampling_target_takes_the_rule_for_fixed_ones() -> None:
    def trapped(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        drafter = AsIfDrawn(lambda prompt, _: draft.open(prompt), Levels((2,), FIXED), "toy")
        return Decoder(drafter, RecursiveRejection())

    p, q = P["F1"], Q["F1"]
    wrong = emitted(trapped, p, q)
    assert wrong == pytest.approx([0.68, 0, 0.32], abs=1e-12)
    assert distance(wrong, p) == pytest.approx(0.3, abs=1e-12)
    ours = configured("mcsd", tree=[2], draft_temperature=0)
    assert emitted(ours, p, q) == pytest.approx(p, abs=1e-12)
    assert acceptance(ours, p, q) == pytest.approx(0.5, abs=1e-12)
    assert acceptance(ours, P["F4"], Q["F4"]) == pytest.approx(0.3, abs=1e-12)


def test_one_fixed_candidate_of_an_equal_drafter_is_not_optimal() -> None:
    build = configured("mcsd", tree=[1], draft_temperature=0)
    assert acceptance(build, P["F3"], Q["F3"]) == pytest.approx(0.6, abs=1e-12)


def drafted(law: Law, **settings: object) -> DraftTree:
    """Return what the method drafts on a toy."""
    toy = WORLDS["different laws"](8)
    target, draft = toy.models()
    drafter = configured("mcsd", **settings)(Models(target, draft)).drafter
    drafter.begin(toy.prompt, target.open(toy.prompt[:-1]))
    return drafter.propose(Context(toy.prompt, law), 9, SeededDice(0)).tree


def test_the_default_tree_has_28_nodes_level_by_level() -> None:
    tree = drafted(Law(1))
    assert node_count(K_CONFIG) == tree.drafted == 28
    assert [tree.depths.count(depth) for depth in (1, 2, 3)] == [4, 8, 16]
    # child j of node n of a level stands at offset + n k + j
    assert tree.parents[5:13] == (1, 1, 2, 2, 3, 3, 4, 4)


def test_at_temperature_zero_there_are_several_candidates_with_either_drawing() -> None:
    for rule in ("distinct", "independent", "naive"):
        tree = drafted(Law(0), rule=rule)
        assert len(set(tree.children(0))) == 4
        assert tree.counts == (1,) * len(tree)


def test_the_round_keeps_its_config_for_the_picture() -> None:
    toy = WORLDS["different laws"](6)
    target, draft = toy.models()
    build = configured("mcsd", rule="independent")
    state = start(toy.prompt, target, build(Models(target, draft)), Law(1), 12)
    blocks = [extra for made in decode(state, SeededDice(1), lambda: 0.0) for extra in made.extras]
    assert blocks
    assert {(tuple(b.widths), b.drawing) for b in blocks} == {((4, 2, 2), "independent")}


@pytest.mark.parametrize(
    ("budget", "widths"),
    [(1, (1,)), (3, (3,)), (8, (4, 1)), (28, (4, 2, 2)), (64, (4, 2, 2, 1, 1))],
)
def test_a_published_tree_fits_a_budget(budget: int, widths: Sequence[int]) -> None:
    assert within(budget, K_CONFIG) == tuple(widths)
    assert node_count(widths) <= budget


# Sequoia's uniform fallback


def falling_back(width: int) -> tuple[Levels, RecursiveRejection]:
    return Levels((width,), WITHOUT, True), RecursiveRejection(uniform_fallback=True)


@pytest.mark.parametrize(("width", "expected"), [(1, 0.5), (2, 0.95), (3, 1.0)])
def test_siblings_beyond_the_support_are_drawn_and_tried_uniformly(
    width: int, expected: float
) -> None:
    """q = (1, 0, 0): p keeps .5 of token 1; then R = (0, .6, .4) meets D = (0, .5, .5)."""
    p, q = (0.5, 0.3, 0.2), (1.0, 0.0, 0.0)
    assert acceptance(decoder(*falling_back(width)), p, q) == pytest.approx(expected, abs=1e-12)
    assert acceptance(configured("mcsd", tree=[width]), p, q) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("toy", ["zeros in both laws", "the drafter is certain"])
@pytest.mark.parametrize("widths", [(3,), (2, 2)])
def test_the_uniform_fallback_is_exact(toy: str, widths: tuple[int, ...]) -> None:
    shape, rule = Levels(widths, WITHOUT, True), RecursiveRejection(uniform_fallback=True)
    assert error(decoder(shape, rule), WORLDS[toy](3), Law(1, top_k=2), rounds=1) < TOLERANCE


def test_a_rule_that_does_not_know_of_the_fallback_is_exact_and_never_keeps_those() -> None:
    shape, p, q = Levels((3,), WITHOUT, True), (0.5, 0.3, 0.2), (1.0, 0.0, 0.0)
    build = decoder(shape, RecursiveRejection())
    assert emitted(build, p, q) == pytest.approx(p, abs=1e-12)
    assert acceptance(build, p, q) == pytest.approx(0.5, abs=1e-12)


def test_siblings_beyond_the_support_that_were_not_drawn_uniformly_are_caught() -> None:
    @dataclass(frozen=True, slots=True)
    class Filled(Levels):
        def begin(self, greedy: bool) -> Grower:
            return Levels(self.widths, FIXED).begin(greedy)

    p, q = (0.2, 0.2, 0.6), (1.0, 0.0, 0.0)
    build = decoder(Filled((2,), WITHOUT), RecursiveRejection(uniform_fallback=True))
    assert distance(emitted(build, p, q), p) > HARM


@pytest.mark.parametrize("rest", [1e-30, 1e-40, 1e-44])
def test_what_is_left_of_a_draft_law_may_be_as_small_as_a_float_can_be(rest: float) -> None:
    q = torch.tensor([[1.0, rest, rest, 0.0]], dtype=torch.float32)
    tree = DraftTree.root(0).extended([0, 0], [0, 1])
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log().expand(3, 4)
    draft = Draft(tree, WITHOUT, q=q, rows={0: 0})
    table = RecursiveRejection().prepare(draft, Scores(logits), Context((0,), Law(1)))
    second = table.tries[0][1]
    assert second.drawn == pytest.approx(0.5, rel=1e-5)
    assert second.target == pytest.approx(2 / 9, rel=1e-5)
    assert second.accept == pytest.approx(4 / 9, rel=1e-5)


@pytest.mark.parametrize("kind", [WITHOUT, WITH])
def test_a_real_vocabulary_in_single_precision_is_decided_as_in_double(kind: Sampling) -> None:
    made = torch.Generator().manual_seed(1)
    logits = torch.randn((9, 20_000), generator=made) * 3
    q = ((logits + torch.randn(logits.shape, generator=made)) / 0.8).softmax(dim=1)
    rows = SeededDice(5).draw(q[:2], 4, replace=kind is WITH).tolist()
    parents, tokens, offers = once_each(list(enumerate(rows)), 1)
    tree = DraftTree.root(0).extended(parents, tokens, offers)
    draft = Draft(tree, kind, q=q[: len(tree)], rows={n: n for n in range(len(tree))})
    context = Context((0,), Law(0.8))
    logits = logits[: len(tree)]
    fast = RecursiveRejection().prepare(draft, Scores(logits), context)
    exact = replace(draft, q=q[: len(tree)].double())
    for seed in range(3):
        slow = SlowRejection().prepare(exact, Scores(logits.double()), context)
        ours, theirs = fast.walk(SeededDice(seed), 1), slow.walk(SeededDice(seed), 1)
        assert (ours.path, len(ours.checks)) == (theirs.path, len(theirs.checks))
        for mine, other in zip(ours.checks, theirs.checks, strict=True):
            assert mine.accept_probability == pytest.approx(
                other.accept_probability, rel=1e-3, abs=1e-6
            )
    for tests in fast.tries.values():
        for test in tests:
            assert bool(torch.isfinite(test.remains).all())
            assert float(test.remains.double().sum()) == pytest.approx(1, abs=1e-4)


def test_the_rules_take_the_siblings_that_they_are_for() -> None:
    assert WITH_REPLACEMENT.samplings == {FIXED, WITH}
    assert WITHOUT_REPLACEMENT.samplings == {FIXED, WITHOUT}
    assert NaiveMembership().samplings == set(Sampling)
