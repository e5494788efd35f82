"""From plain decoding's time to a method's: where it was won and where it went."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from core.metrics import prompt_passes
from core.trace import Cost, Round, Trace


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Milliseconds after the prompt pass, recording included; `total` is the sum of the others.

    `plain`: as many tokens one by one, at plain decoding's pace of this comparison. `fewer_passes`:
    what the passes cost that were not needed, 0 or less. `wider_passes`: what the others cost more
    than a plain pass, `drafting` all of it; `rest`: accepting and recording, beyond what a plain
    step pays for that.

    `wasted`: share of the draft tokens that were not accepted, None where nothing was drafted.
    """

    plain: float
    fewer_passes: float
    wider_passes: float
    drafting: float
    rest: float
    total: float
    wasted: float | None

    @property
    def speedup(self) -> float | None:
        return self.plain / self.total if self.total else None


def waterfall(trace: Trace, plain: Trace) -> Waterfall | None:
    """Return a method's waterfall; None where either wrote nothing after its prompt pass."""
    ours, theirs = rounds_after_prompt(trace), rounds_after_prompt(plain)
    tokens = sum(len(r.outcome.emitted) for r in ours)
    steps = sum(len(r.outcome.emitted) for r in theirs)
    if not tokens or not steps:
        return None
    verify = _sum(theirs, lambda c: c.verify_ms) / steps
    rest = _sum(theirs, lambda c: c.accept_ms + c.record_ms + c.draft_ms) / steps
    step = verify + rest
    passes = sum(r.cost.target_forwards for r in ours)
    drafted = sum(r.drafted for r in ours)
    accepted = sum(len(r.outcome.accepted) for r in ours)
    return Waterfall(
        plain=tokens * step,
        fewer_passes=(passes - tokens) * step,
        wider_passes=_sum(ours, lambda c: c.verify_ms) - passes * verify,
        drafting=_sum(ours, lambda c: c.draft_ms),
        rest=_sum(ours, lambda c: c.accept_ms + c.record_ms) - passes * rest,
        total=_sum(ours, spent),
        wasted=1 - accepted / drafted if drafted else None,
    )


def rounds_after_prompt(trace: Trace) -> list[Round]:
    """Return the rounds without those that only read the prompt."""
    marked = zip(trace.rounds, prompt_passes(trace), strict=True)
    return [each for each, is_prompt in marked if not is_prompt]


def spent(cost: Cost) -> float:
    """Return all of a round's milliseconds, recording included."""
    return cost.draft_ms + cost.verify_ms + cost.accept_ms + cost.record_ms


def _sum(rounds: list[Round], part: Callable[[Cost], float]) -> float:
    return math.fsum(part(each.cost) for each in rounds)
