"""The law of the token selected: closed forms of the literature, the linear program against all
sets of tokens, and every meeting of drafts enumerated.
"""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.bounds.pair import pair
from core.bounds.prefix import Independent
from core.dice import Dice, Key
from core.host import Floats
from core.verify.selection_law import Choice, Selection, choice
from core.verify.selection_pairs import Mass, decide
from core.verify.selection_plan import MOST_TUPLES, importance, largest_alphabet
from tests import exact, sheet
from tests.selections import ACCEPTED, FULL, SNIS, WAYS, chosen, random_laws, table, tensor

pytestmark = pytest.mark.matrix


def subsets(size: int) -> list[list[int]]:
    sets = chain.from_iterable(combinations(range(size), n) for n in range(size + 1))
    return [list(each) for each in sets]


def optimum(p: Floats, q: Floats, count: int) -> float:
    """Return the largest acceptance by trying every set of tokens."""
    return 1 + min(p[each].sum() - q[each].sum() ** count for each in subsets(len(p)))


@pytest.mark.parametrize(("name", "single", "is2", "best2", "is3", "best3"), ACCEPTED)
def test_the_laws_of_the_sheet_overlap_as_it_says(
    name: str, single: float, is2: float, best2: float, is3: float, best3: float
) -> None:
    p, q = sheet.P[name], sheet.Q[name]
    assert 1 - chosen(p, q, 1, FULL).left == pytest.approx(single, abs=1e-6)
    assert 1 - chosen(p, q, 2, SNIS).left == pytest.approx(is2, abs=1e-6)
    assert 1 - chosen(p, q, 2, FULL).left == pytest.approx(best2, abs=1e-6)
    assert 1 - chosen(p, q, 3, SNIS).left == pytest.approx(is3, abs=1e-6)
    assert 1 - chosen(p, q, 3, FULL).left == pytest.approx(best3, abs=1e-6)


@pytest.mark.parametrize(("free", "expected"), [(1, 17 / 18), (2, 17 / 18), (3, 1)])
def test_a_truncated_program_reaches_what_the_sheet_says(free: int, expected: float) -> None:
    found = chosen(sheet.P["F6"], sheet.Q["F6"], 2, Selection(free, 0))
    assert 1 - found.left == pytest.approx(expected, abs=1e-6)


def test_the_worked_selection_prefers_as_the_sheet_does() -> None:
    found = chosen(sheet.P["F1"], sheet.Q["F1"], 2, FULL)
    assert found.law.tolist() == pytest.approx([0.36, 0.39, 0.25], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 7))
def test_the_whole_program_reaches_the_optimum_for_two_drafts(seed: int, size: int) -> None:
    p, q = random_laws(seed, size)
    best = optimum(p, q, 2)
    assert 1 - chosen(p, q, 2, FULL).left == pytest.approx(best, abs=1e-8)
    assert Independent(pair(p, q), 2).optimum().value == pytest.approx(best, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 7), drafts=st.integers(2, 4))
def test_nothing_is_lost_exactly_where_no_set_of_tokens_is_drafted_too_often(
    seed: int, size: int, drafts: int
) -> None:
    p, q = random_laws(seed, size)
    p = 0.7 * q + 0.3 * p  # near q, so that both cases occur
    margin = min(p[each].sum() - q[each].sum() ** 2 for each in subsets(size))
    left = chosen(p, q, 2, FULL).left
    if margin > -1e-9:
        assert left < 1e-8
        assert chosen(p, q, drafts, FULL).left < 1e-8
    elif margin < -1e-6:
        assert left == pytest.approx(-margin, abs=1e-8)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 7), free=st.integers(1, 5))
def test_what_a_truncated_program_loses_is_bounded(seed: int, size: int, free: int) -> None:
    p, q = random_laws(seed, size)
    found = chosen(p, q, 2, Selection(free, 0))
    outside = np.argsort(-(p - q * q), kind="stable")[free:]
    bound = (p - q * q)[outside].clip(0).sum()
    assert 1 - found.left >= optimum(p, q, 2) - bound - 1e-8


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 9),
    free=st.integers(1, 4),
    alphabet=st.integers(0, 5),
)
def test_another_draft_never_covers_less_and_none_covers_more_than_any_rule_can(
    seed: int, size: int, free: int, alphabet: int
) -> None:
    p, q = random_laws(seed, size)
    covered = np.minimum(p, q).sum()
    for count in range(1, 5):
        now = 1 - chosen(p, q, count, Selection(free, alphabet)).left
        assert covered - 1e-12 <= now <= optimum(p, q, count) + 1e-9
        covered = now


def enumerated(p: Floats, q: Floats, count: int, way: Selection) -> list[float]:
    """Return the law of the token selected, over all drafts and every way they can meet."""

    def run(dice: Dice) -> int:
        tokens = dice.at("draft").draw(tensor(q)[None], count)[0].tolist()
        made = table(p, q, tokens, way)
        made.walk(_Deaf(dice), 1)
        return made.draft.tree.tokens[made.last[0].child]

    law = exact.law(run)
    return [law.get(token, 0.0) for token in range(len(p))]


