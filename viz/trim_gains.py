"""What a cut of the draft vocabulary is worth: memory-bound speed-ups from the rounds of a run.

The measure is VocabTrim's (Goel et al., arXiv 2506.22694). Knows no chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import TrimExtras
from core.trace import Round
from viz.reading import Reading

_LEAST = 64  # tokens from which speed-ups are shown
_SO_FAR = 256  # rounds that are counted


@dataclass(frozen=True, slots=True)
class Gains:
    """Memory-bound speed-ups: tokens per target call over c gamma + 1, c the drafter's parameters
    in units of the target's, gamma drafted tokens.

    `inside`: how often a draft stays where the target's token has a row; `rounds` drafted so far,
    which wrote `wrote` tokens each with `drafted` each.
    """

    inside: float
    wrote: float
    drafted: float
    rounds: int
    ranks: Sequence[int]
    modelled: Sequence[float]
    own: float

    @property
    def best(self) -> int:
        """Return the place of the largest speed-up among the ranks."""
        return max(range(len(self.ranks)), key=self.modelled.__getitem__)


def trim_block(r: Round) -> TrimExtras | None:
    """Return a round's record of its draft vocabulary."""
    return next((extra for extra in r.extras if isinstance(extra, TrimExtras)), None)


def gains(reading: Reading, extra: TrimExtras) -> Gains | None:
    """Return what any cut would be worth at the acceptance of the rounds so far; None where sizes
    are not known or nothing was tested.

    A draft stays if its token has a row, and the drafter is right as often as it was inside. That
    it is right less often where it may name more is left out, as it is in the paper's measure.
    """
    end = reading.round.index + 1
    recent = reading.trace.rounds[max(0, end - _SO_FAR) : end]
    rounds = [(r, block) for r in recent if (block := trim_block(r)) and r.checks]
    tried = sum(_tried(r, block) for r, block in rounds)
    if not extra.target or not extra.row or tried <= 0:
        return None
    kept = sum(len(r.outcome.accepted) for r, _ in rounds)
    drafted = sum(r.max_depth for r, _ in rounds) / len(rounds)
    wrote = sum(len(r.outcome.emitted) for r, _ in rounds) / len(rounds)
    inside = min(1.0, kept / tried)
    places = [i for i, rank in enumerate(extra.rank) if rank >= min(_LEAST, extra.size)]
    ranks = [extra.rank[i] for i in places]
    modelled = [
        _tokens(inside * extra.share[i], drafted) / _cost(extra, extra.rank[i], drafted)
        for i in places
    ]
    own = wrote / _cost(extra, extra.kept, drafted)
    return Gains(inside, wrote, drafted, len(rounds), ranks, modelled, own)


def _tried(r: Round, block: TrimExtras) -> float:
    """Return how many tests of a round there were, each counted by the mass inside."""
    lost = dict(zip(block.node, block.lost, strict=True))
    return sum(1 - lost.get(r.nodes.parent[check.node], 0.0) for check in r.checks)


def _tokens(right: float, drafted: float) -> float:
    """Return the tokens of a round whose chain of `drafted` tokens is right with that chance each;
    of what is beyond a whole number, its share counts.
    """
    whole = int(drafted)
    total = sum(right**depth for depth in range(whole + 1))
    return total + (drafted - whole) * right ** (whole + 1)


def _cost(extra: TrimExtras, rows: int, drafted: float) -> float:
    return 1 + drafted * (extra.rest + extra.row * rows) / extra.target
