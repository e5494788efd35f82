"""Exact bytes of token ids, and whether two models mean the same by an id. Imports no transformers.

A token's text is not its bytes: byte-level BPE writes every byte as a printable character,
sentencepiece writes spaces as U+2581 and unknown bytes as <0xE2>, WordPiece marks what continues a
word. Which of these a tokenizer does is read from its decoder. The bytes of consecutive ids join to
the bytes of the text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypedDict, cast

from core.models.errors import ModelError
from core.models.library import Tokenizer
from core.models.sources import shown

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "\u2581"


class _Step(TypedDict, total=False):
    """What we read of one step of a `tokenizers` decoder."""

    type: str
    decoders: list[_Step]
    pattern: dict[str, str]
    content: str
    replacement: str
    prefix: str
    suffix: str


Spelling = Callable[[str], bytes]


class Vocabulary:
    """All token ids of a tokenizer, or those of them that a model with `rows` rows can score."""

    tokens: Final[Mapping[int, str]]  # as the tokenizer writes them
    special: Final[frozenset[int]]  # control tokens
    size: Final[int]  # one more than the highest id

    def __init__(self, tokenizer: Tokenizer, rows: int | None = None) -> None:
        limit = sys.maxsize if rows is None else rows
        tokens = {i: token for token, i in tokenizer.get_vocab().items() if i < limit}
        added = tokenizer.added_tokens_decoder
        special = {index for index, token in added.items() if token.special}
        special.update(tokenizer.all_special_ids)
        steps = _decoder_steps(tokenizer)
        is_byte_level = any(step.get("type") == "ByteLevel" for step in steps)
        self.tokens = tokens
        self.special = frozenset(special & tokens.keys())
        self.size = max(tokens, default=-1) + 1
        self._literal = frozenset(added if is_byte_level else special)  # their text is their bytes
        self._spell = _spelling(steps, tokenizer)

    def bytes(self, token: int) -> bytes:
        """Return what id `token` adds to a text: nothing, for a row that only pads the model."""
        text = self.tokens.get(token)
        if text is None:
            return b""
        return text.encode() if token in self._literal else self._spell(text)


def shared_size(target: Vocabulary, draft: Vocabulary) -> int:
    """Return the number of ids of two equal vocabularies.

    Roles (bos, eos, pad) may differ: only the target's tokenizer reads the prompt, only its eos
    ends the text. Raises ModelError that names the first id whose tokens differ.
    """
    if target.tokens != draft.tokens:
        ids = target.tokens.keys() | draft.tokens.keys()
        first = min(i for i in ids if target.tokens.get(i) != draft.tokens.get(i))
        raise ModelError(
            f"Token {first} is {_named(target, first)} in the target and {_named(draft, first)} "
            "in the draft: the two models must share one vocabulary."
        )
    return target.size


def _named(vocabulary: Vocabulary, token: int) -> str:
    text = vocabulary.tokens.get(token)
    return "missing" if text is None else shown(text)


def _decoder_steps(tokenizer: Tokenizer) -> list[_Step]:
    """Return the steps of the decoder; none for a tokenizer outside the `tokenizers` library."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.decoder is None:
        return []
    state = cast(bytes, backend.decoder.__getstate__())  # its JSON alone, without the vocabulary
    return list(_flat(cast(_Step, json.loads(state))))


def _flat(step: _Step) -> Iterator[_Step]:
    if step.get("type") == "Sequence":
        for inner in step.get("decoders", []):
            yield from _flat(inner)
    else:
        yield step


def _spelling(steps: list[_Step], tokenizer: Tokenizer) -> Spelling:
    by_type = {step.get("type", ""): step for step in steps}
    if "ByteLevel" in by_type:
        return partial(_byte_level, _byte_of_character())
    if "WordPiece" in by_type:
        return partial(_word_piece, by_type["WordPiece"].get("prefix", "##"))
    if "BPEDecoder" in by_type:
        return partial(_word_end, by_type["BPEDecoder"].get("suffix", "</w>"))
    replaced = dict(_replacements(steps))
    if not replaced and any(_SPACE in token for token in tokenizer.get_vocab()):
        replaced = {_SPACE: " "}  # sentencepiece itself, not through `tokenizers`
    if replaced:
        return partial(_piece, replaced, "ByteFallback" in by_type or not steps)
    return partial(_whole, tokenizer)


def _replacements(steps: list[_Step]) -> Iterator[tuple[str, str]]:
    for step in steps:
        if step.get("type") == "Metaspace":
            yield step.get("replacement", _SPACE), " "
        elif step.get("type") == "Replace" and "String" in step.get("pattern", {}):
            yield step.get("pattern", {})["String"], step.get("content", "")


def _byte_of_character() -> dict[str, int]:
    """Return GPT-2's alphabet: printable Latin-1 is itself, other bytes are U+0100 and up."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def _byte_level(alphabet: Mapping[str, int], token: str) -> bytes:
    if all(character in alphabet for character in token):
        return bytes(alphabet[character] for character in token)
    return token.encode()


def _piece(replaced: Mapping[str, str], has_byte_tokens: bool, token: str) -> bytes:
    match = _BYTE_TOKEN.fullmatch(token) if has_byte_tokens else None
    if match:
        return bytes([int(match[1], 16)])
    for old, new in replaced.items():
        token = token.replace(old, new)
    return token.encode()


def _word_piece(prefix: str, token: str) -> bytes:
    inside = token.removeprefix(prefix)
    return inside.encode() if inside != token else b" " + token.encode()


def _word_end(suffix: str, token: str) -> bytes:
    inside = token.removesuffix(suffix)
    return inside.encode() + b" " if inside != token else token.encode()


def _whole(tokenizer: Tokenizer, token: str) -> bytes:
    return tokenizer.convert_tokens_to_string([token]).encode()
