"""What a race between methods needs of each round, and the modelled time of a pass."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from core.compare.waterfall import rounds_after_prompt
from core.trace import Trace

WIDE = 25  # tokens of the pass whose cost describes a machine


@dataclass(frozen=True, slots=True)
class Leg:
    """One round: milliseconds, forwards of the drafter, tokens the target scored, tokens won."""

    draft_ms: float
    verify_ms: float
    rest_ms: float
    draft_forwards: int
    target_forwards: int
    width: int
    tokens: int

    @property
    def ms(self) -> float:
        return self.draft_ms + self.verify_ms + self.rest_ms


@dataclass(frozen=True, slots=True)
class Machine:
    """What time is modelled by, in plain passes of one text: `draft`: a forward of the drafter;
    `wide`: a pass over `WIDE` tokens, 1 up to `WIDE`; `batch`: texts decoded at once.

    A pass costs the same while reading weights is what takes the time, then as much as its tokens:
    a roofline with its knee where a wide pass would have that cost. A drafter is on the same roof.
    """

    draft: float
    wide: float
    batch: int = 1

    def passes(self, width: int) -> float:
        """Return the cost of a pass over `width` tokens of each text of the batch."""
        return max(1.0, width * self.batch * self.wide / WIDE)

    def cost(self, leg: Leg) -> float:
        """Return the cost of a round. Accepting and recording are left out."""
        drafting = leg.draft_forwards * self.draft * self.passes(1)
        return drafting + leg.target_forwards * self.passes(leg.width)


def legs(trace: Trace) -> list[Leg]:
    """Return the rounds after the prompt pass."""
    return [
        Leg(
            each.cost.draft_ms,
            each.cost.verify_ms,
            each.cost.accept_ms + each.cost.record_ms,
            each.cost.draft_forwards,
            each.cost.target_forwards,
            each.cost.target_tokens,
            len(each.outcome.emitted),
        )
        for each in rounds_after_prompt(trace)
    ]


def plain_pass(plain: Sequence[Leg]) -> float | None:
    """Return the milliseconds of a plain pass: the median; None without one that took time."""
    timed = [leg.verify_ms / leg.target_forwards for leg in plain if leg.target_forwards]
    return (median(timed) or None) if timed else None


def draft_cost(lane: Sequence[Leg], plain: Sequence[Leg]) -> float | None:
    """Return what a drafter's forward cost in plain passes, as measured; None without one."""
    forwards, single = sum(leg.draft_forwards for leg in lane), plain_pass(plain)
    if not forwards or single is None:
        return None
    return math.fsum(leg.draft_ms for leg in lane if leg.draft_forwards) / forwards / single


def wide_cost(lanes: Sequence[Sequence[Leg]], plain: Sequence[Leg]) -> float | None:
    """Return what a pass over `WIDE` tokens costs in plain passes: that of the roofline that fits
    the measured passes best, by the median of each width; None where all are plain.
    """
    single = plain_pass(plain)
    found: defaultdict[int, list[float]] = defaultdict(list)
    for leg in (leg for lane in lanes for leg in lane if leg.width > 1 and leg.target_forwards):
        found[leg.width].append(leg.verify_ms / leg.target_forwards)
    if not found or single is None:
        return None
    return _fitted({w: (median(ms) / single, len(ms)) for w, ms in found.items()})


def _fitted(points: Mapping[int, tuple[float, int]]) -> float:
    """Return the `wide` of the roofline that misses the costs least in squares; `points`: width to
    cost and number of passes.
    """
    choices = [1 + step / 20 for step in range(20 * (WIDE - 1) + 1)]

    def missed(wide: float) -> float:
        machine = Machine(0.0, wide)
        return math.fsum(n * (machine.passes(w) - cost) ** 2 for w, (cost, n) in points.items())

    return min(choices, key=missed)
