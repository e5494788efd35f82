"""What is told of methods over many prompts: numbers per prompt, and their medians."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from app.commands.compared import Value, compared
from core.compare.medians import median_of
from core.trace import Trace


class Interval(Struct, frozen=True):
    """A median over prompts; `low` and `high` are None under six prompts."""

    median: float
    low: float | None
    high: float | None
    prompts: int


class Middle(Struct, frozen=True):
    """One method over several prompts. `identical`: texts equal to plain decoding's, of `prompts`
    that did not fail.
    """

    prompts: int
    identical: int
    tokens_per_pass: Interval | None
    speedup: Interval | None
    wasted: Interval | None


class Benched(Struct, frozen=True):
    """One method of a prompt file."""

    key: str
    name: str
    lossless: bool
    config: dict[str, Value]
    all: Middle
    categories: dict[str, Middle]


class Scored(Struct, frozen=True):
    """One prompt with one method."""

    prompt: int  # place in the file, from 0
    category: str
    key: str
    tokens: int
    tokens_per_pass: float | None
    speedup: float | None
    wasted: float | None
    identical: bool
    cause: str | None


class Failure(Struct, frozen=True):
    """A prompt that a method, or plain decoding, could not finish."""

    prompt: int
    key: str
    message: str


class About(Struct, frozen=True):
    """What the numbers were measured on."""

    model: str
    device: str
    dtype: str
    processor: str
    threads: int
    temperature: float
    seed: int
    max_new_tokens: int


class BenchedAll(Struct, frozen=True):
    """What `bench --json` prints. `about` is None where no prompt was finished."""

    about: About | None
    methods: list[Benched]
    failures: list[Failure]
    prompts: list[Scored]


def scored(place: int, category: str, key: str, trace: Trace, plain: Trace) -> Scored:
    found = compared(key, trace, plain)
    return Scored(
        place,
        category,
        key,
        found.verdict.total,
        found.tokens_per_pass,
        found.speedup,
        found.wasted,
        found.verdict.identical,
        found.verdict.cause,
    )


def middle(rows: Sequence[Scored]) -> Middle:
    """Return medians over prompts, each of those for which there is a number."""
    return Middle(
        len(rows),
        sum(row.identical for row in rows),
        _interval(row.tokens_per_pass for row in rows),
        _interval(row.speedup for row in rows),
        _interval(row.wasted for row in rows),
    )


def about(trace: Trace) -> About:
    target, sampling = trace.models.target, trace.sampling
    return About(
        target.id,
        target.device,
        target.dtype,
        trace.environment.processor,
        trace.environment.threads,
        sampling.temperature,
        sampling.seed,
        sampling.max_new_tokens,
    )


def _interval(numbers: Iterable[float | None]) -> Interval | None:
    found = median_of([number for number in numbers if number is not None])
    return found and Interval(found.value, found.low, found.high, found.count)
