"""A walk down a draft in plain Python, node by node: what the slow rules have in common.

A rule says what happens at one node. Nothing is shared with the code under test but the addresses
of the dice.
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


def laws_of(scores: Scores, context: Context) -> list[Row]:
    """Return the target's laws in use after every node."""
    raw = [normed([math.exp(x) for x in row]) for row in scores.logits.tolist()]
    return [slow_law(row, context.law) for row in raw]


class SlowRule:
    """Tries the children of a node in order, then goes on below the one that stays."""

    name: str
    samplings: frozenset[Sampling]
    chain_only = False

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SlowTable:
        return SlowTable(self, draft, laws_of(scores, context))

    def visit(
        self, draft: Draft, node: int, p: Row, dice: Dice, checks: list[Check]
    ) -> tuple[int | None, Row]:
        """Return the child of `node` that stays, or None and the law of what comes instead."""
        raise NotImplementedError

    def bonus(self, laws: Sequence[Row], path: Sequence[int]) -> Row:
        """Return the law of the final token after a leaf; `path` starts at the root."""
        return laws[path[-1]]


@dataclass(frozen=True)
class SlowTable(PlainTable):
    """One round, ready to be decided."""

    rule: SlowRule
    draft: Draft
    laws: Sequence[Row]

    def walk(self, dice: Dice, position: int) -> Outcome:
        tree, path, checks = self.draft.tree, [0], list[Check]()
        while tree.children(path[-1]):
            node, coins = path[-1], dice.at("accept", position + len(path) - 1)
            kept, law = self.rule.visit(self.draft, node, self.laws[node], coins, checks)
            if kept is None:
                break
            path.append(kept)
        else:
            law = self.rule.bonus(self.laws, path)
        final = drawn(law, dice.at("final", position + len(path) - 1))
        origin = "plain" if len(tree) == 1 else "correction" if tree.children(path[-1]) else "bonus"
        return Outcome(tuple(path[1:]), final, origin, tuple(checks))


def drawn(law: Row, dice: Dice) -> int:
    return int(dice.draw(torch.tensor([law], dtype=torch.float64)))
