"""From the exact bytes of tokens to labels that show what they are. Knows no tokenizer, no markup.

A character that is spread over several tokens is shown at the token that completes it. What cannot
be seen (spaces at the edges, line breaks, control characters, changes of writing direction, broken
bytes) gets a visible mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viz.payload import Label

SPACE, NEWLINE, TAB = "␣", "↵", "→"
_LONGEST = 40  # of a label in a sentence or a tree; the strip shows all
_JOINERS = "\u200c\u200d"
_LONE = 0xDC00  # what Python adds to a byte that is not UTF-8
_BROKEN = re.compile("[\udc80-\udcff]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one token among its neighbours; `joined` when its last character runs on."""

    text: str
    joined: bool


def spell(pieces: Sequence[bytes]) -> list[Piece]:
    """Return the text of each piece of one byte string; a character belongs to its last byte.

    Bytes that are not UTF-8 come as lone surrogates, one each.
    """
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    ends: list[int] = []
    total = 0
    for piece in pieces:
        total += len(piece)
        ends.append(total)
    found: list[list[str]] = [[] for _ in pieces]
    joined = [False] * len(pieces)
    place = byte = 0
    for character in text:
        first = byte
        byte += 1 if _LONE <= ord(character) < 0xE000 else len(character.encode())
        while ends[place] < byte:
            joined[place] = ends[place] > first
            place += 1
        found[place].append(character)
    return [Piece("".join(part), run_on) for part, run_on in zip(found, joined, strict=True)]


def pending(data: bytes) -> bytes:
    """Return the bytes at the end of `data` that begin a character without ending it."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            need = (
                2
                if byte >> 5 == 0b110
                else 3
                if byte >> 4 == 0b1110
                else 4
                if byte >> 3 == 0b11110
                else 0
            )
            return data[-back:] if need > back else b""
    return b""


def visible(text: str, special: bool = False) -> Label:
    """Return the label of a token's text."""
    space = text.startswith(" ")
    body = text[1:] if space else text
    breaks = body.count("\n")
    if body.isprintable():
        shown = body
    else:
        legible = _BROKEN.sub(_hexadecimal, body)
        shown = "".join([_mark(character, len(body)) for character in legible])
    if shown[:1] == " " or shown[-1:] == " ":
        inner = shown.strip(" ")
        before = len(shown) - len(shown.lstrip(" "))
        shown = SPACE * before + inner + SPACE * (len(shown) - before - len(inner))
    return {"text": shown, "space": space, "special": special, "breaks": breaks}


def _hexadecimal(broken: re.Match[str]) -> str:
    return f"‹{' '.join(f'{ord(byte) - _LONE:02X}' for byte in broken[0])}›"


def _mark(character: str, size: int) -> str:
    if character == "\n":
        return NEWLINE
    if character == "\t":
        return TAB
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + code) if code < 0x20 else "␡"
    category = unicodedata.category(character)
    if category == "Cf" and character in _JOINERS and size > 1:
        return character
    if category == "Zs":
        return " " if character == " " else SPACE
    if category in ("Cc", "Cf", "Zl", "Zp", "Cs"):
        return f"‹{code:04X}›"
    return character


def shortened(label: Label, longest: int = _LONGEST) -> Label:
    """Return the label with at most `longest` characters."""
    text = label["text"]
    if len(text) <= longest:
        return label
    return {**label, "text": text[: longest - 1] + "…"}


def alone(label: Label) -> str:
    """Return how a token is written on its own: a dot for its leading space."""
    return "·" + label["text"] if label["space"] else label["text"] or "‹empty›"


def legible(text: str) -> str:
    """Return the text with a replacement character for every byte that is not UTF-8."""
    return _BROKEN.sub(lambda broken: "\ufffd" * len(broken[0]), text)


@dataclass(frozen=True, slots=True)
class Flowing:
    """A token among its neighbours; `joined` when its last character runs on into the next."""

    label: Label
    joined: bool
    text: str  # exactly what it adds to the text: nothing for a control token


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Labels of token ids. An id without bytes is shown by its number."""

    pieces: Mapping[int, bytes]
    special: frozenset[int]
    _plain: dict[int, Label] = field(default_factory=dict[int, Label])

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; control tokens add none to the text around them."""
        return b"" if token in self.special else self.pieces.get(token, b"")

    def label(self, token: int, before: bytes = b"") -> Label:
        """Return the label of `token` after the unfinished character `before`, shortened."""
        if token in self.special or token not in self.pieces:
            return self._control(token)
        if before:
            return shortened(visible(spell([before, self.pieces[token]])[-1].text))
        if token not in self._plain:
            text = self.pieces[token].decode("utf-8", "surrogateescape")
            self._plain[token] = shortened(visible(text))
        return self._plain[token]

    def _control(self, token: int) -> Label:
        known = self.pieces.get(token)
        text = f"#{token}" if known is None else known.decode("utf-8", "surrogateescape")
        return shortened(visible(text, special=True))

    def after(self, before: bytes, token: int) -> bytes:
        """Return the unfinished character at the end of the text once `token` joined it."""
        return b"" if token in self.special else pending(before + self.piece(token))

    def flow(self, tokens: Sequence[int], before: bytes = b"") -> list[Flowing]:
        """Return consecutive tokens as they stand in running text."""
        spelled = spell([before, *map(self.piece, tokens)])[1:]
        return [
            Flowing(self._control(token), False, "")
            if token in self.special or token not in self.pieces
            else Flowing(visible(piece.text), piece.joined, legible(piece.text))
            for token, piece in zip(tokens, spelled, strict=True)
        ]
