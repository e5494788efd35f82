"""Naive membership: the acceptances of the sheet, exact for siblings of any kind, and least of all
rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dice import SeededDice
from core.laws import Law
from core.models.base import Scores
from core.shapes.levels import Levels
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome
from core.verify.membership import MembershipTable, NaiveMembership
from core.verify.rejection import RecursiveRejection
from tests import exact
from tests.exactness import TOLERANCE, error
from tests.sheet import P, Q, acceptance, decoder
from tests.toys import WORLDS, normed

pytestmark = pytest.mark.matrix

WITH, WITHOUT, FIXED = Sampling.INDEPENDENT, Sampling.DISTINCT, Sampling.DETERMINISTIC

SHEET = [
    ("F1", WITH, 2, 0.483, 1e-12),
    ("F2", WITH, 2, 0.75, 1e-12),
    ("F3", WITH, 2, 0.76, 1e-12),
    ("F4", WITH, 2, 0.337, 1e-12),
    ("F6", WITH, 2, 0.555556, 1e-6),
    ("F1", WITHOUT, 2, 0.613214, 1e-6),
    ("F2", WITHOUT, 2, 1, 1e-12),
    ("F3", WITHOUT, 2, 1, 1e-12),
    ("F4", WITHOUT, 2, 0.431389, 1e-6),
    ("F6", WITHOUT, 2, 0.666667, 1e-6),
    ("F1", WITH, 3, 0.6161, 1e-12),
    ("F2", WITH, 3, 0.875, 1e-12),
    ("F3", WITH, 3, 0.8752, 1e-12),
    ("F4", WITH, 3, 0.4257, 1e-12),
    ("F6", WITH, 3, 0.703704, 1e-6),
    ("F1", WITHOUT, 3, 1, 1e-12),
    ("F2", WITHOUT, 3, 1, 1e-12),
    ("F4", WITHOUT, 3, 0.693135, 1e-6),
    ("F6", WITHOUT, 3, 1, 1e-12),
    ("F1", FIXED, 2, 0.5, 1e-12),
    ("F3", FIXED, 1, 0.6, 1e-12),
    ("F4", FIXED, 2, 0.3, 1e-12),
]


@pytest.mark.parametrize(("name", "kind", "width", "expected", "exactly"), SHEET)
def test_acceptance_is_the_sheet_s(
    name: str, kind: Sampling, width: int, expected: float, exactly: float
) -> None:
    found = acceptance(decoder(Levels((width,), kind), NaiveMembership()), P[name], Q[name])
    assert found == pytest.approx(expected, abs=exactly)


def laws(size: int) -> st.SearchStrategy[list[float]]:
    """Return a strategy of laws, zeros among them."""
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size)
    return weights.filter(any).map(lambda row: normed([float(w) for w in row]))


@settings(max_examples=15)
@given(data=st.data(), size=st.integers(2, 4), width=st.integers(1, 3))
def test_independent_candidates_are_found_as_the_closed_form_says(
    data: st.DataObject, size: int, width: int
) -> None:
    p, q = data.draw(laws(size)), data.draw(laws(size))
    naive = acceptance(decoder(Levels((width,), WITH), NaiveMembership()), p, q)
    closed = math.fsum(a * (1 - (1 - b) ** width) for a, b in zip(p, q, strict=True))
    assert naive == pytest.approx(closed, abs=1e-12)
    recursive = acceptance(decoder(Levels((width,), WITH), RecursiveRejection()), p, q)
    assert naive <= recursive + 1e-12


@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("kind", [WITH, WITHOUT, FIXED])
@pytest.mark.parametrize("law", [Law(0), Law(0.7), Law(1, top_k=2)], ids=repr)
def test_the_text_has_the_target_s_law(toy: str, kind: Sampling, law: Law) -> None:
    build = decoder(Levels((2, 1), kind), NaiveMembership())
    assert error(build, WORLDS[toy](3), law, rounds=1) < TOLERANCE


@pytest.mark.parametrize("kind", [WITH, WITHOUT, FIXED])
def test_two_rounds_have_the_target_s_law(kind: Sampling) -> None:
    build = decoder(Levels((2,), kind), NaiveMembership())
    assert error(build, WORLDS["different laws"](2), Law(1), rounds=2) < TOLERANCE


TREE = DraftTree.root(0).extended([0, 0, 1, 1, 2], [2, 1, 0, 2, 2], offers={0: (1, 2, 1)})


def looked_for(draft: Draft, laws: Sequence[Sequence[float]]) -> dict[tuple[int, ...], float]:
    """Return the law of the emitted tokens by the rule as it is told: draw, then look."""
    found: dict[tuple[int, ...], list[float]] = {}

    def go(node: int, text: tuple[int, ...], probability: float) -> None:
        children = {draft.tree.tokens[child]: child for child in draft.tree.children(node)}
        for token, mass in enumerate(laws[node]):
            if token in children:
                go(children[token], (*text, token), probability * mass)
            elif mass:
                found.setdefault((*text, token), []).append(probability * mass)

    go(0, (), 1.0)
    return {text: math.fsum(parts) for text, parts in found.items()}


@settings(max_examples=30)
@given(rows=st.lists(laws(4), min_size=6, max_size=6), kind=st.sampled_from(Sampling))
def test_darts_at_the_children_have_the_law_of_one_draw(
    rows: list[list[float]], kind: Sampling
) -> None:
    p = torch.tensor(rows, dtype=torch.float64)
    draft = Draft(TREE, kind, q=torch.full_like(p, 0.25), rows={n: n for n in range(6)})
    table = NaiveMembership().prepare(draft, Scores(p.log()), Context((0,), Law(1)))

    def run(dice: exact.EnumeratedDice) -> tuple[int, ...]:
        return tuple(table.walk(dice, 1).tokens(draft))

    assert exact.distance(exact.law(run), looked_for(draft, rows)) < TOLERANCE


def prepared(temperature: float) -> MembershipTable:
    p = torch.tensor([[0.1, 0.2, 0.3, 0.4]] * 6, dtype=torch.float64)
    draft = Draft(TREE, WITH, q=p, rows={n: n for n in range(6)})
    return NaiveMembership().prepare(draft, Scores(p.log()), Context((0,), Law(temperature)))


def walked(table: MembershipTable) -> list[Outcome]:
    return [table.walk(SeededDice(seed), 1) for seed in range(50)]


def test_a_child_is_tried_once_however_often_it_was_drawn() -> None:
    for outcome in walked(prepared(1)):
        tried = [check.node for check in outcome.checks]
        assert len(set(tried)) == len(tried)


def test_what_the_draft_gave_plays_no_part_and_the_record_says_so() -> None:
    table = prepared(1)
    assert table.drawn == [None] * 6
    for outcome in walked(table):
        assert all(check.q is None for check in outcome.checks)
        words = {True: "target_drew_it", False: "target_drew_another"}
        told = {check.node: words[check.passed] for check in outcome.checks}
        assert table.reasons(outcome) == told
        assert len(table.residuals(outcome)) == sum(not check.passed for check in outcome.checks)


def test_at_temperature_zero_the_rule_is_greedy_matching() -> None:
    table = prepared(0)
    for outcome in walked(table):
        assert table.reasons(outcome) == {}
        assert (outcome.path, outcome.final) == ((), 3)


def test_a_real_vocabulary_in_single_precision_is_decided_as_in_double() -> None:
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(0, 4, (4, 20_000)), dtype=torch.float32)
    likeliest = logits.topk(4, dim=1).indices.tolist()
    tree = DraftTree.root(0).extended([0] * 4, likeliest[0]).extended([1] * 4, likeliest[1])
    scores = Scores(torch.cat([logits, logits, logits[:1]]))
    table = NaiveMembership().prepare(Draft(tree), scores, Context((0,), Law(0.8)))
    slow = (scores.logits.double() / 0.8).softmax(dim=1)
    for node, tests in table.tries.items():
        left = 1.0
        for test in tests:
            mass = float(slow[node, tree.tokens[test.node]])
            assert test.accept == pytest.approx(mass / left, rel=1e-4)
            left -= mass
            assert bool(torch.isfinite(test.remains).all())
            assert float(test.remains.double().sum()) == pytest.approx(1, abs=1e-5)
