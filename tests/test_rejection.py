"""Recursive rejection: closed-form acceptances of the literature, and equality with a slow walk,
number by number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.decode import Decoder, Feedback
from core.dice import Dice, SeededDice
from core.extras import Extras
from core.laws import Law
from core.models.base import Scores, Session
from core.registry import Models
from core.shapes.base import TreePolicy
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Offer
from core.verify.rejection import RecursiveRejection
from tests.drafts import Distinct, Likeliest, Replaced
from tests.exactness import TOLERANCE, Builder, error, first_round
from tests.sheet import P, Q, acceptance, constant, decoder
from tests.slow_rejection import SlowRejection
from tests.toys import World, certain_at


def drafted_by(shape: TreePolicy) -> Builder:
    return decoder(shape, RecursiveRejection())


SHEET = [
    # one draft, two, three: with replacement, without, the likeliest
    ("F1", Distinct, 1, 0.7),
    ("F2", Distinct, 1, 0.5),
    ("F3", Distinct, 1, 1),
    ("F4", Distinct, 1, 0.5),
    ("F6", Distinct, 1, 5 / 6),
    ("F3", Likeliest, 1, 0.6),
    ("F1", Replaced, 2, 0.76),
    ("F2", Replaced, 2, 0.75),
    ("F3", Replaced, 2, 1),
    ("F4", Replaced, 2, 0.55),
    ("F6", Replaced, 2, 0.888889),
    ("F1", Distinct, 2, 0.82),
    ("F2", Distinct, 2, 1),
    ("F3", Distinct, 2, 1),
    ("F4", Distinct, 2, 0.6125),
    ("F6", Distinct, 2, 0.916667),
    ("F1", Likeliest, 2, 0.5),
    ("F2", Likeliest, 2, 1),
    ("F3", Likeliest, 2, 1),
    ("F4", Likeliest, 2, 0.3),
    ("F6", Likeliest, 2, 0.833333),
    ("F1", Replaced, 3, 0.808),
    ("F2", Replaced, 3, 0.875),
    ("F3", Replaced, 3, 1),
    ("F4", Replaced, 3, 0.595),
    ("F6", Replaced, 3, 0.925926),
    ("F1", Distinct, 3, 1),
    ("F2", Distinct, 3, 1),
    ("F4", Distinct, 3, 0.785119),
    ("F6", Distinct, 3, 1),
    ("F1", Likeliest, 3, 1),
    ("F2", Likeliest, 3, 1),
    ("F4", Likeliest, 3, 0.9),  # the third place is a tie: the lower id takes it
    ("F6", Likeliest, 3, 1),
]


@pytest.mark.parametrize(("name", "kind", "width", "expected"), SHEET)
def test_acceptance_is_the_closed_form(
    name: str, kind: type[Replaced], width: int, expected: float
) -> None:
    width = min(width, len(P[name])) if kind is Likeliest else width
    assert acceptance(drafted_by(kind((width,))), P[name], Q[name]) == pytest.approx(
        expected, abs=1e-6
    )


@pytest.mark.parametrize("name", P)
@pytest.mark.parametrize("kind", [Replaced, Distinct, Likeliest])
def test_whatever_the_acceptance_the_law_is_the_target_s(name: str, kind: type[Replaced]) -> None:
    assert error(drafted_by(kind((2,))), constant(P[name], Q[name]), Law(1), 1) < TOLERANCE


def test_siblings_share_the_acceptance_as_the_sheet_says() -> None:
    split = [0.0, 0.0, 0.0]
    for outcome, probability in first_round(drafted_by(Distinct((3,))), constant(P["F1"], Q["F1"])):
        split[outcome.accepted[0] - 1] += probability
    assert split == pytest.approx([0.7, 0.12, 0.18], abs=1e-12)


EMITTED = {
    0.5: {1: 1.5, 2: 1.75, 3: 1.875, 4: 1.9375, 5: 1.9688, 8: 1.9961},
    0.7: {1: 1.7, 2: 2.19, 3: 2.533, 4: 2.7731, 5: 2.9412, 8: 3.1988},
    0.8: {1: 1.8, 2: 2.44, 3: 2.952, 4: 3.3616, 5: 3.6893, 8: 4.3289},
    0.9: {1: 1.9, 2: 2.71, 3: 3.439, 4: 4.0951, 5: 4.6856, 8: 6.1258},
}


@pytest.mark.parametrize(
    ("alpha", "length", "expected"),
    [(alpha, length, value) for alpha, row in EMITTED.items() for length, value in row.items()],
)
def test_tokens_per_round_follow_from_the_overlap(
    alpha: float, length: int, expected: float
) -> None:
    """One token is always kept and the other never, so that every place is accepted with
    probability alpha.
    """
    toy = constant((1.0, 0.0), (alpha, 1 - alpha))
    rounds = first_round(drafted_by(Distinct((1,) * length)), toy)
    emitted = sum(len(outcome.emitted) * probability for outcome, probability in rounds)
    assert emitted == pytest.approx((1 - alpha ** (length + 1)) / (1 - alpha), abs=1e-9)
    assert emitted == pytest.approx(expected, abs=5.1e-5)


TARGET_ROWS = {
    "": (0.5, 0.4, 0.1),
    "a": (0.6, 0.3, 0.1),
    "b": (0.3, 0.6, 0.1),
    "c": (0.3, 0.3, 0.4),
    "aa": (0.7, 0.2, 0.1),
}


class FixedTree:
    """Offers one tree of words over a, b, c, whatever the text."""

    taps: Sequence[int] = ()

    def __init__(self, words: Sequence[str]) -> None:
        order = ["", *words]
        self._parents = [order.index(word[:-1]) for word in words]
        self._tokens = ["abc".index(word[-1]) for word in words]

    def offer(self, greedy: bool) -> Offer:
        return Offer(frozenset({Sampling.DETERMINISTIC}), branches=True)

    def begin(self, prompt: Sequence[int], target: Session) -> None: ...

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        return ()

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        return Draft(DraftTree.root(context.root).extended(self._parents, self._tokens))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "b", "aa", "aaa"], 1.41),
        (["a", "b", "aa", "ba", "aaa"], 1.53),
        (["a", "b", "aa", "ab", "ba", "aaa"], 1.68),
    ],
)
def test_a_fixed_tree_is_accepted_as_deep_as_the_target_s_path_products_say(
    words: Sequence[str], expected: float
) -> None:
    def rows(context: tuple[int, ...]) -> Sequence[float]:
        word = "".join(
            "abc"[token] for token in context[4:]
        )  # after the prompt and its first token
        return TARGET_ROWS.get(word, (0.4, 0.4, 0.2))

    toy = World(certain_at(rows, 3, 1), rows, 3)

    def build(models: Models) -> Decoder:
        return Decoder(FixedTree(words), RecursiveRejection())

    rounds = first_round(build, toy)
    accepted = sum(len(outcome.accepted) * probability for outcome, probability in rounds)
    assert accepted == pytest.approx(expected, abs=1e-12)
    assert error(build, toy, Law(1), 1) < TOLERANCE


KINDS = [Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT]


def random_round(seed: int, size: int, nodes: int) -> tuple[Draft, Tensor]:
    """Return a draft with all kinds of siblings in one tree and target logits (N, V), zeros in both
    laws.
    """
    rng = np.random.default_rng(seed)

    def laws(rows: int) -> np.ndarray:
        weights = rng.random((rows, size)) * (rng.random((rows, size)) > 0.3) + 1e-300
        return weights / weights.sum(axis=1, keepdims=True)

    q, p = laws(nodes), laws(nodes)
    q[q < 1e-100], p[p < 1e-100] = 0, 0
    kinds = {node: KINDS[rng.integers(3)] for node in range(nodes)}
    tree, drawn = DraftTree.root(0), dict[int, list[int]]()
    while len(tree) < nodes:
        parent = int(rng.integers(len(tree)))
        taken = [tree.tokens[child] for child in tree.children(parent)]
        weights = q[parent].copy() if kinds[parent] is not Sampling.DETERMINISTIC else np.ones(size)
        if kinds[parent] is not Sampling.INDEPENDENT:
            weights[taken] = 0
        if not weights.any():
            break
        token = int(rng.choice(size, p=weights / weights.sum()))
        node = next((n for n in tree.children(parent) if tree.tokens[n] == token), len(tree))
        if node == len(tree):
            tree = tree.extended([parent], [token])
        drawn.setdefault(parent, []).append(node)
        if len(drawn[parent]) > 2 * size:
            break
    tree = tree.extended([], [], {n: row for n, row in drawn.items() if len(set(row)) < len(row)})
    kinds = {node: kind for node, kind in kinds.items() if node < len(tree)}
    rows = {node: node for node in range(len(tree))}
    draft = Draft(tree, mixed=kinds, q=torch.tensor(q[: len(tree)]), rows=rows)
    return draft, torch.tensor(p[: len(tree)]).log()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 6),
    nodes=st.integers(1, 14),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_the_fast_walk_decides_like_the_slow_one(
    seed: int, size: int, nodes: int, temperature: float
) -> None:
    draft, logits = random_round(seed, size, nodes)
    context = Context((0,), Law(temperature))
    fast = RecursiveRejection().prepare(draft, Scores(logits), context)
    slow = SlowRejection().prepare(draft, Scores(logits), context)
    for throw in range(4):
        ours, theirs = (table.walk(SeededDice(throw), 1) for table in (fast, slow))
        assert (ours.path, ours.final, ours.origin) == (theirs.path, theirs.final, theirs.origin)
        for mine, other in zip(ours.checks, theirs.checks, strict=True):
            assert (mine.node, mine.passed, mine.u) == (other.node, other.passed, other.u)
            assert mine.accept_probability == pytest.approx(other.accept_probability, abs=1e-12)
            assert mine.p == pytest.approx(other.p, rel=1e-5, abs=1e-12)
            assert (mine.q is None) == (other.q is None)
            assert (mine.q or 0) == pytest.approx(other.q or 0, rel=1e-5, abs=1e-12)
            assert mine.mass_before == pytest.approx(other.mass_before, rel=1e-5, abs=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 6), nodes=st.integers(2, 14))
def test_residuals_are_laws_and_what_a_rejection_leaves_is_what_it_did_not_accept(
    seed: int, size: int, nodes: int
) -> None:
    draft, logits = random_round(seed, size, nodes)
    table = RecursiveRejection().prepare(draft, Scores(logits), Context((0,), Law(1)))
    for node in range(len(draft.tree)):
        start = table.p[node]
        for test in table.tries.get(node, ()):
            assert float(test.remains.sum()) == pytest.approx(1, abs=1e-12)
            assert bool((test.remains >= 0).all())
            assert bool((test.remains[start == 0] == 0).all())
            if draft.sampling_at(node) is Sampling.DETERMINISTIC:
                token = draft.tree.tokens[test.node]
                assert test.left == pytest.approx(1 - float(start[token]), abs=1e-6)
            start = test.remains


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_that_the_target_forbids_is_rejected_even_by_the_luckiest_throw(
    kind: Sampling,
) -> None:
    class Luckiest(SeededDice):
        def at(self, *key: int | str) -> Luckiest:
            return Luckiest(0)

        def _uniforms(self, count: int) -> list[float]:
            return [0.0] * count

    draft = Draft(
        DraftTree.root(0).extended([0], [1]), kind, q=torch.tensor([[0.5, 0.5]]), rows={0: 0}
    )
    logits = torch.tensor([[0.0, -torch.inf], [0.0, 0.0]])
    table = RecursiveRejection().prepare(draft, Scores(logits), Context((0,), Law(1)))
    outcome = table.walk(Luckiest(0), 1)
    assert outcome.path == ()
    assert outcome.final == 0


@pytest.mark.parametrize("kind", KINDS)
def test_at_temperature_zero_a_child_stays_exactly_if_it_is_the_favourite(kind: Sampling) -> None:
    q = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64)
    tree = DraftTree.root(0).extended([0, 0], [2, 1])
    for favourite in range(3):
        logits = torch.zeros((3, 3), dtype=torch.float64)
        logits[0, favourite] = 1
        draft = Draft(tree, kind, q=q, rows={0: 0})
        table = RecursiveRejection().prepare(draft, Scores(logits), Context((0,), Law(0)))
        outcome = table.walk(SeededDice(1), 1)
        assert outcome.tokens(draft)[0] == favourite
        assert len(outcome.path) == (favourite != 0)


def test_equal_laws_never_reject_in_single_precision() -> None:
    laws = torch.rand((6, 50_000), generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    tokens = [int(row.argmax()) for row in laws[:5]]
    tree = DraftTree((0, *tokens), (-1, 0, 1, 2, 3, 4))
    draft = Draft(tree, Sampling.DISTINCT, q=laws, rows={n: n for n in range(6)})
    table = RecursiveRejection().prepare(draft, Scores(laws.log()), Context((0,), Law(1)))
    tests = [test for tests in table.tries.values() for test in tests]
    assert [test.node for test in tests] == [1, 2, 3, 4, 5]
    assert min(test.accept for test in tests) > 1 - 1e-5
    for test in tests:
        assert torch.isfinite(test.remains).all()


ONE = DraftTree.root(0).extended([0], [1])
LAWS = torch.full((1, 3), 1 / 3)


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (Draft(ONE, Sampling.TOP_AND_ONE, q=LAWS, rows={0: 0}), "of which one is drawn"),
        (Draft(ONE, mixed={0: Sampling.TOP_AND_ONE}, q=LAWS, rows={0: 0}), "of which one is drawn"),
        (Draft(ONE, Sampling.DISTINCT), "need the law"),
    ],
)
def test_drafts_that_the_rule_would_verify_wrongly_are_refused(draft: Draft, said: str) -> None:
    scores, context = Scores(torch.zeros((2, 3))), Context((0,), Law(1))
    with pytest.raises(ValueError, match=said):
        RecursiveRejection().prepare(draft, scores, context)
