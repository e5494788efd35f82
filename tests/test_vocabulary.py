"""Bytes of token ids: their join is the text, whatever the tokenizer does with spaces and bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.errors import ModelError
from core.models.vocabulary import Vocabulary, shared_size
from tests import saved_models as made

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

HARD = "naïve 🤗👩‍👩‍👧 ﷽ \u202e\x00\r\n\n\t  1,234 … Ġ ## </w> é"
BYTE_LEVEL = made.byte_level()
SENTENCEPIECE = made.sentencepiece(with_prefix=False)
PREFIXED = made.sentencepiece(with_prefix=True)


def joined(tokenizer: PreTrainedTokenizerFast, text: str) -> bytes:
    vocabulary = Vocabulary(tokenizer)
    return b"".join(map(vocabulary.bytes, tokenizer.encode(text, add_special_tokens=False)))


def test_reading_bytes_needs_neither_torch_nor_transformers() -> None:
    code = (
        "import sys, core.models.vocabulary as v; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'tokenizers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.text())
def test_byte_level_tokens_join_to_the_text(text: str) -> None:
    assert joined(BYTE_LEVEL, text) == text.encode()


@given(st.text(st.characters(exclude_characters="\u2581", exclude_categories=["Cs"])))
def test_sentencepiece_tokens_join_to_the_text(text: str) -> None:
    assert joined(SENTENCEPIECE, text) == text.encode()


@given(st.text(st.characters(exclude_characters="\u2581", exclude_categories=["Cs"]), min_size=1))
def test_a_tokenizer_that_adds_a_space_has_it_in_its_bytes(text: str) -> None:
    assert joined(PREFIXED, text) == b" " + text.encode()


@given(st.text("abcdeé "))
def test_metaspace_tokens_join_to_the_text(text: str) -> None:
    assert joined(made.metaspace(), text) == text.encode()


def test_word_pieces_continue_a_word() -> None:
    assert joined(made.word_piece(), "playing now") == b" playing now"


def test_a_word_end_mark_is_a_space() -> None:
    assert joined(made.word_end(), "low low") == b"low low "


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, SENTENCEPIECE], ids=["bytes", "pieces"])
def test_each_of_the_256_bytes_has_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    vocabulary = Vocabulary(tokenizer)
    single = [vocabulary.bytes(i) for i in range(vocabulary.size) if i not in vocabulary.special]
    assert {bytes([i]) for i in range(256)} <= set(single)


def test_half_a_character_keeps_its_bytes() -> None:
    vocabulary = Vocabulary(BYTE_LEVEL)
    pieces = [vocabulary.bytes(i) for i in BYTE_LEVEL.encode("🤗")]
    assert len(pieces) == 4
    assert b"".join(pieces).decode() == "🤗"


def test_special_tokens_are_told_apart_and_spelled_literally() -> None:
    vocabulary = Vocabulary(BYTE_LEVEL)
    assert {vocabulary.bytes(i) for i in vocabulary.special} == {b"<s>", b"</s>"}


def test_an_added_word_of_byte_level_is_spelled_literally() -> None:
    tokenizer = made.byte_level()
    tokenizer.add_tokens(["é  Ġ"])
    assert joined(tokenizer, "xé  Ġx") == "xé  Ġx".encode()
    assert len(Vocabulary(tokenizer).special) == 2


def test_a_row_without_token_adds_nothing() -> None:
    vocabulary = Vocabulary(BYTE_LEVEL)
    assert vocabulary.bytes(vocabulary.size) == b""


def test_equal_vocabularies_share_all_their_tokens() -> None:
    first, second = Vocabulary(made.byte_level()), Vocabulary(made.byte_level())
    assert shared_size(first, second) == first.size == len(BYTE_LEVEL)


def test_roles_of_tokens_may_differ() -> None:
    other = made.byte_level()
    other.eos_token = "<s>"
    assert shared_size(Vocabulary(BYTE_LEVEL), Vocabulary(other)) == len(BYTE_LEVEL)


def test_the_first_token_that_differs_is_named() -> None:
    smaller = made.byte_level(size=300)
    assert smaller.convert_ids_to_tokens(299) is not None
    with pytest.raises(ModelError) as caught:
        shared_size(Vocabulary(BYTE_LEVEL), Vocabulary(smaller))
    found = BYTE_LEVEL.convert_ids_to_tokens(300)
    assert str(caught.value) == (
        f"Token 300 is {found!r} in the target and missing in the draft: "
        "the two models must share one vocabulary."
    )


def test_two_kinds_of_tokens_differ_at_the_first_id() -> None:
    with pytest.raises(ModelError, match="Token 0 is '<s>' in the target and '<unk>' in the draft"):
        shared_size(Vocabulary(BYTE_LEVEL), Vocabulary(SENTENCEPIECE))


def test_a_long_token_is_cut_in_the_sentence() -> None:
    other = made.byte_level()
    other.add_tokens(["x" * 5000])
    with pytest.raises(ModelError) as caught:
        shared_size(Vocabulary(BYTE_LEVEL), Vocabulary(other))
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, SENTENCEPIECE], ids=["bytes", "pieces"])
def test_text_that_looks_like_a_tokenizers_marks_stays_itself(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    assert joined(tokenizer, HARD) == HARD.encode()


def test_byte_level_knows_no_marks_of_sentencepiece() -> None:
    assert joined(BYTE_LEVEL, "\u2581 <0xE2>") == "\u2581 <0xE2>".encode()
