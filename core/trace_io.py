"""Trace files: gzip-compressed JSON, written whole or not at all, read from anyone.

A file may come from a stranger, be cut short or be years old. `core.json_files` reads it within
`Limits`; here old versions are brought up to date and the trace is checked. Nothing but
`TraceError` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from core import json_files
from core.json_files import Document, Limits, misfit
from core.trace import SCHEMA_VERSION, Trace
from core.validate import TraceError, validate

__all__ = ["LIMITS", "MIGRATIONS", "Limits", "TraceError", "dumps", "loads", "read", "write"]

Migration = Callable[[Document], Document]

LIMITS = Limits()
_WHAT = "trace"


def _with_method_blocks(document: Document) -> Document:
    """Version 2 added `config_names` and the blocks of more methods; nothing else changed."""
    return {**document, "schema_version": 2}


# schema version n -> what turns it into version n + 1
MIGRATIONS: Mapping[int, Migration] = {1: _with_method_blocks}


def dumps(trace: Trace) -> bytes:
    """Return the trace as gzip-compressed JSON; the same trace always gives the same bytes.

    Raises TraceError when the trace is not consistent, or holds what JSON cannot.
    """
    return json_files.compressed(_encode(trace))


def write(trace: Trace, path: str | Path) -> None:
    """Write NAME.json.gz, or plain NAME.json: the old file stays until the new one is complete.

    Raises TraceError when the name ends otherwise or the file cannot be written.
    """
    json_files.check_name(path)
    json_files.save(_encode(trace), path)


def read(path: str | Path, limits: Limits = LIMITS) -> Trace:
    """Return the trace in a .json.gz or .json file. Raises TraceError."""
    return loads(json_files.contents(path, limits), limits)


def loads(data: bytes, limits: Limits = LIMITS) -> Trace:
    """Return the trace in `data`, gzip-compressed or plain JSON. Raises TraceError."""
    return built(json_files.document(data, limits, _WHAT))


def built(document: Document) -> Trace:
    """Return the trace that a decoded file holds, of whatever version. Raises TraceError."""
    try:
        trace = msgspec.convert(migrate(document), Trace, str_keys=True)
    except msgspec.ValidationError as error:
        raise TraceError(misfit(error, _WHAT)) from error
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
        instead = "; it compares several runs" if "comparison_version" in document else ""
        raise TraceError(f"This file has no schema_version, so it is no trace{instead}.")
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


def ordered(trace: Trace) -> Trace:
    """Return the trace as it is written: checked, and its vocabulary in the order of the ids."""
    validate(trace)
    return msgspec.structs.replace(trace, vocabulary=dict(sorted(trace.vocabulary.items())))


def _encode(trace: Trace) -> bytes:
    return json_files.encoded(ordered(trace), _WHAT)
