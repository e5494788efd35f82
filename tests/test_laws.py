"""Laws are those of transformers' own logits processors, row by row, and temperature 0 is their
limit.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from core.laws import Law
from core.reduce import top_tokens
from tests.toys import slow_law

logits_lists = st.lists(st.integers(-6, 6).map(lambda x: x / 2), min_size=1, max_size=40)
laws = st.builds(
    Law,
    st.sampled_from([0.3, 0.7, 1.0, 1.7]),
    st.sampled_from([0, 1, 2, 5, 100]),
    st.sampled_from([0.1, 0.5, 0.9, 0.999, 1.0]),
)


def reference(logits: Tensor, law: Law) -> Tensor:
    """Return what transformers draws from."""
    scores = (
        TemperatureLogitsWarper(law.temperature)(None, logits) if law.temperature != 1 else logits
    )
    if law.top_k:
        scores = TopKLogitsWarper(law.top_k)(None, scores)
    if law.top_p < 1:
        scores = TopPLogitsWarper(law.top_p)(None, scores)
    return scores.softmax(dim=-1)


def borders(logits: Tensor, law: Law) -> Tensor:
    """Return the masses at which top-p could cut."""
    return (
        reference(logits, Law(law.temperature, law.top_k)).sort(descending=True).values.cumsum(-1)
    )


@given(values=logits_lists, law=laws)
def test_a_law_is_that_of_transformers(values: list[float], law: Law) -> None:
    """Which of several equal tokens top-p keeps is left open there; here it is the lowest ids."""
    logits = torch.tensor([values], dtype=torch.float64)
    assume(not bool(((borders(logits, law) - law.top_p).abs() < 1e-9).any()))
    ours, theirs = law(logits), reference(logits, law)
    torch.testing.assert_close(ours.sort().values, theirs.sort().values, rtol=0, atol=1e-12)
    least = theirs[theirs > 0].min()
    above = (
        reference(logits, Law(law.temperature))
        > reference(logits, Law(law.temperature))[theirs == least].max()
    )
    torch.testing.assert_close(ours[above], theirs[above], rtol=0, atol=1e-12)


@given(values=logits_lists, law=laws)
def test_a_law_is_what_plain_python_computes(values: list[float], law: Law) -> None:
    logits = torch.tensor([values], dtype=torch.float64)
    assume(not bool(((borders(logits, law) - law.top_p).abs() < 1e-9).any()))
    expected = slow_law(logits.softmax(dim=-1)[0].tolist(), law)
    assert law(logits)[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_top_p_drops_a_token_once_those_before_it_have_the_mass() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64).log()
    law = Law(1, top_p=0.5)
    assert law(logits).tolist() == [[1, 0, 0]] == reference(logits, law).tolist()


def many_rows() -> Tensor:
    """Return logits (4, 2000) in steps of 1/8, as bfloat16 gives them: full of ties, one row nearly
    flat.
    """
    steps = torch.randn((4, 2000), generator=torch.Generator().manual_seed(0)) * 2
    steps[0] *= 0.02
    return (steps * 8).round() / 8


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "law", [Law(0), Law(0.7), Law(1, top_k=300), Law(0.7, 0, 0.9), Law(1, 40, 0.95)]
)
def test_the_law_of_a_row_does_not_depend_on_the_rows_beside_it(
    law: Law, dtype: torch.dtype
) -> None:
    """A tree scores many rows at once and a plain step one: the same context must have the same
    law.
    """
    logits = many_rows().to(dtype)
    together = law(logits)
    for row in range(len(logits)):
        assert law(logits[row : row + 1])[0].tolist() == together[row].tolist()


def test_equal_tokens_are_kept_from_the_lowest_id_on() -> None:
    flat = torch.zeros((1, 2000), dtype=torch.float64)
    for size in (10, 500, 2000):
        kept = Law(1, top_p=0.35)(flat[:, :size])[0] > 0
        assert kept.tolist() == [token < round(0.35 * size) for token in range(size)]
    assert int(Law(0)(flat).argmax()) == 0


@given(values=logits_lists, law=laws)
def test_rows_are_laws_in_the_wide_type(values: list[float], law: Law) -> None:
    for dtype, wide in (
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
    ):
        row = law(torch.tensor([values], dtype=dtype))
        assert row.dtype == wide
        assert bool((row >= 0).all())
        assert float(row.sum()) == pytest.approx(1, abs=1e-5)


@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=40, unique=True))
def test_temperature_zero_is_the_limit_of_small_temperatures_and_ignores_the_filters(
    values: list[int],
) -> None:
    logits = torch.tensor([values], dtype=torch.float64)
    greedy = Law(0)(logits)
    assert greedy.tolist() == Law(0, 3, 0.5)(logits).tolist() == Law(1, top_k=1)(logits).tolist()
    torch.testing.assert_close(greedy, Law(0.01)(logits), rtol=0, atol=1e-12)


def test_tokens_that_the_model_rules_out_stay_out() -> None:
    logits = torch.tensor([[0.0, -torch.inf, 1.0, -torch.inf]])
    for law in (Law(0), Law(0.7), Law(1, top_k=3), Law(1, top_p=0.999999)):
        assert law(logits)[0, [1, 3]].tolist() == [0, 0]
        assert bool(law(logits).isfinite().all())


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((-0.1,), "Temperature is -0.1; it may be 0 to 2."),
        ((2.5,), "Temperature is 2.5; it may be 0 to 2."),
        ((float("nan"),), "Temperature is nan; it may be 0 to 2."),
        ((1e-45,), "Temperature is 1e-45; it may be 0, or 0.001 to 2."),
        ((1, -1), "Top-k is -1; it may be 0 (off) or more."),
        ((1, 0, 0.0), "Top-p is 0; it may be above 0 and at most 1."),
        ((1, 0, 1.5), "Top-p is 1.5; it may be above 0 and at most 1."),
    ],
)
def test_values_out_of_range_are_refused_in_one_sentence(
    values: tuple[float, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match="may be") as caught:
        Law(*values)
    assert str(caught.value) == sentence


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 4),
    size=st.integers(1, 6000),
    count=st.integers(1, 30),
    coarse=st.booleans(),
)
def test_top_tokens_are_those_of_topk(
    seed: int, rows: int, size: int, count: int, coarse: bool
) -> None:
    """Which of several equal tokens is taken is open; their values, their order and their number
    are not.
    """
    values = torch.randn((rows, size), generator=torch.Generator().manual_seed(seed))
    values = (values * 2).round() if coarse else values
    ids = top_tokens(values, count)
    expected = values.topk(min(count, size), dim=1).values
    assert values.gather(1, ids).tolist() == expected.tolist()
    assert all(len(set(row)) == len(row) for row in ids.tolist())
