"""What makes a trace consistent: every round in itself, and the rounds as one text.

Knows no file. `core.consistency` holds the rules for a single round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec.structs import asdict

from core.consistency import round_problems
from core.consistency_common import in_range, known
from core.metrics import totals
from core.trace import SCHEMA_VERSION, Round, Trace

MAX_ROUNDS = 100_000


class TraceError(ValueError):
    """A trace, or a file that should hold one, cannot be used: one sentence says why."""


def validate(trace: Trace) -> None:
    """Raise TraceError, with the round and the column named, unless the parts fit together."""
    for problem in _problems(trace):
        raise TraceError(problem)


def validate_round(r: Round, vocabulary: Mapping[int, bytes]) -> None:
    """Raise TraceError, with the column named, unless the round fits together in itself."""
    for problem in round_problems(r, vocabulary):
        raise TraceError(problem)


def _problems(trace: Trace) -> Iterator[str]:
    """Yield what is wrong. Checks rely on earlier ones, so that only the first problem counts."""
    yield from _header(trace)
    ends: dict[int, tuple[int, int | None]] = {}
    start = (len(trace.prompt.token_ids), trace.prompt.token_ids[-1] if not trace.parent else None)
    for place, r in enumerate(trace.rounds):
        if r.index != place:
            yield f"Round {place}, index: it says {r.index}, but rounds are numbered from 0."
        if r.sequence >= trace.sequences:
            yield (
                f"Round {place}, sequence: it says {r.sequence}, but sequences 0 to "
                f"{trace.sequences - 1} exist."
            )
        for problem in round_problems(r, trace.vocabulary):
            yield f"Round {place}, {problem}"
        length, last = ends.get(r.sequence, start)
        free = trace.parent is not None and r.sequence not in ends  # a fork begins where it left
        if r.prefix_length != length and not (free and r.prefix_length > length):
            yield (
                f"Round {place}, prefix_length: it says {r.prefix_length}, but prompt and emitted "
                f"tokens so far are {length}."
            )
        if last is not None and r.nodes.token[0] != last:
            yield (
                f"Round {place}, nodes.token: node 0 is token {r.nodes.token[0]}, but the text so "
                f"far ends with token {last}."
            )
        emitted = r.outcome.emitted
        ends[r.sequence] = (r.prefix_length + len(emitted), emitted[-1] if emitted else last)
    yield from _sums(trace)


def _header(trace: Trace) -> Iterator[str]:
    if trace.schema_version != SCHEMA_VERSION:
        yield (
            f"This trace says schema version {trace.schema_version}; a trace in memory must have "
            f"version {SCHEMA_VERSION}."
        )
    if len(trace.rounds) > MAX_ROUNDS:
        yield f"This trace has {len(trace.rounds)} rounds; at most {MAX_ROUNDS} are allowed."
    if not trace.prompt.token_ids:
        yield "The prompt has no token_ids; at least one token must come before the first round."
    if trace.sequences < 1:
        yield "The trace says that it has 0 sequences; it must have at least 1."
    if not is_time(trace.created):
        yield "The field created is no time; it must be written as in 2025-01-31T12:00:00+00:00."
    if any(token < 0 for token in trace.vocabulary):
        yield "The vocabulary has a negative token id; ids are 0 or more."
    yield from known("The field special", trace.special, trace.vocabulary)
    yield from known("The prompt", trace.prompt.token_ids, trace.vocabulary)
    yield from in_range("The field sampling.temperature", [trace.sampling.temperature])
    yield from in_range("The field sampling.top_p", [trace.sampling.top_p], high=1)
    yield from in_range("The field plain_step_ms", [trace.plain_step_ms])
    for name, value in trace.config.items():
        parts = value if isinstance(value, list) else [value]
        numbers = [part for part in parts if isinstance(part, (int, float))]
        if not all(abs(number) < 2**63 for number in numbers):
            yield f"The config entry {name[:40]} holds a number that is not finite or too large."
    if trace.finish_reason == "error" and not trace.message:
        yield "The finish_reason is error, so the field message must say what went wrong."


def is_time(text: str) -> bool:
    """Return whether a text is a time as ISO 8601 writes it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _sums(trace: Trace) -> Iterator[str]:
    counted = asdict(totals(trace.rounds))
    for name, value in asdict(trace.totals).items():
        total = counted[name]
        if not abs(value - total) <= _slack(name, total):
            yield f"The field totals.{name} says {value}, but the rounds add up to {total}."


def _slack(name: str, value: float) -> float:
    """Times are rounded where they are stored, so that sums differ in the last digits."""
    return 0.5 + 1e-3 * value if name.endswith("_ms") else 0
