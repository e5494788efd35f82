"""Prompt files: one prompt per line, or one JSON object per line in a .jsonl file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.commands.arguments import MOST_PROMPTS
from app.commands.errors import UsageError

MOST_BYTES = 8_000_000
_LONGEST = 60  # characters of a category


@dataclass(frozen=True, slots=True)
class Line:
    """One prompt; `category` is empty where the file names none."""

    prompt: str
    category: str = ""


class _Entry(msgspec.Struct):
    """What a line of a .jsonl file must hold; other names are none of our business."""

    prompt: str
    category: str = ""


def read_prompts(name: str, limit: int | None = None) -> list[Line]:
    """Return the prompts of a file, empty lines left out, at most `limit` of them.

    Raises UsageError with the line that will not do.
    """
    text = _text(name)
    is_json = name.endswith(".jsonl")
    lines: list[Line] = []
    for number, words in enumerate(text.split("\n"), start=1):
        if not words.strip() or (limit is not None and len(lines) == limit):
            continue
        if len(lines) == MOST_PROMPTS:
            raise UsageError(
                f"{name!r} has more than {MOST_PROMPTS:,} prompts: take some of them with --limit."
            )
        lines.append(_entry(words, number) if is_json else Line(words.strip()))
    if not lines:
        raise UsageError(f"There is no prompt in {name!r}.")
    return lines


def _entry(words: str, number: int) -> Line:
    try:
        found = msgspec.json.decode(words, type=_Entry)
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(
            f'Line {number} is not of the form {{"prompt": "...", "category": "..."}}.'
        ) from None
    if not found.prompt.strip():
        raise UsageError(f"The prompt on line {number} is empty.")
    if len(found.category) > _LONGEST:
        raise UsageError(
            f"The category on line {number} has {len(found.category)} characters; {_LONGEST} are "
            f"allowed."
        )
    if not found.category.isprintable():
        raise UsageError(f"The category on line {number} holds a character that cannot be shown.")
    return Line(found.prompt, found.category)


def _text(name: str) -> str:
    try:
        with Path(name).expanduser().open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"The prompt file {name!r} cannot be read: {reason}.") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{name!r} is too long; {MOST_BYTES:,} bytes are allowed.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name!r} is not UTF-8 text: byte {error.start:,} does not fit."
        ) from None
