"""Block verification in plain Python, one token after the other: the reference of the fast rule.

Each step is a method of its own, so that a planted bug is a subclass with one wrong line. Shares
nothing with the rule that it checks but the addresses of the dice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.dice import Dice
from core.models.base import Scores
from core.trace import Check
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, PlainTable
from tests.slow_walk import Row, drawn, laws_of

__all__ = ["Row", "SlowBlock"]


class SlowBlock:
    """The rule. Override one step to plant a bug."""

    name = "Slow block"
    chain_only = True
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SlowBlockTable:
        return SlowBlockTable(self, draft, laws_of(scores, context))

    def paid(self, before: float, ratio: float) -> float:
        """Return w after a token with this p/q, from w before it."""
        return min(1.0, before * ratio)

    def beyond(self, joint: float, p: Row, q: Row) -> Row:
        """Return what the target still has beyond the draft after a token, not rescaled."""
        return [max(joint * t - d, 0.0) for t, d in zip(p, q, strict=True)]

    def chance(self, joint: float, left: float) -> float:
        """Return the chance of the coin of a token that has a successor."""
        total = left + (1 - joint)
        return left / total if total > 0 else 1.0

    def coin(self, dice: Dice, position: int, place: int) -> Dice:
        return dice.at("accept", position).at(place)

    def kept(self, passed: Sequence[bool]) -> int:
        """Return how many tokens stay: up to the last coin that passed."""
        return max((place for place, stayed in enumerate(passed, start=1) if stayed), default=0)

    def after(self, joint: float, p: Row, q: Row) -> Row:
        """Return the law of the token after the last one kept, not rescaled."""
        return self.beyond(joint, p, q)


@dataclass(frozen=True)
class SlowBlockTable(PlainTable):
    """One round, ready to be decided. Nodes of the chain are 0, 1, 2 ..."""

    rule: SlowBlock
    draft: Draft
    laws: Sequence[Row]

    def drawn_from(self, place: int) -> Row:
        if self.draft.sampling_at(place) is not Sampling.DETERMINISTIC:
            return self.draft.q[self.draft.rows[place]].tolist()
        token = self.draft.tree.tokens[place + 1]
        return [float(t == token) for t in range(len(self.laws[0]))]

    def ledger(self) -> tuple[Row, Row]:
        """Return w of every token, the empty draft first, and the chance of every coin."""
        joint, chances, size = [1.0], list[float](), len(self.draft.tree) - 1
        for place in range(size):
            token = self.draft.tree.tokens[place + 1]
            ratio = self.laws[place][token] / self.drawn_from(place)[token]
            joint.append(self.rule.paid(joint[-1], ratio))
        for place in range(1, size):
            left = math.fsum(
                self.rule.beyond(joint[place], self.laws[place], self.drawn_from(place))
            )
            chances.append(self.rule.chance(joint[place], left))
        return joint, [*chances, *joint[1:][-1:]]

    def walk(self, dice: Dice, position: int) -> Outcome:
        joint, chances = self.ledger()
        checks: list[Check] = []
        for place, chance in enumerate(chances):
            coin = self.rule.coin(dice, position, place)
            passed = coin.flip(chance)
            checks.append(
                Check(
                    node=place + 1,
                    accept_probability=chance,
                    u=coin.u,
                    passed=passed,
                    p=None,
                    q=None,
                    mass_before=None,
                )
            )
            if joint[place + 1] == 0:
                break
        kept = self.rule.kept([check.passed for check in checks])
        whole = kept == len(chances)
        law = self.laws[kept]
        if not whole:
            law = self.rule.after(joint[kept], self.laws[kept], self.drawn_from(kept))
            law = law if any(law) else self.laws[kept]
        final = drawn(law, dice.at("final", position + kept))
        origin = "bonus" if whole and chances else "correction" if chances else "plain"
        return Outcome(tuple(range(1, kept + 1)), final, origin, tuple(checks))
