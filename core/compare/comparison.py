"""Runs of several methods on one prompt, as one file: the first is plain decoding.

Plain data, like the traces it holds; its files are read and written by `core.compare.files`.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.fields import Index, Record
from core.trace import Trace

COMPARISON_VERSION = 1
MOST = 12  # runs beside plain decoding


class Comparison(Record, frozen=True, kw_only=True):
    """`runs[0]` is plain decoding, the reference; prompt, target, law and seed are the same."""

    comparison_version: Index = COMPARISON_VERSION
    created: str  # UTC, ISO 8601
    title: str | None = None
    runs: list[Trace]


def refusal(runs: Sequence[Trace]) -> str | None:
    """Return one sentence on why runs cannot be compared, None where they can."""
    if not 2 <= len(runs) <= MOST + 1:
        return (
            f"A comparison has plain decoding and 1 to {MOST} methods; here are {len(runs)} runs."
        )
    plain = runs[0]
    if plain.method != "plain":
        return f"The first run of a comparison is plain decoding; here it is {plain.method_name}."
    for run in runs[1:]:
        for what, ours, theirs in (
            ("prompt", run.prompt.token_ids, plain.prompt.token_ids),
            ("target", run.models.target, plain.models.target),
            ("sampling", run.sampling, plain.sampling),
        ):
            if ours != theirs:
                return f"Runs are compared on one {what}; that of {run.method_name} is another."
    if any(run.sequences != 1 for run in runs):
        return "Runs of several sequences cannot be compared."
    return None
