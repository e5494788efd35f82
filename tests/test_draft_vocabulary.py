"""Draft vocabularies by frequency: the most frequent, padded, with the special ones always in."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.heads.vocabulary import DraftVocabulary
from tests.train_toys import features

COUNTS = torch.tensor([0, 5, 0, 9, 0, 9, 1, 0, 0])


@pytest.mark.parametrize(
    ("count", "always", "ids"),
    [
        (1, (), [3]),  # of equal counts the lower id
        (2, (), [3, 5]),
        (3, (8,), [3, 5, 8]),
        (4, (), [1, 3, 5, 6]),
        (6, (), [0, 1, 2, 3, 5, 6]),  # padded with the lowest ids
        (6, (8,), [0, 1, 3, 5, 6, 8]),
        (9, (8,), list(range(9))),
    ],
)
def test_the_most_frequent_then_the_lowest(
    count: int, always: tuple[int, ...], ids: list[int]
) -> None:
    assert DraftVocabulary.frequent(COUNTS, count, always).ids.tolist() == ids


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.sets(st.integers(0, 29), max_size=4),
    st.data(),
)
def test_nothing_outside_is_more_frequent_than_what_is_in(
    counts: list[int], always: set[int], data: st.DataObject
) -> None:
    always = {token for token in always if token < len(counts)}
    count = data.draw(st.integers(max(1, len(always)), len(counts)))
    found = DraftVocabulary.frequent(torch.tensor(counts), count, always).ids.tolist()
    assert len(found) == count
    assert always <= set(found)
    chosen = [(counts[token], -token) for token in found if token not in always]
    left = [(counts[token], -token) for token in range(len(counts)) if token not in found]
    assert not chosen or not left or min(chosen) > max(left)


@pytest.mark.parametrize("count", [0, 1, 10])
def test_a_size_that_cannot_be_is_one_sentence(count: int) -> None:
    with pytest.raises(ValueError, match="2 to 9 tokens"):
        DraftVocabulary.frequent(COUNTS, count, (4, 8))


def test_features_cut_theirs_from_the_training_answers() -> None:
    made = features()
    assert {0, 7} <= set(made.vocabulary(4).ids.tolist())
    rest = [token for token in made.counts.argsort(descending=True).tolist() if token not in (0, 7)]
    assert set(made.vocabulary(3).ids.tolist()) == {0, 7, rest[0]}
