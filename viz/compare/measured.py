"""What a record comes to beside plain decoding: the numbers that finding and table are made of.

All counts and times are of the rounds after the prompt pass, which every method pays alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.compare.waterfall import rounds_after_prompt, spent, waterfall
from core.metrics import acceptance_rate
from core.trace import Trace
from viz.compare.entry import Entry

ENOUGH = 4  # tokens after the prompt pass from which on a pace is told


@dataclass(frozen=True, slots=True)
class Measured:
    """`ms`: drafting, verifying, accepting, recording. `speedup`: by the clock over as many tokens
    of plain decoding, `plain_ms`; None where either was not timed over `ENOUGH` tokens.
    """

    tokens: int
    passes: int
    draft_passes: int
    drafted: int
    accepted: int
    acceptance: float | None  # as `core.metrics.acceptance_rate`
    ms: float
    plain_ms: float | None
    speedup: float | None

    @property
    def per_pass(self) -> float | None:
        return self.tokens / self.passes if self.passes else None

    @property
    def per_token(self) -> float | None:
        return self.ms / self.tokens if self.tokens else None

    @property
    def share_accepted(self) -> float | None:
        return self.accepted / self.drafted if self.drafted else None


def measured(trace: Trace, plain: Trace | None) -> Measured:
    """Return the numbers of a record, with those of plain decoding as the measure of its time."""
    rounds = rounds_after_prompt(trace)
    tokens = sum(len(r.outcome.emitted) for r in rounds)
    found = None if plain is None else waterfall(trace, plain)
    if not (has_pace(plain) and tokens >= ENOUGH and found and found.total > 0):
        found = None
    return Measured(
        tokens=tokens,
        passes=sum(r.cost.target_forwards for r in rounds),
        draft_passes=sum(r.cost.draft_forwards for r in rounds),
        drafted=sum(r.drafted for r in rounds),
        accepted=sum(len(r.outcome.accepted) for r in rounds),
        acceptance=acceptance_rate(trace).value,
        ms=math.fsum(spent(r.cost) for r in rounds),
        plain_ms=found and found.plain,
        speedup=found and found.speedup,
    )


def measured_all(entries: Sequence[Entry]) -> list[Measured | None]:
    """Return the numbers of each method, None where there is no record yet."""
    plain = entries[0].trace if entries else None
    return [None if each.trace is None else measured(each.trace, plain) for each in entries]


def has_pace(plain: Trace | None) -> bool:
    """Return whether plain decoding was timed over enough tokens to be a measure."""
    if plain is None:
        return False
    rounds = rounds_after_prompt(plain)
    tokens = sum(len(r.outcome.emitted) for r in rounds)
    return tokens >= ENOUGH and any(spent(r.cost) > 0 for r in rounds)
