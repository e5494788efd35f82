"""K-SEQ in plain Python, one token after the other: the reference of the fast rule.

Each step is a method of its own, so that a planted bug is a subclass with one wrong line. Shares
nothing with the rule that it checks but the addresses of the dice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.dice import Dice
from core.models.base import Scores
from core.trace import Check
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, PlainTable
from tests.toys import normed, slow_law

Row = list[float]


def taken(p: Row, q: Row, rho: float) -> float:
    """Return beta: what one candidate takes of p."""
    return math.fsum(min(d, t / rho) for t, d in zip(p, q, strict=True))


def reach(p: Row, q: Row, rho: float, count: int) -> float:
    """Return what `count` candidates take of p."""
    return 1 - (1 - taken(p, q, rho)) ** count


def root(p: Row, q: Row, count: int) -> float:
    """Return rho* by bisection over [1, K]."""
    low, high = 1.0, float(count)
    for _ in range(100):
        middle = (low + high) / 2
        if reach(p, q, middle, count) > middle * taken(p, q, middle):
            low = middle
        else:
            high = middle
    return high if reach(p, q, low, count) > low * taken(p, q, low) else low


class SlowKSeq:
    """The rule. Override one step to plant a bug."""

    name = "Slow K-SEQ"
    chain_only = False
    samplings = frozenset({Sampling.INDEPENDENT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SlowKSeqTable:
        raw = [normed([math.exp(x) for x in row]) for row in scores.logits.tolist()]
        return SlowKSeqTable(self, draft, [slow_law(row, context.law) for row in raw])

    def rho(self, p: Row, q: Row, count: int) -> float:
        return root(p, q, count)

    def candidates(self, draft: Draft, node: int) -> Sequence[int]:
        return draft.tree.tries(node)

    def rest(self, p: Row, q: Row, rho: float, count: int) -> Row:
        """Return what is left for the target's own token, not rescaled."""
        beta = taken(p, q, rho)
        share = reach(p, q, rho, count) / beta if beta else 0.0
        return [max(t - min(d, t / rho) * share, 0.0) for t, d in zip(p, q, strict=True)]


@dataclass(frozen=True)
class SlowKSeqTable(PlainTable):
    """One round, ready to be decided."""

    rule: SlowKSeq
    draft: Draft
    laws: Sequence[Row]

    def walk(self, dice: Dice, position: int) -> Outcome:
        tree, path, checks = self.draft.tree, [0], list[Check]()
        while tree.children(path[-1]):
            p, q = self.laws[path[-1]], self.draft.q[self.draft.rows[path[-1]]].tolist()
            drawn = self.rule.candidates(self.draft, path[-1])
            rho = self.rule.rho(p, q, len(drawn))
            coins = dice.at("accept", position + len(path) - 1)
            kept = next(
                (c for i, c in enumerate(drawn) if self.tried(c, coins.at(i), p, q, rho, checks)),
                None,
            )
            if kept is None:
                law = self.rule.rest(p, q, rho, len(drawn))
                law = law if any(law) else p
                break
            path.append(kept)
        else:
            law = self.laws[path[-1]]
        final = dice.at("final", position + len(path) - 1).draw(
            torch.tensor([law], dtype=torch.float64)
        )
        origin = "plain" if len(tree) == 1 else "correction" if tree.children(path[-1]) else "bonus"
        return Outcome(tuple(path[1:]), int(final), origin, tuple(checks))

    def tried(
        self, child: int, coin: Dice, p: Row, q: Row, rho: float, checks: list[Check]
    ) -> bool:
        token = self.draft.tree.tokens[child]
        accept = min(1.0, p[token] / (rho * q[token]))
        passed = coin.flip(accept)
        checks.append(
            Check(
                node=child,
                accept_probability=accept,
                u=coin.u,
                passed=passed,
                p=p[token],
                q=q[token],
                mass_before=None,
            )
        )
        return passed
