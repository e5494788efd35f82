"""What a person wrote, as token ids. Knows no model and no text box."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2.exceptions import TemplateError

from core.models.errors import ModelError
from core.models.library import Tokenizer
from core.trace import Message


def has_chat_template(tokenizer: Tokenizer) -> bool:
    """Tell whether `chat_ids` works; models that only continue texts have no template."""
    return bool(tokenizer.chat_template)


def chat_ids(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[int]:
    """Return the ids of a conversation, up to where the model's answer begins.

    Raises ModelError if the model has no chat template, or its template refuses the messages.
    """
    if not has_chat_template(tokenizer):
        raise ModelError("This model has no chat template: send the prompt as plain text.")
    turns = [{"role": message.role, "content": message.content} for message in messages]
    try:
        return tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
    except TemplateError as error:
        raise ModelError(f"This model's chat template refuses the messages: {error}.") from error


def plain_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of `text` as the model was trained to see a text's beginning.

    An empty text is the model's start token; raises ModelError where it has none.
    """
    ids = tokenizer.encode(text)
    if ids:
        return ids
    if tokenizer.bos_token_id is None:
        raise ModelError("This model has no start token: write at least one character.")
    return [tokenizer.bos_token_id]
