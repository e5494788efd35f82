"""K-SEQ in plain Python, one token after the other: the reference of the fast rule.

Each step is a method of its own, so that a planted bug is a subclass with one wrong line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.dice import Dice
from core.trace import Check
from core.tree import Draft, Sampling
from tests.slow_walk import Row, SlowRule

__all__ = ["Row", "SlowKSeq", "reach", "root", "taken"]


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


class SlowKSeq(SlowRule):
    """The rule. Override one step to plant a bug."""

    name = "Slow K-SEQ"
    samplings = frozenset({Sampling.INDEPENDENT})

    def rho(self, p: Row, q: Row, count: int) -> float:
        return root(p, q, count)

    def candidates(self, draft: Draft, node: int) -> Sequence[int]:
        return draft.tree.tries(node)

    def rest(self, p: Row, q: Row, rho: float, count: int) -> Row:
        """Return what is left for the target's own token, not rescaled."""
        beta = taken(p, q, rho)
        share = reach(p, q, rho, count) / beta if beta else 0.0
        return [max(t - min(d, t / rho) * share, 0.0) for t, d in zip(p, q, strict=True)]

    def visit(
        self, draft: Draft, node: int, p: Row, dice: Dice, checks: list[Check]
    ) -> tuple[int | None, Row]:
        q, tried = draft.q[draft.rows[node]].tolist(), self.candidates(draft, node)
        rho = self.rho(p, q, len(tried))
        for place, child in enumerate(tried):
            token, coin = draft.tree.tokens[child], dice.at(place)
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
            if passed:
                return child, p
        law = self.rest(p, q, rho, len(tried))
        return None, law if any(law) else p
