"""The timeline's numbers: tokens won and time paid per round, in one unit. Draws nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from core.metrics import prompt_passes
from core.trace import Origin, Round, Trace

MOST_COLUMNS = 120  # more rounds than this are averaged in groups
DEEPEST = 12  # units


@dataclass(frozen=True, slots=True)
class Column:
    """One round, or the mean of the rounds `first` to `last`. Times in milliseconds."""

    first: int
    last: int
    accepted: float
    relaxed: float
    own: float
    origin: Origin
    draft_ms: float
    verify_ms: float

    @property
    def won(self) -> float:
        return self.accepted + self.relaxed + self.own

    @property
    def paid_ms(self) -> float:
        return self.draft_ms + self.verify_ms

    @property
    def name(self) -> str:
        return (
            f"Round {self.first}"
            if self.first == self.last
            else f"Rounds {self.first} to {self.last}"
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Milliseconds of one unit down, and whether it is the time of one plain step."""

    unit_ms: float
    plain: bool

    def units(self, milliseconds: float) -> float:
        return milliseconds / self.unit_ms


def rounds_drawn(trace: Trace) -> list[Round]:
    """Return the rounds after the prompt pass."""
    marks = prompt_passes(trace)
    return [r for r, is_prompt in zip(trace.rounds, marks, strict=True) if not is_prompt]


def columns(rounds: Sequence[Round]) -> list[Column]:
    """Return a column per round, or per group of consecutive rounds when there are too many."""
    each = [_column(r) for r in rounds]
    size = math.ceil(len(each) / MOST_COLUMNS) if len(each) > MOST_COLUMNS else 1
    if size == 1:
        return each
    return [_mean(each[start : start + size]) for start in range(0, len(each), size)]


def scale(trace: Trace, found: Sequence[Column]) -> Scale:
    """Return the unit: one plain step, or a round number of milliseconds when none was timed."""
    if trace.plain_step_ms:
        return Scale(trace.plain_step_ms, plain=True)
    longest = max((column.paid_ms for column in found), default=0.0)
    return Scale(_round_number(longest / DEEPEST), plain=False)


def _column(r: Round) -> Column:
    relaxed = sum(r.nodes.state[node] == "relaxed" for node in r.outcome.accepted)
    return Column(
        first=r.index,
        last=r.index,
        accepted=len(r.outcome.accepted) - relaxed,
        relaxed=relaxed,
        own=len(r.outcome.emitted) - len(r.outcome.accepted),
        origin=r.outcome.origin,
        draft_ms=r.cost.draft_ms,
        verify_ms=r.cost.verify_ms,
    )


def _mean(group: Sequence[Column]) -> Column:
    return Column(
        first=group[0].first,
        last=group[-1].last,
        accepted=fmean(column.accepted for column in group),
        relaxed=fmean(column.relaxed for column in group),
        own=fmean(column.own for column in group),
        origin="plain",
        draft_ms=fmean(column.draft_ms for column in group),
        verify_ms=fmean(column.verify_ms for column in group),
    )


def _round_number(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is at least `least`."""
    if least <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))
