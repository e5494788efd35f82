"""The columns of the table: what each number is, how it is written, whether less is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.metrics import METRICS
from viz.compare.measured import Measured
from viz.numbers import milliseconds, percent


@dataclass(frozen=True, slots=True)
class Figure:
    """What a column shows of a method. `sums`: it grows with the length of the text."""

    key: str
    label: str
    definition: str
    falls: bool
    value: Callable[[Measured], float | None]
    write: Callable[[float], str]
    sums: bool = True
    ranked: bool = True


def _defined(metric: str) -> str:
    return " ".join(METRICS[metric].definition.split())


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _per_token(value: float) -> str:
    return f"{value:,.1f} ms"


_AFTER = "the prompt pass left out."
_TIME = Figure(
    "time",
    "time",
    "Milliseconds of drafting, verifying, accepting and recording, in one run, " + _AFTER,
    True,
    lambda m: m.ms if m.tokens else None,
    milliseconds,
)
_UNEVEN = (
    Figure(
        "time",
        "time per token",
        "Milliseconds of drafting, verifying, accepting and recording over tokens emitted, in one "
        "run, " + _AFTER,
        True,
        lambda m: m.per_token,
        _per_token,
        sums=False,
    ),
    replace(_TIME, key="total", label="time in all"),
    Figure(
        "tokens",
        "tokens",
        "Tokens emitted, " + _AFTER,
        False,
        lambda m: m.tokens,
        _whole,
        ranked=False,
    ),
)
_PASSES = (
    Figure(
        "per_pass",
        "tokens per target pass",
        _defined("tokens_per_pass_decoding"),
        False,
        lambda m: m.per_pass,
        lambda value: f"{value:.2f}",
        sums=False,
    ),
    Figure(
        "passes",
        "target passes",
        "Forward passes of the target, " + _AFTER,
        True,
        lambda m: m.passes if m.tokens else None,
        _whole,
    ),
    Figure(
        "forwards",
        "draft passes",
        "Forward passes of what drafts, " + _AFTER,
        True,
        lambda m: m.draft_passes if m.drafted else None,
        _whole,
    ),
    Figure(
        "drafted",
        "tokens drafted",
        "Draft tokens offered to the target, tested or not.",
        True,
        lambda m: m.drafted or None,
        _whole,
        ranked=False,
    ),
    Figure(
        "accepted",
        "of these accepted",
        _defined("draft_efficiency"),
        False,
        lambda m: m.share_accepted,
        percent,
        sums=False,
    ),
    Figure(
        "wasted",
        "thrown away",
        "Draft tokens offered and not accepted.",
        True,
        lambda m: m.drafted - m.accepted if m.drafted else None,
        _whole,
    ),
)


def figures_of(level: bool) -> list[Figure]:
    """Return the columns, that of the time first: per token where texts differ in length."""
    return [_TIME, *_PASSES] if level else [*_UNEVEN, *_PASSES]
