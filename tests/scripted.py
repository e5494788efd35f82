"""Drafters that follow a script: for tests of the loop, and for adversaries of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.decode import Feedback
from core.dice import Dice
from core.extras import Extras
from core.models.base import Session
from core.models.toy import Table, ToyModel
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Offer

Script = Callable[[Sequence[int], int], Sequence[int]]  # (text, limit) -> tokens of a chain


@dataclass
class Scripted:
    """Offers the chain that `script` gives, and remembers all that the loop tells it."""

    script: Script
    taps: Sequence[int] = ()
    began: list[tuple[int, ...]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    heard: list[Feedback] = field(default_factory=list)

    def offer(self, greedy: bool) -> Offer:
        return Offer(frozenset({Sampling.DETERMINISTIC}))

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        self.began.append(tuple(prompt))

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        self.limits.append(limit)
        tokens = tuple(self.script(context.tokens, limit))
        return Draft(DraftTree.root(context.root).extended(range(len(tokens)), tokens))

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        self.heard.append(feedback)
        return ()


def next_token(table: Table) -> Callable[[Sequence[int]], int]:
    """Return the function that continues a text greedily (lowest id on a tie)."""

    def favourite(text: Sequence[int]) -> int:
        row = list(table(tuple(text)))
        return row.index(max(row))

    return favourite


def greedy(table: Table, prompt: Sequence[int], count: int) -> list[int]:
    """Return what a model given by `table` writes at temperature 0."""
    text, favourite = list(prompt), next_token(table)
    for _ in range(count):
        text.append(favourite(text))
    return text[len(prompt) :]


def oracle(table: Table, length: int) -> Script:
    """Return the script that offers what the target will write."""
    return lambda text, limit: greedy(table, text, min(length, limit))


def wrong(table: Table, size: int, length: int) -> Script:
    """Return the script that never offers what the target will write."""
    favourite = next_token(table)
    return lambda text, limit: [(favourite(text) + 1) % size] * min(length, limit)


def counting(text: Sequence[int], size: int) -> ToyModel:
    """Return a toy that writes `text` over and over, whatever the prompt."""
    rows = [[float(token == wanted) for token in range(size)] for wanted in text]
    return ToyModel(lambda context: rows[len(context) % len(rows)], size)
