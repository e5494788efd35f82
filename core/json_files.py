"""Files of gzip-compressed JSON: written whole or not at all, read from anyone.

A file may come from a stranger or be cut short. The reader works within `Limits`, measures before
it builds, and raises nothing but `TraceError`. Knows no field of what the files hold; `what` is the
word for it in a sentence.
"""

from __future__ import annotations

import gzip
import secrets
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import msgspec

from core.validate import TraceError

MIB = 2**20

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Document = dict[str, Json]

_GZIP = b"\x1f\x8b"  # how gzip data begins


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be, so that a hostile one costs bounded memory and time."""

    file_bytes: int = 64 * MIB
    inflated_bytes: int = 256 * MIB
    ratio: int = 200  # inflated over compressed, once the text exceeds 1 MiB
    values: int = 10_000_000  # numbers, strings, lists and blocks together
    depth: int = 32


def compressed(text: bytes) -> bytes:
    """Return gzip data; the same text always gives the same bytes."""
    return gzip.compress(text, compresslevel=6, mtime=0)  # 9 takes three times as long


def encoded(value: msgspec.Struct, what: str) -> bytes:
    """Return a value as JSON; raise TraceError where it holds what JSON cannot."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError) as error:  # a foreign number type, a lone surrogate
        raise TraceError(f"The {what} cannot be written as JSON: {error}.") from error


def save(text: bytes, path: str | Path) -> None:
    """Write NAME.json.gz, or plain NAME.json: the old file stays until the new one is complete.

    Raises TraceError when the file cannot be written; see `check_name`.
    """
    path = Path(path)
    data = text if path.suffix == ".json" else compressed(text)
    unfinished = path.with_name(f".{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def check_name(path: str | Path) -> None:
    """Raise TraceError where a file's name does not say its format."""
    name = Path(path).name
    if not name.endswith((".json", ".json.gz")):
        raise TraceError(f"The file name is {name}; it must end with .json.gz or .json.")


def contents(path: str | Path, limits: Limits) -> bytes:
    """Return a file's bytes, at most one more than are allowed. Raises TraceError."""
    path = Path(path)
    if not path.exists() or path.is_dir():
        raise TraceError(f"There is no file {path.name}.")
    try:
        with path.open("rb") as file:
            return file.read(limits.file_bytes + 1)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from error


def document(data: bytes, limits: Limits, what: str) -> Document:
    """Return the JSON object in `data`, gzip-compressed or plain. Raises TraceError."""
    if not data:
        raise TraceError(f"The file is empty; a {what} is a .json.gz or .json file.")
    if len(data) > limits.file_bytes:
        raise TraceError(f"The file is too large; {limits.file_bytes // MIB} MiB are allowed.")
    text = _inflate(data, limits, what) if data.startswith(_GZIP) else data
    if text.startswith(_GZIP):
        raise TraceError(f"The file is compressed twice; a {what} is compressed once.")
    return _parse(text.removeprefix(b"\xef\xbb\xbf"), limits, what)


def misfit(error: Exception, what: str) -> str:
    """Say in one sentence where a file does not have the fields that it should have."""
    reason, _, place = _short(error).replace("`", "").partition(" - at ")
    where = place.replace("$.", "").replace("$", "the top")
    return f"The file is no {what} of this version: {reason}" + (f", at {where}." if where else ".")


def _inflate(data: bytes, limits: Limits, what: str) -> bytes:
    most = min(limits.inflated_bytes, max(MIB, limits.ratio * len(data)))
    inflater = zlib.decompressobj(wbits=31)
    try:
        text = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise TraceError("The file is damaged: its gzip data cannot be unpacked.") from error
    if len(text) > most:
        raise TraceError(
            f"The file unpacks to more than {most // MIB} MiB; {limits.inflated_bytes // MIB} MiB "
            f"and {limits.ratio} times its own size are allowed."
        )
    if not inflater.eof:
        raise TraceError("The file is cut short: its gzip data has no end.")
    if inflater.unused_data:
        raise TraceError(
            f"The file goes on for {len(inflater.unused_data)} bytes after its gzip data; a {what} "
            f"ends there."
        )
    return text


def _parse(text: bytes, limits: Limits, what: str) -> Document:
    """Return the JSON object in `text`, within the limits and without a name twice in one block."""
    named = _measure(text, limits, what)
    try:
        document: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"The file is no JSON, or damaged: {_short(error)}.") from error
    if not isinstance(document, dict):
        raise TraceError(f"The file holds JSON, but no {what}: a {what} is one JSON object.")
    if _named(document) != named:
        raise TraceError("The file is damaged: a block in it gives one name twice.")
    return document


def _measure(text: bytes, limits: Limits, what: str) -> int:
    """Return the number of name-value pairs; raise TraceError for what is too deep or too much."""
    depth = deepest = values = named = 0
    for part in _outside_strings(text):
        if b"NaN" in part or b"Infinity" in part:
            raise TraceError(
                "The file holds NaN or Infinity, which JSON lacks; null means no number."
            )
        brackets = part.translate(_STEP, _NO_BRACKET)
        depths = list(accumulate(brackets, lambda d, step: d + step - 1, initial=depth))
        depth, deepest = depths[-1], max(deepest, max(depths))
        named += part.count(b":")
        values += part.count(b",") + len(brackets)
        if deepest > limits.depth:
            raise TraceError(
                f"The file nests deeper than a {what} does; {limits.depth} levels are allowed."
            )
        if values > limits.values:
            raise TraceError(f"The file holds too much; {limits.values} values are allowed.")
    return named


_STEP = bytes.maketrans(b"[{]}", b"\2\2\0\0")  # opens: 2, closes: 0, each minus one
_NO_BRACKET = bytes(set(range(256)) - set(b"[{]}"))


def _outside_strings(text: bytes) -> Iterator[bytes]:
    """Yield `text` in parts, without what stands between quotation marks."""
    inside, rest = 0, b""
    for start in range(0, len(text), MIB):
        part = rest + text[start : start + MIB]
        odd = (len(part) - len(part.rstrip(b"\\"))) % 2  # an escape goes on in the next part
        part, rest = part[: len(part) - odd], part[len(part) - odd :]
        pieces = part.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(pieces[inside::2])
        inside = (inside + len(pieces) - 1) % 2


def _named(document: Json) -> int:
    """Return the number of name-value pairs in all blocks."""
    count, waiting = 0, [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            count += len(item)
            waiting.extend(value for value in item.values() if isinstance(value, (dict, list)))
        elif isinstance(item, list):
            waiting.extend(value for value in item if isinstance(value, (dict, list)))
    return count


def _short(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 200 else text[:200] + "..."
