"""A median's interval holds the median as often as it promises, whatever the numbers' law."""

from __future__ import annotations

from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.compare.medians import median_of

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(numbers)
def test_the_median_lies_in_its_interval_which_ends_at_numbers(values: list[float]) -> None:
    found = median_of(values)
    assert found is not None
    assert (found.value, found.count) == (median(values), len(values))
    assert (found.low is None) == (found.high is None) == (len(values) < 6)
    if found.low is not None and found.high is not None:
        assert found.low <= found.value <= found.high
        assert {found.low, found.high} <= set(values)


@pytest.mark.parametrize("count", [6, 7, 9, 12, 15])
def test_the_interval_holds_the_true_median_in_95_of_100_cases_and_no_smaller_one_does(
    count: int,
) -> None:
    """Counted over every way in which the numbers can fall on either side of the true median, 0:
    which number is how large does not matter.
    """
    held = narrower = 0
    for signs in product((-1.0, 1.0), repeat=count):
        values = sorted(sign * (1 + place) for place, sign in enumerate(signs))
        found = median_of(values)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
        low, high = values.index(found.low) + 1, values.index(found.high) - 1
        narrower += values[low] <= 0 <= values[high]
    assert held / 2**count >= 0.95
    assert narrower / 2**count < 0.95


def test_no_number_has_no_median() -> None:
    assert median_of([]) is None


def test_a_thousand_numbers_are_no_trouble() -> None:
    found = median_of([float(number) for number in range(5000)])
    assert found is not None
    assert found.low is not None
    assert 2400 < found.low < 2450
