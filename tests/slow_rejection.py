"""Recursive rejection sampling in plain Python, one node after another: the reference of the fast
rule.

Each step of the rule is a method of its own, so that a planted bug is a subclass with one wrong
line. It has the laws of the spec sheets in mind and shares nothing with the rule that it checks but
the addresses of the dice.
"""

from __future__ import annotations

import math

from core.dice import Dice
from core.trace import Check
from core.tree import Draft, Sampling
from tests.slow_walk import Row, SlowRule
from tests.toys import normed

__all__ = ["Row", "SlowRejection"]


class SlowRejection(SlowRule):
    """The rule. Override one step to plant a bug."""

    name = "Slow rejection"
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT})

    def passes(self, coin: Dice, accept: float) -> bool:
        return coin.flip(accept)

    def rest(self, target: Row, drawn: Row, token: int, fixed: bool) -> Row:
        """Return what a rejection leaves of `target`, not rescaled."""
        if fixed:
            return [0.0 if t == token else w for t, w in enumerate(target)]
        return [max(r - d, 0.0) for r, d in zip(target, drawn, strict=True)]

    def spent(self, drawn: Row, token: int) -> Row:
        """Return the draft law without the tried token."""
        less = [0.0 if t == token else w for t, w in enumerate(drawn)]
        return normed(less) if any(less) else less

    def replacement(self, p: Row, remains: Row) -> Row:
        """Return the law of the final token after a rejection."""
        return remains

    def visit(
        self, draft: Draft, node: int, p: Row, dice: Dice, checks: list[Check]
    ) -> tuple[int | None, Row]:
        sampling = draft.sampling_at(node)
        fixed = sampling is Sampling.DETERMINISTIC
        target, mass = list(p), 1.0
        drawn = [1.0] * len(target) if fixed else draft.q[draft.rows[node]].tolist()
        for rank, child in enumerate(draft.tree.tries(node)):
            token = draft.tree.tokens[child]
            accept = min(1.0, target[token] / drawn[token])
            coin = dice.at(rank)
            passed = self.passes(coin, accept)
            checks.append(
                Check(
                    node=child,
                    accept_probability=accept,
                    u=coin.u,
                    passed=passed,
                    p=target[token],
                    q=None if fixed else drawn[token],
                    mass_before=mass,
                )
            )
            if passed:
                return child, target
            rest = self.rest(target, drawn, token, fixed)
            if any(rest):
                target, mass = normed(rest), mass * math.fsum(rest)
            if sampling is Sampling.DISTINCT:
                drawn = self.spent(drawn, token)
        return None, self.replacement(p, target)
