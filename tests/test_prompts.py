"""Prompts as token ids: templates, start tokens, and what a model cannot do."""

from __future__ import annotations

import pytest

from core.models.errors import ModelError
from core.models.prompts import chat_ids, has_chat_template, plain_ids
from core.trace import Message
from tests import saved_models as made

TOKENIZER = made.byte_level()
BARE = made.byte_level(template=None)


def test_a_conversation_ends_where_the_answer_begins() -> None:
    ids = chat_ids(TOKENIZER, [Message(role="user", content="the cat")])
    assert TOKENIZER.decode(ids) == "<s>user: the cat</s><s>assistant: "


def test_a_model_without_template_says_what_to_do() -> None:
    assert not has_chat_template(BARE)
    with pytest.raises(ModelError, match="plain text"):
        chat_ids(BARE, [Message(role="user", content="the cat")])


def test_a_template_that_refuses_the_messages_is_quoted() -> None:
    with pytest.raises(ModelError, match="No tools"):
        chat_ids(TOKENIZER, [Message(role="tool", content="x")])


def test_plain_text_is_what_the_tokenizer_makes_of_it() -> None:
    assert TOKENIZER.decode(plain_ids(TOKENIZER, " the cat")) == " the cat"
    llama_like = made.with_start_token(made.byte_level())
    assert plain_ids(llama_like, "the")[0] == llama_like.bos_token_id


def test_an_empty_text_is_the_start_token() -> None:
    assert plain_ids(TOKENIZER, "") == [TOKENIZER.bos_token_id]
    llama_like = made.with_start_token(made.byte_level())
    assert plain_ids(llama_like, "") == [llama_like.bos_token_id]


def test_an_empty_text_without_start_token_is_refused() -> None:
    with pytest.raises(ModelError, match="at least one character"):
        plain_ids(made.metaspace(), "")
