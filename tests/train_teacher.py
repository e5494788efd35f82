"""A teacher of forty words: a random Llama behind a tokenizer that knows spaces only."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from zlib import crc32

from core.models.lean import LeanLlama
from core.train.corpus import Teacher
from tests.tiny import tiny

END, USER, ASSISTANT, MARK, FIRST, SIZE = 0, 1, 2, 3, 4, 44
_TAGS = {END: "<|end|>", USER: "<|user|>", ASSISTANT: "<|assistant|>", MARK: "\x00"}


class Words:
    """Ids of words by their checksum; letters name what the model writes."""

    def decode(self, tokens: list[int]) -> str:
        return "".join(_TAGS.get(token, f" w{_letters(token)}") for token in tokens)

    def ids(self, text: str) -> list[int]:
        for token, tag in _TAGS.items():
            text = text.replace(tag, f" \x01{token} ")
        return [
            int(word[1:]) if word[0] == "\x01" else FIRST + crc32(word.encode()) % (SIZE - FIRST)
            for word in text.split()
        ]


@dataclass(frozen=True, slots=True)
class WordText:
    loaded: SimpleNamespace
    ends: frozenset[int] = frozenset({END})
    special: frozenset[int] = frozenset({END, USER, ASSISTANT, MARK})

    def encode(self, prompt: str, chat: bool) -> list[int]:
        inside = self.loaded.tokenizer.ids(prompt)
        return [USER, *inside, END, ASSISTANT] if chat else inside


def _letters(token: int) -> str:
    return chr(97 + token // 26) + chr(97 + token % 26)


def teacher() -> Teacher:
    model = LeanLlama(tiny("llama", vocabulary=SIZE, layers=1, seed=3, context=512))
    card = SimpleNamespace(vocabulary_size=SIZE, id="toy/words")
    text = WordText(SimpleNamespace(tokenizer=Words(), card=card))
    return Teacher("toy/words", text, model)
