"""K-SEQ's factor: where the two curves meet, and that nothing is overspent there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bounds.pair import pair
from core.bounds.prefix import Independent
from core.verify.crossing import crossing
from tests.candidates import random_pair
from tests.slow_kseq import root, taken

pairs = given(seed=st.integers(0, 2**31), size=st.integers(1, 7), count=st.integers(1, 6))


@settings(max_examples=200)
@pairs
def test_at_the_root_the_curves_meet_and_nothing_is_overspent(
    seed: int, size: int, count: int
) -> None:
    p, q = random_pair(seed, size)
    curves = crossing(p, q, count)
    rho = curves.root()
    assert 1 <= rho <= count
    assert rho == pytest.approx(root(p.tolist(), q.tolist(), count), abs=1e-9)
    beta, kept = float(curves.beta(rho)), float(curves.reach(rho))
    assert beta == pytest.approx(taken(p.tolist(), q.tolist(), rho), abs=1e-12)
    assert kept == pytest.approx(rho * beta, abs=1e-12)
    # kept by a candidate, or written by the target: all of p, and no more
    rest = np.maximum(p - rho * q, 0)
    shared = np.minimum(q, p / rho) * (kept / beta if beta else 0.0)
    assert shared + rest == pytest.approx(p, abs=1e-12)
    assert not rest[p < rho * q].any(), "a token that can be rejected is not written instead"


@settings(max_examples=200)
@pairs
def test_k_seq_lies_between_its_share_of_the_best_and_the_best(
    seed: int, size: int, count: int
) -> None:
    p, q = random_pair(seed, size)
    curves = crossing(p, q, count)
    kept = float(curves.reach(curves.root()))
    best = Independent(pair(p, q), count).optimum().value
    assert kept >= (1 - (1 - 1 / count) ** count) * best - 1e-9
    assert kept <= best + 1e-9
