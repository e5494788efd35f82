"""What is told of a comparison to programs: the numbers of each method."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from core.compare.comparison import Comparison
from core.compare.verdict import verdict
from core.compare.waterfall import waterfall
from core.metrics import METRICS
from core.trace import FinishReason, Trace, token_ids
from viz.compare.measured import measured

Value = str | int | float | bool | list[int | float | str] | None


class Verdict(Struct, frozen=True):
    """As `core.compare.verdict.Verdict`."""

    identical: bool
    same: int
    total: int
    ours: int | None
    theirs: int | None
    gap: float | None
    cause: str | None


class Waterfall(Struct, frozen=True):
    """Milliseconds after the prompt pass, as `core.compare.waterfall.Waterfall`."""

    plain: float
    fewer_passes: float
    wider_passes: float
    drafting: float
    rest: float
    total: float


class Compared(Struct, frozen=True):
    """One method of a comparison. What was not there to measure is None.

    `tokens_per_pass`, `speedup` (by the clock, over as many tokens of plain decoding), `wasted`
    (share of the draft tokens that were not accepted) leave the prompt pass out.
    """

    key: str
    method: str
    name: str
    lossless: bool
    config: dict[str, Value]
    finish_reason: FinishReason
    message: str | None
    text: str
    token_ids: list[int]
    verdict: Verdict
    tokens_per_pass: float | None
    speedup: float | None
    wasted: float | None
    waterfall: Waterfall | None
    metrics: dict[str, float | None]


class ComparedAll(Struct, frozen=True):
    """What `compare --json` prints."""

    prompt: str
    plain: Compared
    methods: list[Compared]


def compared_all(comparison: Comparison, keys: Sequence[str]) -> ComparedAll:
    """Return all numbers of a comparison; `keys` name the methods as its settings do."""
    plain, *others = comparison.runs
    return ComparedAll(
        plain.prompt.text,
        compared("plain", plain, plain),
        [compared(key, run, plain) for key, run in zip(keys, others, strict=False)],
    )


def compared(key: str, trace: Trace, plain: Trace) -> Compared:
    found, numbers, fall = verdict(trace, plain), measured(trace, plain), waterfall(trace, plain)
    share = numbers.share_accepted
    return Compared(
        key=key,
        method=trace.method,
        name=trace.method_name,
        lossless=trace.lossless,
        config=trace.config,
        finish_reason=trace.finish_reason,
        message=trace.message,
        text=trace.text,
        token_ids=token_ids(trace),
        verdict=Verdict(
            found.is_identical,
            found.same,
            found.total,
            found.ours,
            found.theirs,
            found.gap,
            found.cause,
        ),
        tokens_per_pass=numbers.per_pass,
        speedup=numbers.speedup,
        wasted=None if share is None else 1 - share,
        waterfall=fall
        and Waterfall(
            fall.plain,
            fall.fewer_passes,
            fall.wider_passes,
            fall.drafting,
            fall.rest,
            fall.total,
        ),
        metrics={name: metric.function(trace).value for name, metric in METRICS.items()},
    )
