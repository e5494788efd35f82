"""Where a prompt comes from: the command line itself, a file, or standard input."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from app.commands.errors import UsageError

_LAST_BREAK = re.compile(r"\r?\n\Z")
MOST = 1_000_000  # bytes; far more than any model's context holds


def prompt_text(argument: str, stdin: TextIO) -> str:
    """Return the prompt that `TEXT`, `@file`, `@-` (standard input) or `@@TEXT` stands for.

    The line break that editors leave at the end of a file is not part of the prompt, and `@@` is
    how a text begins with @. Raises UsageError.
    """
    if not argument.startswith("@"):
        return argument
    if argument.startswith("@@"):
        return argument[1:]
    name = argument[1:]
    if name == "-":
        return _decoded(stdin.buffer.read(MOST + 1), "standard input")
    if not name:
        raise UsageError(
            "A prompt of @ alone names no file: write @file, or @- for standard input."
        )
    return _decoded(_read(name), name)


def _read(name: str) -> bytes:
    try:
        with Path(name).expanduser().open("rb") as file:
            return file.read(MOST + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"The prompt file {name!r} cannot be read: {reason}.") from None


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MOST:
        raise UsageError(f"The prompt in {name!r} is too long; {MOST:,} bytes are allowed.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"The prompt in {name!r} is not UTF-8 text: byte {error.start:,} does not fit."
        ) from None
    return _LAST_BREAK.sub("", text)
