"""How one of K drafted tokens is selected, and the law of the token that is: a tournament of pairs,
or weights.

Drafts are met in the order drawn; one is held, and each next one may take its place. Places count
the alphabet, a short list of tokens; whatever is drawn outside it is the caller's business. Both
plans compute the law of the token selected exactly, which is all that the test after it needs.
Knows no tree, no dice, no device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Protocol

import numpy as np

from core.host import Floats
from core.verify.selection_pairs import Mass, Pairs, decide

MOST_TUPLES = 250_000  # of drafts, that importance weights may have to go through
_GAIN = 1e-9  # of p covered, for which another draft is let in


class Plan(Protocol):
    """A way to select."""

    @property
    def law(self) -> Floats:
        """Return the law (n,) of the token selected; its sum is the chance that the alphabet holds
        a draft.
        """
        ...

    @property
    def used(self) -> int:
        """Return how many of the drafts, the first ones, take part."""
        ...

    @property
    def order(self) -> Sequence[int]:
        """Return the places in the order in which they were ranked for the last draft."""
        ...

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        """Return the chance that `held` stays when draft `number` (from 1) brings the other token
        `new`; `met` are the places of all drafts before it that lie in the alphabet.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tournament:
    """The winner of two drafts meets the third, and so on; one decision of pairs per meeting.

    `first`: the law of the first draft. Drafts beyond the last stage take no part.
    """

    first: Mass
    stages: Sequence[Pairs]

    @property
    def used(self) -> int:
        return 1 + len(self.stages)

    @property
    def law(self) -> Floats:
        return self.stages[-1].winner.inside if self.stages else self.first.inside

    @property
    def order(self) -> Sequence[int]:
        return self.stages[-1].order if self.stages else ()

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        return self.stages[number - 1].stays(held, new)


def tournament(
    p: Floats, q: Mass, drafts: int, free: int, covered: Callable[[int], float]
) -> Tournament:
    """Return the tournament of `drafts` independent draws from `q`, for the target `p` (n,).

    Each meeting is the best for two tokens of their laws (up to `free` of them), not for all K. The
    fixed order that decides the others can cost more than it gives, so the tournament ends before a
    meeting that would not cover more of p; `covered` says how much of p the selection of so many
    drafts covers outside the alphabet.
    """
    law, stages = q, list[Pairs]()
    overlap = float(np.minimum(p, q.inside).sum()) + covered(1)
    for number in range(2, drafts + 1):
        stage = decide(p, law, q, free)
        now = float(np.minimum(p, stage.winner.inside).sum()) + covered(number)
        if now < overlap + _GAIN:
            break
        law, overlap = stage.winner, now
        stages.append(stage)
    return Tournament(q, stages)


@dataclass(frozen=True, slots=True)
class Weights:
    """A draft is selected in proportion to the weight (n,) of its token; the first one where no
    draft has any.
    """

    weights: Floats
    law: Floats
    used: int

    @property
    def order(self) -> Sequence[int]:
        return np.argsort(-self.weights, kind="stable").tolist()

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        mine = float(self.weights[list(met)].sum())
        total = mine + float(self.weights[new])
        return mine / total if total > 0 else 1.0


def importance(p: Floats, q: Mass, drafts: int) -> Weights:
    """Return the weights p/q, normalised among the drafts, for independent draws from `q`.

    Their law has no closed form: it takes every tuple of drafts in the alphabet. Raises ValueError
    where there are more than `MOST_TUPLES`.
    """
    size = len(p)
    if size**drafts > MOST_TUPLES:
        raise ValueError(too_many(drafts))
    weights = np.divide(p, q.inside, out=np.zeros_like(p), where=q.inside > 0)
    sums, chances = np.zeros(1), np.ones(1)  # of the weights of the other drafts, and their law
    law = np.zeros_like(p)
    for inside in range(1, drafts + 1):
        total = weights[:, None] + sums
        share = np.divide(
            weights[:, None], total, out=np.full_like(total, 1 / inside), where=total > 0
        )
        some = comb(drafts, inside) * q.outside ** (drafts - inside)
        law += some * inside * q.inside * (share @ chances)
        if inside < drafts:
            sums = np.add.outer(sums, weights).ravel()
            chances = np.multiply.outer(chances, q.inside).ravel()
    return Weights(weights, law, drafts)


def largest_alphabet(drafts: int) -> int:
    """Return the most tokens for which the law of importance weights is computed."""
    size = int(MOST_TUPLES ** (1 / drafts))
    return size + ((size + 1) ** drafts <= MOST_TUPLES)


def too_many(drafts: int) -> str:
    """Return what is allowed, in one sentence."""
    return (
        f"with importance weights, which go through all tuples of {drafts} drafts, the alphabet "
        f"may have 1 to {largest_alphabet(drafts)} tokens"
    )


def fixed(p: Floats, drafts: int) -> Weights:
    """Return the plan for children chosen without chance: they are weighted by the target `p` (n,)
    itself, so that their law is p on them, rescaled.
    """
    total = p.sum()
    first = np.eye(1, len(p))[0]
    return Weights(p, p / total if total > 0 else first, drafts)
