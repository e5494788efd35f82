"""The values that options take: each function turns one word of the command line into a value.

They raise `ArgumentTypeError` with the end of a sentence; the option's name comes before it.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable

DTYPES = ("auto", "bfloat16", "float16", "float32")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")
_LONGEST = 60  # characters of a wrong word that a sentence repeats


def number(text: str) -> float:
    """Return a number; its range is the business of what it is for."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{quoted(text)} is not a number") from None


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ArgumentTypeError(f"{quoted(text)} is not a whole number") from None
        if not least <= value <= most:
            raise ArgumentTypeError(f"{quoted(text)} is out of range; it may be {least} to {most}")
        return value

    return parse


def threads(text: str) -> str:
    """Return `auto` or a number as text; how many this machine has is found out later."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise ArgumentTypeError(f"{quoted(text)} is neither auto nor a number from 1")
    return text


def device(text: str) -> str:
    """Return the name of a device; whether it exists is found out later."""
    if not _DEVICE.fullmatch(text):
        raise ArgumentTypeError(f"{quoted(text)} is no device: use auto, cpu, cuda, cuda:1 or mps")
    return text


def text(word: str) -> str:
    """Return the word; refuse bytes that are not UTF-8, which no model can read."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise ArgumentTypeError("this is not UTF-8 text") from None
    return word


def setting(word: str) -> tuple[str, str]:
    """Return the name and the value of `name=value`."""
    name, equals, value = text(word).partition("=")
    if not (name.strip() and equals):
        raise ArgumentTypeError(f"{quoted(word)} is not of the form name=value")
    return name.strip(), value


def quoted(word: str) -> str:
    """Return a word in quotes, cut when it is long."""
    return repr(word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…")
