"""What goes to a terminal: text without control characters, JSON in any encoding, progress.

Knows no trace and no model.
"""

from __future__ import annotations

import json
import shutil
import unicodedata
from types import TracebackType
from typing import TextIO

import msgspec

_KEPT = "\n\t\u200c\u200d"  # the last two join letters and emoji
_CLEAR = "\r\x1b[2K"  # to the start of the line, and erase it


def print_json(value: object, stream: TextIO) -> None:
    """Print one JSON value on one line; msgspec structs become objects."""
    is_utf8 = (stream.encoding or "").lower().replace("-", "").startswith("utf8")
    plain = msgspec.to_builtins(value, str_keys=True)
    stream.write(json.dumps(plain, ensure_ascii=not is_utf8, allow_nan=False) + "\n")


def printable(text: str, stream: TextIO) -> str:
    """Return `text` as `stream` may show it.

    On a terminal, what could move the cursor, change colours or turn the direction of writing
    becomes a mark such as `‹1B›`; a file gets the text as it is. Characters that the stream's
    encoding lacks become escapes.
    """
    if stream.isatty() and not text.isprintable():
        text = "".join(map(_mark, text))
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _mark(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return f"‹{ord(character):02X}›"


class Progress:
    """A line that is written over, on a terminal; elsewhere each new sentence on a line of its own.

    Call it as `core.models.sources.Progress`: done, in all (0 while unknown), sentence.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def __call__(self, done: int, total: int, sentence: str) -> None:
        on_terminal = self._stream.isatty()
        share = f": {100 * done // total} %" if on_terminal and total else ""
        line = f"{sentence.rstrip('.')}{share}"
        if line == self._shown:
            return
        self._shown = line
        if on_terminal:
            width = max(20, shutil.get_terminal_size().columns - 1)
            self._stream.write(_CLEAR + printable(line.replace("\n", " "), self._stream)[:width])
        else:
            self._stream.write(printable(line, self._stream) + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown and self._stream.isatty():
            self._stream.write(_CLEAR)
            self._stream.flush()
        self._shown = ""
