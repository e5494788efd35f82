"""What a verification rule is, and what it decides. The rules themselves are one file each beside
this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from core.dice import Dice
from core.laws import Law
from core.models.base import Scores
from core.trace import Check, Origin
from core.tree import Draft, Sampling


@dataclass(frozen=True, slots=True)
class Context:
    """Where a round stands: all committed tokens, the law in use, and which sequence this is."""

    tokens: Sequence[int]
    law: Law
    sequence: int = 0

    @property
    def root(self) -> int:
        return self.tokens[-1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What verification decided: `path` of accepted nodes (root not included), then the target's
    own token, if any.

    `end` is the node after which the walk ended.
    """

    path: tuple[int, ...]
    final: int | None
    origin: Origin
    checks: tuple[Check, ...] = ()

    @property
    def end(self) -> int:
        return self.path[-1] if self.path else 0

    def tokens(self, draft: Draft) -> list[int]:
        """Return the token ids that join the text, in order."""
        accepted = [draft.tree.tokens[node] for node in self.path]
        return accepted if self.final is None else [*accepted, self.final]

    def cut(self, count: int) -> Outcome:
        """Return the outcome with its first `count` tokens and the checks that led to them."""
        if count >= len(self.path) + (self.final is not None):
            return self
        if count == len(self.path):
            return Outcome(self.path, None, "none", self.checks)
        last = self.path[count - 1] if count else -1
        made = next((i for i, c in enumerate(self.checks) if c.passed and c.node == last), -1)
        return Outcome(self.path[:count], None, "none", self.checks[: made + 1])


class Table(Protocol):
    """One round, ready to be decided: plain numbers on the host, whole laws still on the device."""

    @property
    def p(self) -> Tensor:
        """Target laws in use (N, V): row i is what follows node i."""
        ...

    @property
    def drawn(self) -> Sequence[float | None]:
        """Return per node the draft law's value under which it is tested, None for the root and
        fixed drafts.
        """
        ...

    def walk(self, dice: Dice, position: int) -> Outcome:
        """Decide; `position` is the text position of a node of depth 1."""
        ...

    def final_law(self, node: int) -> Tensor:
        """Return the law (V,) of the token that ends a round at `node`."""
        ...

    def residual(self, rejected: int) -> tuple[float, Tensor] | None:
        """Return (mass left, law (V,)) once `rejected` and its earlier siblings failed, None where
        undefined.
        """
        ...


class Verifier(Protocol):
    """A rule that decides which drafted tokens stay."""

    @property
    def samplings(self) -> frozenset[Sampling]:
        """Kinds of draft for which the rule is valid."""
        ...

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> Table:
        """Compute the numbers that decide, vectorised on the device, in one transfer."""
        ...
