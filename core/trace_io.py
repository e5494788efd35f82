"""Trace files: gzip-compressed JSON, written whole or not at all, read from anyone.

A file may come from a stranger, be cut short or be years old. The reader works within `Limits`,
measures before it builds, brings old versions up to date and raises nothing but `TraceError`.
"""

from __future__ import annotations

import gzip
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import msgspec

from core.trace import SCHEMA_VERSION, Trace
from core.validate import TraceError, validate

__all__ = ["LIMITS", "MIGRATIONS", "Limits", "TraceError", "dumps", "loads", "read", "write"]

MIB = 2**20

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Document = dict[str, Json]
Migration = Callable[[Document], Document]

_GZIP = b"\x1f\x8b"  # how gzip data begins


def _with_method_blocks(document: Document) -> Document:
    """Version 2 added `config_names` and the blocks of more methods; nothing else changed."""
    return {**document, "schema_version": 2}


# schema version n -> what turns it into version n + 1
MIGRATIONS: Mapping[int, Migration] = {1: _with_method_blocks}


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be, so that a hostile one costs bounded memory and time."""

    file_bytes: int = 64 * MIB
    inflated_bytes: int = 256 * MIB
    ratio: int = 200  # inflated over compressed, once the text exceeds 1 MiB
    values: int = 10_000_000  # numbers, strings, lists and blocks together
    depth: int = 32


LIMITS = Limits()


def dumps(trace: Trace) -> bytes:
    """Return the trace as gzip-compressed JSON; the same trace always gives the same bytes.

    Raises TraceError when the trace is not consistent, or holds what JSON cannot.
    """
    return gzip.compress(_encode(trace), compresslevel=6, mtime=0)  # 9 takes three times as long


def write(trace: Trace, path: str | Path) -> None:
    """Write NAME.json.gz, or plain NAME.json: the old file stays until the new one is complete.

    Raises TraceError when the name ends otherwise or the file cannot be written.
    """
    path = Path(path)
    if not path.name.endswith((".json", ".json.gz")):
        raise TraceError(f"The file name is {path.name}; it must end with .json.gz or .json.")
    data = _encode(trace) if path.suffix == ".json" else dumps(trace)
    unfinished = path.with_name(f".{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def read(path: str | Path, limits: Limits = LIMITS) -> Trace:
    """Return the trace in a .json.gz or .json file. Raises TraceError."""
    path = Path(path)
    if not path.exists() or path.is_dir():
        raise TraceError(f"There is no file {path.name}.")
    try:
        with path.open("rb") as file:
            data = file.read(limits.file_bytes + 1)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from error
    return loads(data, limits)


def loads(data: bytes, limits: Limits = LIMITS) -> Trace:
    """Return the trace in `data`, gzip-compressed or plain JSON. Raises TraceError."""
    if not data:
        raise TraceError("The file is empty; a trace is a .json.gz or .json file.")
    if len(data) > limits.file_bytes:
        raise TraceError(f"The file is too large; {limits.file_bytes // MIB} MiB are allowed.")
    text = _inflate(data, limits) if data.startswith(_GZIP) else data
    if text.startswith(_GZIP):
        raise TraceError("The file is compressed twice; a trace is compressed once.")
    document = migrate(_parse(text.removeprefix(b"\xef\xbb\xbf"), limits))
    try:
        trace = msgspec.convert(document, Trace, str_keys=True)
    except msgspec.ValidationError as error:
        raise TraceError(_misfit(error)) from error
    validate(trace)
    return trace


def migrate(
    document: Document,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    newest: int = SCHEMA_VERSION,
) -> Document:
    """Bring a decoded file to version `newest`, one version at a time.

    A migration may count on nothing in `document` but its version, and raises TraceError where it
    cannot go on.
    """
    version = document.get("schema_version")
    if "schema_version" not in document:
        raise TraceError("This file has no schema_version, so it is no trace.")
    if not isinstance(version, int):
        raise TraceError("This file's schema_version is no whole number, so it is no trace.")
    oldest = newest
    while oldest - 1 in migrations:
        oldest -= 1
    if not oldest <= version <= newest:
        known = f"version {newest}" if oldest == newest else f"versions {oldest} to {newest}"
        newer = ": a newer Draftscope wrote it" if version > newest else ""
        raise TraceError(
            f"This file has schema version {version}{newer}; this program reads {known}."
        )
    for step in range(version, newest):
        document = migrations[step](document)
    return document


def _encode(trace: Trace) -> bytes:
    validate(trace)
    vocabulary = dict(sorted(trace.vocabulary.items()))
    try:
        return msgspec.json.encode(msgspec.structs.replace(trace, vocabulary=vocabulary))
    except (TypeError, ValueError) as error:  # a foreign number type, a lone surrogate
        raise TraceError(f"The trace cannot be written as JSON: {error}.") from error


def _inflate(data: bytes, limits: Limits) -> bytes:
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
            f"The file goes on for {len(inflater.unused_data)} bytes after its gzip data; a trace "
            f"ends there."
        )
    return text


def _parse(text: bytes, limits: Limits) -> Document:
    """Return the JSON object in `text`, within the limits and without a name twice in one block."""
    named = _measure(text, limits)
    try:
        document: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"The file is no JSON, or damaged: {_short(error)}.") from error
    if not isinstance(document, dict):
        raise TraceError("The file holds JSON, but no trace: a trace is one JSON object.")
    if _named(document) != named:
        raise TraceError("The file is damaged: a block in it gives one name twice.")
    return document


def _measure(text: bytes, limits: Limits) -> int:
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
                f"The file nests deeper than a trace does; {limits.depth} levels are allowed."
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


def _misfit(error: Exception) -> str:
    """Say in one sentence where a file does not have the fields that a trace has."""
    reason, _, place = _short(error).replace("`", "").partition(" - at ")
    where = place.replace("$.", "").replace("$", "the top")
    return f"The file is no trace of this version: {reason}" + (f", at {where}." if where else ".")


def _short(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 200 else text[:200] + "..."
