"""Optimal acceptance and the ladder of rules: the numbers of the literature, a linear program, all
subsets, and the real rules run over every way that their dice can fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bounds.ladder import SINGLE, Acceptance, ladder
from core.bounds.pair import Pair, pair
from core.bounds.prefix import Distinct, Drafts, Independent, curve, top_and_one
from core.bounds.race import race
from core.bounds.rejection import recursive_distinct
from core.bounds.thrown import thrown_distinct
from core.host import Floats
from core.shapes.top_and_one import TopAndOne
from core.verify.greedy_draft import GreedyDraft
from core.verify.membership import NaiveMembership
from core.verify.rejection import RecursiveRejection
from tests import optimum
from tests.drafts import Distinct as DistinctShape
from tests.drafts import Likeliest, Replaced
from tests.sheet import UNIFORM, P, Q, acceptance, decoder

pytestmark = pytest.mark.matrix

RUNGS = (
    "independent/naive",
    "independent/recursive",
    "independent/k_seq",
    "independent/optimum",
    "distinct/naive",
    "distinct/recursive",
    "distinct/optimum",
    "deterministic/one_hot",
    "top_and_one/optimum",
)
SHEET = {
    ("F1", 2): (0.483, 0.76, 0.791355, 0.86, 0.613214, 0.82, 0.985714, 0.5, 0.9),
    ("F2", 2): (0.75, 0.75, 0.75, 0.75, 1, 1, 1, 1, 1),
    ("F3", 2): (0.76, 1, 1, 1, 1, 1, 1, 1, 1),
    ("F4", 2): (0.337, 0.55, 0.565887, 0.59, 0.431389, 0.6125, 0.686111, 0.3, 0.65),
    ("F6", 2): (0.555556, 0.888889, 0.924764, 1, 0.666667, 0.916667, 1, 0.833333, 1),
    ("F1", 3): (0.6161, 0.808, 0.858519, 0.988, 1, 1, 1, 1, 1),
    ("F2", 3): (0.875, 0.875, 0.875, 0.875, 1, 1, 1, 1, 1),
    ("F4", 3): (0.4257, 0.595, 0.624234, 0.671, 0.693135, 0.785119, 0.990079, 0.9, 0.9),
    ("F6", 3): (0.703704, 0.925926, 0.969682, 1, 1, 1, 1, 1, 1),
    ("F3", 3): (0.8752, 1, 1, 1, 1, 1, 1, 1, 1),
}


def rungs(p: Sequence[float], q: Sequence[float], count: int) -> dict[str, Acceptance]:
    laws = [torch.tensor(law, dtype=torch.float64) for law in (p, q)]
    return dict(ladder(laws[0], laws[1], count))


@pytest.mark.parametrize(("name", "count"), SHEET)
def test_every_rung_is_the_sheet_s_number(name: str, count: int) -> None:
    found = rungs(P[name], Q[name], count)
    assert all(rung.is_exact for rung in found.values())
    assert [found[rung].value for rung in RUNGS] == pytest.approx(SHEET[name, count], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"), [("F1", 0.7), ("F2", 0.5), ("F3", 1), ("F4", 0.5), ("F6", 5 / 6)]
)
def test_one_draft_is_standard_speculative_sampling_however_it_is_drawn(
    name: str, expected: float
) -> None:
    found = rungs(P[name], Q[name], 1)
    assert found[SINGLE].value == pytest.approx(expected, abs=1e-12)
    for way in ("independent", "distinct", "top_and_one"):
        for rule in ("recursive", "optimum"):
            assert found[f"{way}/{rule}"].value == pytest.approx(expected, abs=1e-12)


def test_one_fixed_draft_keeps_what_the_target_gives_it() -> None:
    assert rungs(P["F3"], Q["F3"], 1)["deterministic/one_hot"].value == pytest.approx(0.6)


@pytest.mark.parametrize(("p", "expected"), [(p, row) for p, *row in UNIFORM])
def test_two_drafts_of_a_uniform_drafter_are_the_sheet_s_numbers(
    p: Sequence[float], expected: Sequence[float]
) -> None:
    found = rungs(p, (1 / 3,) * 3, 2)
    names = (SINGLE, "independent/recursive", "independent/k_seq", "independent/optimum")
    assert [found[name].value for name in names] == pytest.approx(expected, abs=6e-6)


def test_prefixes_with_replacement_are_those_worked_by_hand() -> None:
    both = pair(np.array(P["F1"]), np.array(Q["F1"]))
    drafts = Independent(both, 2)
    values = both.p_below - drafts.inside(np.arange(4))
    assert values.tolist() == pytest.approx([0, -0.05, -0.14, 0], abs=1e-12)
    assert drafts.optimum().size == 2  # H holds the third and the second token


def test_the_closed_form_without_replacement_is_the_one_worked_by_hand() -> None:
    both = pair(np.array(P["F1"]), np.array(Q["F1"]))
    assert both.tokens.tolist() == [2, 1, 0]
    assert Distinct(both, 2).inside(np.array([2]))[0] == pytest.approx(0.514286, abs=1e-6)
    assert Distinct(both, 2).optimum().size == 2


def laws(seed: int, size: int) -> tuple[list[float], list[float]]:
    """Return two random laws, flat or sharp, with zeros."""
    rng = np.random.default_rng(seed)
    found: list[list[float]] = []
    for _ in range(2):
        weights = rng.random(size) ** rng.choice([1, 4, 12]) * (rng.random(size) > 0.2)
        weights[rng.integers(size)] += 0.01
        found.append((weights / weights.sum()).tolist())
    return found[0], found[1]


RANDOM = given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 5), count=st.integers(1, 3))


@settings(max_examples=120, deadline=None)
@RANDOM
def test_prefixes_subsets_and_the_linear_program_agree(seed: int, size: int, count: int) -> None:
    p, q = laws(seed, size)
    found = rungs(p, q, count)
    for way, sets in optimum.WAYS.items():
        best = optimum.by_subsets(p, sets(q, count))
        assert optimum.by_program(p, sets(q, count)) == pytest.approx(best, abs=1e-7)
        assert found[f"{way}/optimum"].value == pytest.approx(best, abs=1e-9)


@settings(max_examples=120, deadline=None)
@RANDOM
def test_naive_membership_is_the_share_of_p_that_the_drafts_hold(
    seed: int, size: int, count: int
) -> None:
    p, q = laws(seed, size)
    found = rungs(p, q, count)
    for way, sets in optimum.WAYS.items():
        held = optimum.members(p, sets(q, count))
        assert found[f"{way}/naive"].value == pytest.approx(held, abs=1e-9)
    fixed = math.fsum(p[x] for x in optimum.likeliest(q, count))
    assert found["deterministic/one_hot"].value == pytest.approx(fixed, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 8), count=st.integers(1, 6))
def test_no_rule_beats_the_optimum_and_the_known_inequalities_hold(
    seed: int, size: int, count: int
) -> None:
    found = {name: rung.value for name, rung in rungs(*laws(seed, size), count).items()}
    slack = 1e-9
    for name, value in found.items():
        best = found.get(f"{name.partition('/')[0]}/optimum", 1.0)
        assert -slack <= value <= best + slack, name
    assert found["independent/naive"] <= found["independent/recursive"] + slack
    for way in ("independent", "distinct", "top_and_one"):
        assert found[SINGLE] <= found[f"{way}/optimum"] + slack
    share = 1 - (1 - 1 / count) ** count
    assert found["independent/k_seq"] >= share * found["independent/optimum"] - slack


def slow_recursive(p: Sequence[float], q: Sequence[float], count: int) -> float:
    """Return what recursive rejection accepts of distinct drafts: every order, test by test."""
    accepted = 0.0
    for drafts, chance in optimum.orders(q, count):
        target, drawn = list(p), list(q)
        for x in drafts:
            keep = min(1.0, target[x] / drawn[x])
            accepted += chance * keep
            chance *= 1 - keep
            rest = [max(r - d, 0.0) for r, d in zip(target, drawn, strict=True)]
            if not any(rest) or not chance:
                break
            target = [r / math.fsum(rest) for r in rest]
            left = [0.0 if y == x else d for y, d in enumerate(drawn)]
            drawn = [d / math.fsum(left) for d in left] if any(left) else left
    return accepted


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 6), count=st.integers(1, 5))
def test_recursive_rejection_of_distinct_drafts_is_what_every_order_says(
    seed: int, size: int, count: int
) -> None:
    p, q = laws(seed, size)
    found = rungs(p, q, count)["distinct/recursive"]
    assert found.is_exact
    assert found.value == pytest.approx(slow_recursive(p, q, count), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("count", "size"), [(3, 90), (4, 40), (5, 18)])
def test_an_estimate_lies_within_its_margin(seed: int, count: int, size: int) -> None:
    both = pair(*map(np.array, laws(seed, size)))
    exact, nothing = recursive_distinct(both, count, 10**6)
    value, margin = recursive_distinct(both, count, 3000)
    assert nothing is None
    assert margin is not None
    assert abs(value - exact) <= margin + 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [3, 6])
def test_thrown_paths_come_close_and_fall_alike_every_time(seed: int, count: int) -> None:
    both = pair(*map(np.array, laws(seed, 8)))
    value, margin = thrown_distinct(both, count)
    assert margin < 0.01
    assert abs(value - recursive_distinct(both, count, 10**6)[0]) <= 2 * margin + 1e-4
    assert thrown_distinct(both, count) == (value, margin)


@pytest.mark.parametrize("count", [3, 5, 8])
def test_both_kinds_of_estimate_agree_over_a_real_vocabulary(count: int) -> None:
    p, q = (law.double().numpy() for law in large(20_000, 9, 3.0))
    both = pair(p / p.sum(), q / q.sum())
    value, margin = recursive_distinct(both, count)
    other, reach = thrown_distinct(both, count)
    assert margin is not None
    assert margin < 2e-3
    assert abs(value - other) <= margin + 2 * reach


SHARP = [
    (0.555, 0.194, 0.173, 0.078),
    (0.97, 0.0299, 0.0001),
    (0.9999, 0.00009, 0.000007, 0.000003),
    (0.999999, 5e-7, 4e-7, 1e-7),
    (0.5, 0.5 - 3e-9, 2e-9, 1e-9),
    (1 / 6,) * 6,
    (0.3, 0.25, 0.2, 0.15, 0.07, 0.02, 0.01),
]


@pytest.mark.parametrize("q", SHARP)
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_race_gives_the_law_of_distinct_drafts(q: Sequence[float], count: int) -> None:
    masses = np.array(q) / math.fsum(q)
    both = pair(np.ones(len(q)) / len(q), masses)
    sets = optimum.distinct(masses.tolist(), count)
    sizes = np.arange(len(both) + 1)
    inside = [
        math.fsum(mass for s, mass in sets.items() if s <= set(both.tokens[:size].tolist()))
        for size in sizes
    ]
    held = [math.fsum(mass for s, mass in sets.items() if x in s) for x in both.tokens]
    assert race(both, count).inside(sizes) == pytest.approx(inside, abs=1e-9)
    assert race(both, count).included() == pytest.approx(held, abs=1e-9)


def large(size: int, seed: int, sharpness: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two laws (V,) in float32 as a model gives them."""
    luck = torch.Generator().manual_seed(seed)
    p = torch.randn(size, generator=luck) * sharpness
    q = p + torch.randn(size, generator=luck)
    return p.softmax(0), q.softmax(0)


