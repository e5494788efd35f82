"""Prompt lookup copies what the two published conventions copy."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from core.dice import SeededDice
from core.drafters.lookup import Convention, LookupDrafter, Match, find
from core.extras import LookupExtras
from core.laws import Law
from core.tree import Draft
from core.verify.base import Context

GOLDEN = (5, 6, 7, 8, 9, 5, 6, 10, 11, 5, 6)
texts = st.lists(st.integers(0, 4), min_size=1, max_size=24)


def test_the_sheet_s_golden_text() -> None:
    assert find(GOLDEN, 2, 3, "transformers") == Match(2, 0, (7, 8, 9))
    assert find(GOLDEN, 2, 10, "transformers") == Match(2, 0, (7, 8, 9, 5, 6, 10, 11, 5, 6))
    assert find(GOLDEN, 3, 10, "original") is None
    assert find(GOLDEN, 3, 3, "original") == Match(2, 0, (7, 8, 9))
    assert find(GOLDEN, 2, 3, "transformers", "rightmost") == Match(2, 5, (10, 11, 5))


def test_a_continuation_that_begins_with_an_end_token_gives_an_empty_draft() -> None:
    assert find((1, 2, 99, 3, 1, 2), 2, 10, "transformers", ends=frozenset({99})) == Match(2, 0, ())


@given(
    text=texts, size=st.integers(1, 4), length=st.integers(1, 12), end=st.sampled_from([None, 0, 4])
)
def test_the_default_convention_is_that_of_transformers(
    text: list[int], size: int, length: int, end: int | None
) -> None:
    ids = torch.tensor([text])
    theirs = PromptLookupCandidateGenerator(
        eos_token_id=None if end is None else torch.tensor([end]),
        num_output_tokens=length,
        max_matching_ngram_size=size,
        max_length=10_000,
    )
    copied = theirs.get_candidates(ids)[0][0, len(text) :].tolist()
    found = find(
        text, size, length, "transformers", ends=frozenset() if end is None else frozenset({end})
    )
    assert list(found.tokens if found else ()) == copied


def original(text: list[int], size: int, length: int) -> list[int]:
    """Return what the original repository copies: all windows of every size, from the left."""
    for n in range(size, 0, -1):
        for start in range(len(text) - n + 1):
            begin = start + n
            fits = begin + length <= len(text) and begin < len(text) - n
            if text[start:begin] == text[-n:] and fits:
                return text[begin : begin + length]
    return []


@given(text=texts, size=st.integers(1, 4), length=st.integers(1, 6))
def test_the_original_convention_copies_complete_spans_only(
    text: list[int], size: int, length: int
) -> None:
    found = find(text, size, length, "original")
    assert list(found.tokens if found else ()) == original(text, size, length)


@given(text=texts, size=st.integers(1, 4), length=st.integers(1, 6))
def test_the_rightmost_match_is_the_latest_of_the_longest_size_found(
    text: list[int], size: int, length: int
) -> None:
    found = find(text, size, length, "transformers", "rightmost")
    first = find(text, size, length, "transformers")
    assert (found is None) == (first is None)
    if found is None or first is None:
        return
    assert found.size == first.size
    assert found.start >= first.start
    ngram = text[-found.size :]
    later = range(found.start + 1, len(text) - found.size)
    assert not any(text[start : start + found.size] == ngram for start in later)
    assert text[found.copy : found.copy + len(found.tokens)] == list(found.tokens)


def propose(convention: Convention, text: tuple[int, ...], limit: int) -> Draft:
    drafter = LookupDrafter(2, 3, convention, "leftmost", frozenset({99}))
    return drafter.propose(Context(text, Law(0)), limit, SeededDice(0))


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
@pytest.mark.parametrize("convention", ["transformers", "original"])
def test_a_draft_is_a_chain_no_deeper_than_its_limit_and_says_where_it_came_from(
    convention: Convention, limit: int
) -> None:
    draft = propose(convention, GOLDEN, limit)
    kept = min(limit, 3)
    assert draft.tree.is_chain
    assert draft.tree.tokens == (6, 7, 8, 9)[: kept + 1]
    assert draft.extras == (LookupExtras(ngram=2, match_start=0, copy_start=2, copy_length=kept),)
    assert draft.q is None


def test_without_a_match_nothing_is_drafted_and_the_record_says_so() -> None:
    draft = propose("transformers", (1, 2, 3), 9)
    assert draft.tree.tokens == (3,)
    assert draft.extras == (
        LookupExtras(ngram=0, match_start=None, copy_start=None, copy_length=0),
    )
    assert draft.stop is not None
    assert draft.stop.reason == "no_match"
