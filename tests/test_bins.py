"""Two laws in bins: the sums and the optimum are those of the sorted line, and little is sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bounds import bins as binned
from core.bounds.bins import PER_UNIT, Bins, bins, independent_optimum
from core.bounds.pair import pair
from core.bounds.prefix import Independent
from core.host import Floats
from core.verify.crossing import crossing
from tests.candidates import random_pair
from tests.slow_kseq import root, taken


def by_mark(p: Floats, q: Floats, mark: float) -> tuple[float, float, float]:
    """Return p and q of the tokens with p/q below a mark, and q of the others."""
    below = p < mark * q
    return float(p[below].sum()), float(q[below].sum()), float(q[~below].sum())


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), size=st.integers(1, 40), most=st.integers(1, 8))
def test_edges_and_parts_hold_the_sums_of_what_lies_below_them(
    seed: int, size: int, most: int
) -> None:
    p, q = random_pair(seed, size)
    laws = bins(p, q, most)
    rows = zip(laws.edges, laws.p_below, laws.q_below, laws.q_above, strict=True)
    for edge, *sums in rows:
        assert sums == pytest.approx(by_mark(p, q, edge), abs=1e-12)
    for number in np.unique(laws.number[laws.number < most * PER_UNIT]).tolist():
        part = laws.part(number)
        assert (np.diff(part.ratio) >= 0).all()
        for place, ratio in enumerate(part.ratio.tolist()):
            if place and ratio > part.ratio[place - 1]:
                sums = part.p_below[place], part.q_below[place], part.q_above[place]
                assert sums == pytest.approx(by_mark(p, q, ratio * (1 - 1e-12)), abs=1e-9)


@settings(max_examples=200)
@given(seed=st.integers(0, 2**31), size=st.integers(1, 60), count=st.integers(1, 8))
def test_the_optimum_is_that_of_the_sorted_line(seed: int, size: int, count: int) -> None:
    p, q = random_pair(seed, size)
    known = Independent(pair(p, q), count).optimum().value
    assert independent_optimum(bins(p, q, count), count) == pytest.approx(known, abs=1e-9)


def large(seed: int, sharpness: float, noise: float) -> tuple[Floats, Floats]:
    """Return two laws over a real vocabulary, `noise` apart."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, sharpness, 49_152)
    both = [np.exp(row - row.max()) for row in (logits, logits + rng.normal(0, noise, 49_152))]
    return both[0] / both[0].sum(), both[1] / both[1].sum()


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("noise", [0.02, 1.0, 3.0])
def test_over_a_real_vocabulary_both_agree_and_few_tokens_are_sorted(
    count: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q = large(count, 3.0, noise)
    sorted_tokens: list[int] = []
    part = Bins.part

    def counted(laws: Bins, number: int) -> binned.Part:
        found = part(laws, number)
        sorted_tokens.append(len(found.ratio))
        return found

    monkeypatch.setattr(Bins, "part", counted)
    curves = crossing(p, q, count)
    rho = curves.root()
    known = root_of(p, q, count)
    assert curves.reach(rho) == pytest.approx(curves.reach(known), abs=1e-9)
    best = independent_optimum(curves.laws, count)
    assert best == pytest.approx(Independent(pair(p, q), count).optimum().value, abs=1e-9)
    if noise >= 1:  # closer laws share a few bins, and many factors keep all of p
        assert rho == pytest.approx(known, abs=1e-9)
        assert sum(sorted_tokens) < len(p) / 8


def root_of(p: Floats, q: Floats, count: int) -> float:
    """Return rho* by bisection over whole laws."""
    low, high = 1.0, float(count)
    for _ in range(60):
        middle = (low + high) / 2
        beta = float(np.minimum(q, p / middle).sum())
        low, high = (middle, high) if 1 - (1 - beta) ** count > middle * beta else (low, middle)
    return high


def test_laws_apart_and_equal_laws_have_the_ends_of_the_range() -> None:
    apart = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    equal = np.array([0.25, 0.75]), np.array([0.25, 0.75])
    for count in (1, 2, 5):
        assert independent_optimum(bins(*apart, count), count) == 0
        assert independent_optimum(bins(*equal, count), count) == pytest.approx(1, abs=1e-12)
        assert crossing(*equal, count).root() == pytest.approx(
            root(*(row.tolist() for row in equal), count), abs=1e-9
        )
    assert crossing(*apart, 3).beta(1.0) == taken([1.0, 0.0], [0.0, 1.0], 1.0) == 0


@pytest.mark.parametrize("count", [1, 2, 3, 8, 16])
def test_a_recorded_curve_runs_from_one_to_k_in_few_points(count: int) -> None:
    grid, reach, spent = crossing(*random_pair(count, 30), count).curves(48)
    assert len(grid) == len(reach) == len(spent) <= 48
    assert (grid[0], grid[-1]) == (1, count)
    assert (np.diff(grid) > 0).all()
