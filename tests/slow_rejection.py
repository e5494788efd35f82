"""Recursive rejection sampling in plain Python, one node after another: the reference of the fast
rule.

Each step of the rule is a method of its own, so that a planted bug is a subclass with one wrong
line. It has the laws of the spec sheets in mind and shares nothing with the rule that it checks but
the addresses of the dice.
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


class SlowRejection:
    """The rule. Override one step to plant a bug."""

    name = "Slow rejection"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SlowTable:
        raw = [normed([math.exp(x) for x in row]) for row in scores.logits.tolist()]
        return SlowTable(self, draft, [slow_law(row, context.law) for row in raw])

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

    def bonus(self, laws: Sequence[Row], path: Sequence[int]) -> Row:
        """Return the law of the final token after a leaf; `path` starts at the root."""
        return laws[path[-1]]


@dataclass(frozen=True)
class SlowTable(PlainTable):
    """One round, ready to be decided."""

    rule: SlowRejection
    draft: Draft
    laws: Sequence[Row]

    def walk(self, dice: Dice, position: int) -> Outcome:
        tree, path, checks = self.draft.tree, [0], list[Check]()
        while tree.children(path[-1]):
            kept, law = self.visit(path[-1], dice.at("accept", position + len(path) - 1), checks)
            if kept is None:
                break
            path.append(kept)
        else:
            law = self.rule.bonus(self.laws, path)
        weights = torch.tensor([law], dtype=torch.float64)
        final = int(dice.at("final", position + len(path) - 1).draw(weights))
        origin = "plain" if len(tree) == 1 else "correction" if tree.children(path[-1]) else "bonus"
        return Outcome(tuple(path[1:]), final, origin, tuple(checks))

    def visit(self, node: int, dice: Dice, checks: list[Check]) -> tuple[int | None, Row]:
        """Try the children of `node` in order; return the one kept, or None and the law of what
        comes instead.
        """
        sampling = self.draft.sampling_at(node)
        fixed = sampling is Sampling.DETERMINISTIC
        target, mass = list(self.laws[node]), 1.0
        drawn = [1.0] * len(target) if fixed else self.draft.q[self.draft.rows[node]].tolist()
        for rank, child in enumerate(self.draft.tree.tries(node)):
            token = self.draft.tree.tokens[child]
            accept = min(1.0, target[token] / drawn[token])
            coin = dice.at(rank)
            passed = self.rule.passes(coin, accept)
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
            rest = self.rule.rest(target, drawn, token, fixed)
            if any(rest):
                target, mass = normed(rest), mass * math.fsum(rest)
            if sampling is Sampling.DISTINCT:
                drawn = self.rule.spent(drawn, token)
        return None, self.rule.replacement(self.laws[node], target)
