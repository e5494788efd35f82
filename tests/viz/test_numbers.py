"""Numbers as written on the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.numbers import (
    count,
    decimals_for,
    difference,
    duration,
    nats,
    ordinal,
    probability,
    quotient,
)

chances = st.floats(0, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.068, ".068"),
        (1.0, "1"),
        (0.0, "0"),
        (0.00049, "<.001"),
        (0.0006, ".001"),
        (0.9996, ">.999"),
        (0.9994, ".999"),
        (0.5, ".500"),
    ],
)
def test_probability(value: float, text: str) -> None:
    assert probability(value) == text


@given(chances)
def test_probability_is_within_half_a_step_of_what_it_shows(value: float) -> None:
    text = probability(value)
    if text[0] == "<":
        assert 0 < value < 0.0005 + 1e-12
    elif text[0] == ">":
        assert 0.9995 - 1e-12 <= value < 1
    else:
        assert abs(float(text) - value) <= 0.0005 + 1e-12
        assert text == "0" or not text.startswith("0")


@given(chances, chances)
def test_dart_and_mark_never_look_equal_unless_they_are(chance: float, u: float) -> None:
    decimals = decimals_for(chance, u)
    assert 3 <= decimals <= 9
    if 0 < chance < 1 and abs(u - chance) > 1e-8:
        assert probability(u, decimals) != probability(chance, decimals)


def test_four_decimals_exactly_when_close() -> None:
    assert decimals_for(0.2647, 0.2685) == 4
    assert decimals_for(0.2647, 0.2746) == 4
    assert decimals_for(0.2647, 0.2750) == 3
    assert decimals_for(1.0, 0.995) == 3


@pytest.mark.parametrize(
    ("p", "q", "text"),
    [
        (0.395, 0.736, ".395 / .736 = .537"),
        (0.991, 0.640, ".991 / .640 > 1"),
        (0.3, 0.3, ".300 / .300 = 1"),
        (0.0, 0.3, "0 / .300 = 0"),
        (0.00001, 0.068, "<.001 / .068"),
        (0.0004, 0.02, "<.001 / .020 ≈ .020"),
    ],
)
def test_quotient(p: float, q: float, text: str) -> None:
    assert quotient(p, q) == text


@given(st.floats(0.001, 1), st.floats(0.001, 1))
def test_equals_sign_stands_only_where_the_shown_numbers_give_the_shown_result(
    p: float, q: float
) -> None:
    text = quotient(p, q)
    if " = " in text and p < q:
        pair, result = text.split(" = ")
        shown_p, shown_q = map(float, pair.split(" / "))
        assert probability(shown_p / shown_q) == result


@given(chances, chances)
def test_difference_is_that_of_the_shown_numbers(a: float, b: float) -> None:
    first, second = probability(a, 4), probability(b, 4)
    shown = abs(float(first.strip("<>")) - float(second.strip("<>")))
    assert float(difference(first, second)) == pytest.approx(shown, abs=1e-9)


def test_other_units() -> None:
    assert [duration(ms) for ms in (0, 0.2, 63.4, 999.4, 999.6, 7040)] == [
        "0 ms",
        "<1 ms",
        "63 ms",
        "999 ms",
        "1.0 s",
        "7.0 s",
    ]
    assert [count(n, "token") for n in (0, 1, 2048)] == ["0 tokens", "1 token", "2,048 tokens"]
    assert nats(1.944) == "1.94"
    assert nats(-0.0) == "0.00"
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 21, 22, 112)] == [
        "first",
        "second",
        "third",
        "4th",
        "11th",
        "21st",
        "22nd",
        "112th",
    ]
