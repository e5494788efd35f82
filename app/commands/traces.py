"""Trace files as commands name them. Reading imports no torch."""

from __future__ import annotations

import os
from pathlib import Path

from app.commands.errors import UsageError
from core.trace import Trace
from core.trace_io import read

_LONGEST = 255  # bytes of a file name, on every usual disk
SUFFIXES = (".json.gz", ".json")


def open_trace(name: str) -> Trace:
    """Return the trace in a file.

    Raises UsageError where there is none, TraceError where it is damaged.
    """
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name!r} is a folder; a trace is a .json.gz or .json file.")
    if not path.exists():
        raise UsageError(f"There is no file {name!r}.")
    return read(path)


def target_path(name: str, suffixes: tuple[str, ...]) -> Path:
    """Return the path of a file to write; raise UsageError where name or folder is wrong."""
    path = Path(name)
    if len(path.name.encode()) > _LONGEST:
        raise UsageError(f"The file name is longer than {_LONGEST} bytes.")
    if not path.name.endswith(suffixes) or path.name in suffixes:
        raise UsageError(f"The file name {name!r} must end with {' or '.join(suffixes)}.")
    if path.is_dir():
        raise UsageError(f"{name!r} is a folder; name a file.")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {str(path.parent)!r} to write to.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"The folder {str(path.parent)!r} cannot be written to.")
    return path
