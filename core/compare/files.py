"""Comparison files: the traces of several runs in one gzip-compressed JSON file.

Each run is read as a trace file is: any version, within limits, checked. What else must hold for
the runs to be compared is `core.compare.comparison.refusal`. Nothing but `TraceError` is raised.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from core import json_files
from core.compare.comparison import COMPARISON_VERSION, Comparison, refusal
from core.json_files import Document, Json, Limits
from core.trace import Trace
from core.trace_io import LIMITS as TRACE_LIMITS
from core.trace_io import built, ordered
from core.validate import TraceError, is_time

__all__ = ["LIMITS", "TraceError", "check", "dumps", "loads", "read", "write"]

LIMITS = replace(TRACE_LIMITS, depth=TRACE_LIMITS.depth + 2)  # a trace in a list in a block
_WHAT = "comparison"


def check(comparison: Comparison) -> None:
    """Raise TraceError unless the runs can be compared."""
    if comparison.comparison_version != COMPARISON_VERSION:
        raise TraceError(
            f"This comparison says version {comparison.comparison_version}; one in memory must "
            f"have version {COMPARISON_VERSION}."
        )
    if not is_time(comparison.created):
        raise TraceError(
            "The comparison's field created is no time; it must be written as in "
            "2025-01-31T12:00:00+00:00."
        )
    if told := refusal(comparison.runs):
        raise TraceError(told)


def dumps(comparison: Comparison) -> bytes:
    """Return the comparison as gzip-compressed JSON; the same one always gives the same bytes.

    Raises TraceError when its runs are not consistent or cannot be compared.
    """
    return json_files.compressed(_encode(comparison))


def write(comparison: Comparison, path: str | Path) -> None:
    """Write NAME.json.gz, or plain NAME.json: the old file stays until the new one is complete.

    Raises TraceError when the name ends otherwise or the file cannot be written.
    """
    json_files.check_name(path)
    json_files.save(_encode(comparison), path)


def read(path: str | Path, limits: Limits = LIMITS) -> Comparison:
    """Return the comparison in a .json.gz or .json file. Raises TraceError."""
    return loads(json_files.contents(path, limits), limits)


def loads(data: bytes, limits: Limits = LIMITS) -> Comparison:
    """Return the comparison in `data`, gzip-compressed or plain JSON. Raises TraceError."""
    document = json_files.document(data, limits, _WHAT)
    _check_version(document)
    runs = document.get("runs")
    if not isinstance(runs, list):
        raise TraceError("The comparison has no list of runs.")
    head = {key: value for key, value in document.items() if key != "runs"}
    try:
        comparison = msgspec.convert({**head, "runs": []}, Comparison)
    except msgspec.ValidationError as error:
        raise TraceError(json_files.misfit(error, _WHAT)) from error
    traces = [_run(place, run) for place, run in enumerate(runs)]
    comparison = msgspec.structs.replace(comparison, runs=traces)
    check(comparison)
    return comparison


def _check_version(document: Document) -> None:
    version = document.get("comparison_version")
    if "comparison_version" not in document:
        instead = "; it is the trace of one run" if "schema_version" in document else ""
        raise TraceError(f"This file has no comparison_version, so it is no comparison{instead}.")
    if not isinstance(version, int) or isinstance(version, bool):
        raise TraceError(
            "This file's comparison_version is no whole number, so it is no comparison."
        )
    if version != COMPARISON_VERSION:
        newer = ": a newer Draftscope wrote it" if version > COMPARISON_VERSION else ""
        raise TraceError(
            f"This file has comparison version {str(version)[:20]}{newer}; this program reads "
            f"version {COMPARISON_VERSION}."
        )


def _run(place: int, run: Json) -> Trace:
    if not isinstance(run, dict):
        raise TraceError(f"Run {place} of the comparison is no trace: a trace is one JSON object.")
    try:
        return built(run)
    except TraceError as error:
        raise TraceError(f"Run {place} of the comparison: {error}") from error


def _encode(comparison: Comparison) -> bytes:
    check(comparison)
    runs = [ordered(run) for run in comparison.runs]
    return json_files.encoded(msgspec.structs.replace(comparison, runs=runs), _WHAT)
