"""Dice are keyed, uniform, and never land on a token without weight; without replacement they
follow the exact law.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import core.dice
from core.dice import SeededDice
from tests import exact

THROWS = 20_000
LARGEST = 1 - 2.0**-53


class Loaded(SeededDice):
    """Dice whose numbers are all `u`."""

    def __init__(self, u: float) -> None:
        super().__init__(0)
        self._number = u

    def _uniforms(self, count: int) -> list[float]:
        return [self._number] * count


def number(dice: SeededDice) -> float:
    dice.flip(0.5)
    return dice.u


def numbers(seed: int = 0) -> np.ndarray:
    dice = SeededDice(seed)
    return np.array([number(dice.at("accept", i)) for i in range(THROWS)])


def test_one_address_has_one_number_whoever_asks_and_whatever_came_before() -> None:
    first = SeededDice(3)
    first.at("other").flip(0.5)
    expected = number(SeededDice(3).at(0, "accept", 7))
    assert number(first.at(0, "accept", 7)) == expected
    assert number(first.at(0).at("accept").at(7)) == expected
    assert number(SeededDice(3).at(0, "accept").at(7)) == expected


def test_seeds_places_purposes_and_kinds_of_key_have_numbers_of_their_own() -> None:
    dice = SeededDice(0)
    addresses = [
        (),
        (0,),
        ("0",),
        (0, 0),
        (1,),
        (10,),
        (1, 0),
        ("accept", 1),
        ("draft", 1),
        ("accept1",),
    ]
    seen = {number(dice.at(*address)) for address in addresses}
    seen |= {number(SeededDice(seed).at(0)) for seed in (1, -1, 2**63)}
    assert len(seen) == len(addresses) + 3


def test_numbers_are_uniform() -> None:
    found = numbers()
    assert found.min() >= 0
    assert found.max() < 1
    counts = np.histogram(found, bins=50, range=(0, 1))[0]
    chi_square = ((counts - THROWS / 50) ** 2 / (THROWS / 50)).sum()
    assert chi_square < 96  # 49 degrees of freedom: p = 0.0001


def test_neighbouring_addresses_and_seeds_are_independent() -> None:
    one, other = numbers(0), numbers(1)
    bound = 4 / THROWS**0.5
    assert abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < bound
    assert abs(np.corrcoef(one, other)[0, 1]) < bound


def test_a_flip_passes_below_its_probability_and_at_it_fails() -> None:
    assert not Loaded(0.0).flip(0.0)
    assert Loaded(0.0).flip(5e-324)
    assert not Loaded(0.25).flip(0.25)
    assert Loaded(LARGEST).flip(1.0)


def test_flips_have_their_probability() -> None:
    dice = SeededDice(5)
    share = sum(dice.at(i).flip(0.3) for i in range(THROWS)) / THROWS
    assert share == pytest.approx(0.3, abs=4 * (0.21 / THROWS) ** 0.5)


weights = st.lists(
    st.one_of(
        st.just(0.0),
        st.floats(1e-300, 1e300, allow_subnormal=False),
        st.sampled_from([1e-30, 0.1, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=20,
)


@given(row=weights, u=st.one_of(st.floats(0, LARGEST), st.sampled_from([0.0, LARGEST])))
def test_a_draw_inverts_the_cumulative_sum_and_never_lands_on_a_token_without_weight(
    row: list[float], u: float
) -> None:
    token = int(Loaded(u).draw(torch.tensor([row], dtype=torch.float64)))
    if not any(row):
        assert token == -1
        return
    assert row[token] > 0
    sums = np.cumsum(row)
    assert sums[token] > u * sums[-1] or sums[token] == sums[-1]
    assert token == 0 or sums[token - 1] <= u * sums[-1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_ends_of_the_unit_interval_fall_on_the_first_and_last_token_with_weight(
    dtype: torch.dtype,
) -> None:
    row = torch.zeros((1, 1000), dtype=dtype)
    row[0, 10], row[0, 500], row[0, 900] = 0.1, 0.2, 0.7
    assert int(Loaded(0.0).draw(row)) == 10
    assert int(Loaded(LARGEST).draw(row)) == 900


def test_where_the_device_knows_single_precision_only_the_end_stays_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There the largest number below one is rounded to one."""
    monkeypatch.setattr(core.dice, "_wide", lambda _: torch.float32)
    row = torch.zeros((1, 1000))
    row[0, 10], row[0, 900] = 0.3, 0.7
    assert int(Loaded(LARGEST).draw(row)) == 900
    assert int(Loaded(0.0).draw(row)) == 10


def test_draws_have_the_law_of_the_weights_which_need_not_sum_to_one() -> None:
    row = torch.tensor([[0.0, 3.0, 1.0, 0.0, 6.0]])
    drawn = SeededDice(1).draw(row.expand(THROWS, -1))[:, 0]
    shares = torch.bincount(drawn, minlength=5) / THROWS
    assert shares.tolist() == pytest.approx([0, 0.3, 0.1, 0, 0.6], abs=4 * 0.5 / THROWS**0.5)
    assert shares[0] == shares[3] == 0


def test_draws_without_replacement_have_the_exact_law_of_their_order() -> None:
    row = torch.tensor([[0.5, 0.3, 0.0, 0.2]], dtype=torch.float64)
    expected = exact.law(lambda dice: tuple(dice.draw(row, 3, replace=False)[0].tolist()))
    assert expected[(0, 1, 3)] == pytest.approx(0.5 * 0.6)
    drawn = SeededDice(2).draw(row.expand(THROWS, -1), 3, replace=False)
    shares = Counter(map(tuple, drawn.tolist()))
    assert shares.keys() == expected.keys()
    for order, probability in expected.items():
        sigma = (probability * (1 - probability) / THROWS) ** 0.5
        assert shares[order] / THROWS == pytest.approx(probability, abs=4 * sigma)


@given(row=weights, count=st.integers(1, 8), seed=st.integers(0, 9))
def test_without_replacement_tokens_are_distinct_until_the_support_is_used_up(
    row: list[float], count: int, seed: int
) -> None:
    drawn = SeededDice(seed).draw(torch.tensor([row], dtype=torch.float64), count, replace=False)[0]
    tokens = [token for token in drawn.tolist() if token >= 0]
    support = sum(weight > 0 for weight in row)
    assert len(tokens) == len(set(tokens)) <= support
    assert drawn.tolist() == tokens + [-1] * (count - len(tokens))
    largest = max(row)
    if all(weight == 0 or weight > 1e-9 * largest for weight in row):
        assert len(tokens) == min(count, support)


def test_with_replacement_the_draws_of_a_row_are_independent() -> None:
    row = torch.tensor([[0.5, 0.5]])
    pairs = SeededDice(3).draw(row.expand(THROWS, -1), 2).tolist()
    assert sum(one == other for one, other in pairs) / THROWS == pytest.approx(0.5, abs=0.02)


def test_drawing_leaves_the_weights_as_they_were() -> None:
    row = torch.tensor([[0.5, 0.3, 0.2]])
    SeededDice(0).draw(row, 3, replace=False)
    assert row.tolist() == torch.tensor([[0.5, 0.3, 0.2]]).tolist()


def test_every_row_has_numbers_of_its_own() -> None:
    row = torch.ones((8, 50_000))
    drawn = SeededDice(4).draw(row)[:, 0].tolist()
    assert all(one != other for one, other in pairwise(drawn))