def all_prefixes(drafts: Drafts, both: Pair) -> float:
    return 1 + float((both.p_below - drafts.inside(np.arange(len(both) + 1))).min())


def poisson_binomial(chances: Floats, count: int) -> Floats:
    """Return Pr(N < count) for a column of arrivals (S, T), one after another."""
    law = np.zeros((count, chances.shape[1]))
    law[0] = 1
    for chance in chances:
        law[1:] = law[1:] * (1 - chance) + law[:-1] * chance
        law[0] *= 1 - chance
    return law.sum(axis=0)


@pytest.mark.parametrize("sharpness", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_real_vocabulary_is_searched_like_every_prefix_of_it(
    sharpness: float, count: int
) -> None:
    p, q = large(20_000, 5, sharpness)
    found = ladder(p, q, count)
    wide = [(law.double() / law.double().sum()).numpy() for law in (p, q)]
    both = pair(*wide)
    for name, drafts in {
        "independent": Independent(both, count),
        "distinct": Distinct(both, count),
    }.items():
        value = found[f"{name}/optimum"].value
        assert value == pytest.approx(all_prefixes(drafts, both), abs=1e-9)
    assert all(0 <= rung.value <= 1 for rung in found.values())
    assert all(rung.margin is None or rung.margin < 0.002 for rung in found.values())
    slow = math.fsum(min(a, b) for a, b in zip(*(law.tolist() for law in wide), strict=True))
    assert found[SINGLE].value == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("sharpness", [0.0, 3.0])
def test_the_race_over_a_real_vocabulary_is_the_sheet_s_integral(sharpness: float) -> None:
    """In u on (0, 1), a token i of H arrives with probability 1 - u^(q_i / q(H^c))."""
    p, q = (law.double().numpy() for law in large(20_000, 6, sharpness))
    both = pair(p / p.sum(), q / q.sum())
    nodes, weights = np.polynomial.legendre.leggauss(400)
    u = (nodes + 1) / 2
    for size in (3, 40, 9_000, 19_990):
        rate = both.q[:size, None] / both.q_above[size]
        slow = 1 - poisson_binomial(1 - u**rate, 3) @ weights / 2
        assert race(both, 3).inside(np.array([size]))[0] == pytest.approx(float(slow), abs=5e-6)


@pytest.mark.parametrize("count", [3, 4, 8])
def test_chances_to_be_drawn_add_up_to_the_number_of_drafts(count: int) -> None:
    p, q = (law.double().numpy() for law in large(20_000, 7, 3.0))
    both = pair(p / p.sum(), q / q.sum())
    assert race(both, count).included().sum() == pytest.approx(count, abs=1e-6)


@pytest.mark.parametrize("way", ["independent", "distinct", "top_and_one"])
def test_a_curve_shows_the_widest_gap_and_few_points(way: str) -> None:
    p, q = (law.double().numpy() for law in large(20_000, 8, 3.0))
    p, q = p / p.sum(), q / q.sum()
    both = pair(p, q)
    top = np.argsort(-q)[:2]
    drafts = {
        "independent": Independent(both, 3),
        "distinct": Distinct(both, 3),
        "top_and_one": top_and_one(both, p, q, top),
    }[way]
    found = curve(drafts)
    assert len(found.mass) == len(found.target) == len(found.inside) <= 64
    assert (found.mass[0], found.target[0], found.inside[0]) == (0, 0, 0)
    assert [found.mass[-1], found.inside[-1]] == pytest.approx([1, 1])
    for column in (found.mass, found.target, found.inside):
        assert bool((np.diff(column) >= -1e-12).all())
    gaps = found.inside - found.target
    assert int(gaps.argmax()) == found.widest
    assert 1 - gaps.max() == pytest.approx(drafts.optimum().value, abs=1e-12)


@pytest.mark.parametrize("name", ["F1", "F2", "F4", "F6"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_ladder_says_what_the_real_rules_accept(name: str, count: int) -> None:
    found, fixed = rungs(P[name], Q[name], count), min(count, len(P[name]))
    real = {
        "independent/recursive": (Replaced((count,)), RecursiveRejection()),
        "distinct/recursive": (DistinctShape((count,)), RecursiveRejection()),
        "distinct/naive": (DistinctShape((count,)), NaiveMembership()),
        "top_and_one/naive": (TopAndOne(count, 1), NaiveMembership()),
        "top_and_one/optimum": (TopAndOne(count, 1), GreedyDraft()),
        "deterministic/one_hot": (Likeliest((fixed,)), RecursiveRejection()),
    }
    for rung, (shape, rule) in real.items():
        close = 1e-9 if rung == "distinct/naive" else 1e-12  # the former is an integral
        assert found[rung].value == pytest.approx(
            acceptance(decoder(shape, rule), P[name], Q[name]), abs=close
        ), rung


@pytest.mark.parametrize(
    ("p", "q", "count", "said"),
    [
        ([0.5, 0.5], [0.5, 0.5], 0, "may be 1 or more"),
        ([0.5, 0.5], [1.0], 2, "over one vocabulary"),
        ([0.0, 0.0], [0.5, 0.5], 2, "some mass"),
        ([1.5, -0.5], [0.5, 0.5], 2, "no negative number"),
        ([math.nan, 1.0], [0.5, 0.5], 2, "some mass"),
    ],
)
def test_what_is_no_law_is_refused(
    p: Sequence[float], q: Sequence[float], count: int, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        ladder(torch.tensor(p), torch.tensor(q), count)