class _Deaf:
    """Dice of which only selections are asked; all else falls the first way, at no chance."""

    u = 0.0

    def __init__(self, dice: Dice, sure: bool = False) -> None:
        self._dice, self._sure = dice, sure

    def at(self, *key: Key) -> Dice:
        return _Deaf(self._dice.at(*key), self._sure or key[0] in ("accept", "final"))

    def flip(self, heads: float) -> bool:
        return False if self._sure else self._dice.flip(heads)

    def draw(self, weights: Tensor, count: int = 1, replace: bool = True) -> Tensor:
        return weights.argmax(dim=1, keepdim=True)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 5),
    count=st.integers(1, 3),
    free=st.integers(1, 4),
    alphabet=st.integers(0, 4),
    scheme=st.sampled_from(["linear", "importance"]),
)
def test_the_law_of_the_token_selected_is_that_of_every_meeting(
    seed: int, size: int, count: int, free: int, alphabet: int, scheme: str
) -> None:
    p, q = random_laws(seed, size)
    way = Selection(free, alphabet, "linear" if scheme == "linear" else "importance")
    law = chosen(p, q, count, way).law
    assert float(law.sum()) == pytest.approx(1, abs=1e-12)
    assert bool((law >= 0).all())
    assert enumerated(p, q, count, way) == pytest.approx(law.tolist(), abs=1e-12)


@pytest.mark.parametrize("count", [4])
@pytest.mark.parametrize("way", WAYS)
def test_the_law_is_right_for_many_drafts_too(count: int, way: str) -> None:
    p, q = random_laws(7, 3, zeros=0)
    law = chosen(p, q, count, WAYS[way]).law.tolist()
    assert enumerated(p, q, count, WAYS[way]) == pytest.approx(law, abs=1e-12)


def test_two_laws_meet_as_two_draws_of_them_do() -> None:
    """A meeting of tokens with different laws, pair by pair."""
    rng = np.random.default_rng(3)
    p, a, b = rng.dirichlet(np.ones(6), 3)
    for free in (1, 3, 6):
        made = decide(p[:5], Mass(a[:5], a[5]), Mass(b[:5], b[5]), free)
        law = [a[i] * (b[i] + b[5]) + a[5] * b[i] for i in range(5)]
        for i, j in combinations(range(5), 2):
            assert made.stays(i, j) == pytest.approx(1 - made.stays(j, i), abs=1e-15)
            both = a[i] * b[j] + a[j] * b[i]
            law[i] += both * made.stays(i, j)
            law[j] += both * made.stays(j, i)
        assert made.winner.inside.tolist() == pytest.approx(law, abs=1e-14)
        assert made.winner.outside == a[5] * b[5]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 7))
def test_the_whole_program_reaches_the_optimum_for_drafts_of_two_laws(seed: int, size: int) -> None:
    """The sheet: 1 + min over sets S of p(S) - a(S) b(S)."""
    p, a = random_laws(seed, size)
    b, _ = random_laws(seed + 1, size)
    best = 1 + min(p[s].sum() - a[s].sum() * b[s].sum() for s in subsets(size))
    made = decide(p, Mass(a, 0.0), Mass(b, 0.0), size)
    assert float(np.minimum(p, made.winner.inside).sum()) == pytest.approx(best, abs=1e-8)


def test_importance_weights_go_through_no_more_tuples_than_allowed() -> None:
    for count in range(1, 9):
        most = largest_alphabet(count)
        assert most**count <= MOST_TUPLES < (most + 1) ** count
    law = np.full(600, 1 / 600)
    with pytest.raises(ValueError, match="may have 1 to 500 tokens"):
        importance(law, Mass(law, 0.0), 2)


def slow_law(made: Choice, p: Floats, q: Floats) -> list[float]:
    """Return the law of the better of two drafts, token by token in the order of the choice."""
    assert made.outside is not None
    last = made.plan.order
    inside = [made.tokens[place] for place in last]
    others = [token for token in made.outside.order.tolist() if token not in set(inside)]
    law, behind = [0.0] * len(p), 0.0
    for token in reversed([*inside, *others]):
        law[token] = q[token] ** 2 + 2 * q[token] * behind
        behind += q[token]
    for i, j in combinations(inside[:5], 2):
        moved = 2 * q[i] * q[j] * (1 - made.stays(1, i, j, [i]))
        law[i] -= moved
        law[j] += moved
    return law


@pytest.mark.parametrize("count", [2, 4])
def test_numbers_stay_finite_and_right_in_single_precision(count: int) -> None:
    size, noise = 20_000, torch.Generator().manual_seed(3)
    logits = 3 * torch.randn((2, size), generator=noise)
    logits[1] = 0.6 * logits[0] + 0.4 * logits[1]
    p, q = logits.softmax(dim=1)
    drafts = torch.multinomial(q, count, replacement=True, generator=noise).tolist()
    made = choice(p, q, drafts, Selection())
    for law in (made.law, made.residual):
        assert bool(torch.isfinite(law).all())
        assert bool((law >= 0).all())
        assert float(law.sum()) == pytest.approx(1, abs=1e-9)
    whole = [law.double() / law.double().sum() for law in (p, q)]
    if count == 2:
        law = slow_law(made, *(each.numpy() for each in whole))
        assert made.law.tolist() == pytest.approx(law, abs=1e-12)
        covered = math.fsum(min(x, y) for x, y in zip(whole[0].tolist(), law, strict=True))
        assert 1 - made.left == pytest.approx(covered, abs=1e-9)
    for token in drafts:
        given, drawn = made.at(token)
        assert given == pytest.approx(float(whole[0][token]), rel=1e-9)
        assert drawn == pytest.approx(float(made.law[token]), rel=1e-9)
        assert drawn > 0


def test_equal_laws_never_reject_in_single_precision() -> None:
    law = torch.rand(50_000, generator=torch.Generator().manual_seed(0)).softmax(dim=0)
    for count in (1, 2, 3):
        made = choice(law, law, [7] * count, Selection())
        given, drawn = made.at(7)
        assert given / drawn > 1 - 1e-9
        assert made.left < 1e-9
        assert bool(torch.isfinite(made.residual).all())
