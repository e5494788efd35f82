"""The likeliest tokens are those of the law in full precision, always in the same order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.shapes.favourites import favourites, products, ranked

V = 20_000


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_shares_of_a_real_vocabulary_match_those_in_full_precision(
    dtype: torch.dtype, temperature: float
) -> None:
    logits = (4 * torch.randn((3, V), generator=torch.manual_seed(1))).to(dtype)
    tokens, shares = favourites(logits, 12, temperature)
    slow = (logits.double() / temperature).softmax(dim=1).numpy()
    for row in range(3):
        order = sorted(range(V), key=lambda token: (-float(logits[row, token]), token))[:12]
        assert tokens[row].tolist() == order
        assert shares[row] == pytest.approx(slow[row][order], rel=2e-4)
    assert np.isfinite(shares).all()


def test_of_equal_tokens_the_lowest_ids_come_first_in_every_batch() -> None:
    row = torch.zeros(V)
    row[[7, 300, 19_000]] = 1.0
    alone, _ = favourites(row[None], 5)
    among, _ = favourites(torch.stack([torch.randn(V), row]), 5)
    assert alone[0].tolist() == among[1].tolist() == [7, 300, 19_000, 0, 1]


def test_a_vocabulary_smaller_than_what_is_asked_for_gives_all_of_it() -> None:
    tokens, shares = favourites(torch.tensor([[0.1, 0.7, 0.2]]).log(), 9)
    assert tokens.tolist() == [[1, 2, 0]]
    assert shares[0] == pytest.approx([0.7, 0.2, 0.1])


def test_tokens_without_mass_have_none() -> None:
    _, shares = favourites(torch.tensor([[0.0, 1.0, 0.0]]).log(), 3)
    assert shares.tolist() == [[1.0, 0.0, 0.0]]


probabilities = st.floats(0, 1, allow_subnormal=False)


@settings(deadline=None)
@given(st.lists(probabilities, min_size=1, max_size=5), st.lists(probabilities, min_size=1))
def test_a_product_is_never_above_its_parent_s(parents: list[float], shares: list[float]) -> None:
    first = products([1.0], np.array([parents]))[0]
    made = products(first.tolist(), np.array([shares] * len(parents)))
    assert (made <= first[:, None]).all()
    assert (made >= 0).all()


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=12), st.integers(0, 14))
def test_ranking_is_by_score_then_by_place_and_leaves_nothing_out_but_zeros(
    scores: list[float], most: int
) -> None:
    places = ranked(scores, most)
    expected = sorted(
        (p for p, score in enumerate(scores) if score > 0), key=lambda p: (-scores[p], p)
    )
    assert places == expected[:most]
