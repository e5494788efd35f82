"""What a verification rule is, and what it decides. The rules themselves are one file each beside
this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from torch import Tensor

from core.dice import Dice
from core.extras import Extras
from core.laws import Law
from core.models.base import Scores
from core.trace import Check, Judge, Origin
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

    `end` is the node after which the walk ended. `relaxed` are the nodes of the path that only a
    lossy rule kept. Without a `final` token the last of the path is the next round's root.
    """

    path: tuple[int, ...]
    final: int | None
    origin: Origin
    checks: tuple[Check, ...] = ()
    relaxed: tuple[int, ...] = ()

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
            return replace(self, final=None, origin="none")
        path = self.path[:count]
        tests = [i for i, check in enumerate(self.checks) if check.node in path]
        made = max(tests, default=-1)
        relaxed = tuple(node for node in self.relaxed if node in path)
        return Outcome(path, None, "none", self.checks[: made + 1], relaxed)


@dataclass(frozen=True, slots=True)
class Remains:
    """The law (V,) of what comes once child `after` failed, and which share of the law before is
    left.
    """

    after: int
    left: float
    law: Tensor


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

    def residuals(self, outcome: Outcome) -> Sequence[Remains]:
        """Return what each failed check left of the target's law, in order, where defined."""
        ...

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        """Return why nodes have their state, as short keys, where the rule has keys of its own."""
        ...

    def judge(self, outcome: Outcome) -> Judge | None:
        """Return what a lossy rule's judge said of every check, and the exact rule's verdict."""
        ...

    def extras(self, outcome: Outcome) -> tuple[Extras, ...]:
        """Return the rule's own numbers for the record."""
        ...


class PlainTable:
    """Base of tables whose record needs nothing beyond the checks."""

    def residuals(self, outcome: Outcome) -> Sequence[Remains]:
        return ()

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        return {}

    def judge(self, outcome: Outcome) -> Judge | None:
        return None

    def extras(self, outcome: Outcome) -> tuple[Extras, ...]:
        return ()


class Verifier(Protocol):
    """A rule that decides which drafted tokens stay."""

    @property
    def name(self) -> str:
        """Return what the rule is called in a sentence."""
        ...

    @property
    def samplings(self) -> frozenset[Sampling]:
        """Kinds of draft for which the rule is valid."""
        ...

    @property
    def chain_only(self) -> bool:
        """Return whether the rule knows a single path only."""
        ...

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> Table:
        """Compute the numbers that decide, vectorised on the device, in one transfer."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """What a drafter may hand over: kinds of siblings, and whether a node can have several."""

    samplings: frozenset[Sampling] = frozenset()
    branches: bool = False


def check_fit(verifier: Verifier, offer: Offer) -> None:
    """Raise ValueError with the reason when `verifier` would decide such drafts wrongly."""
    if verifier.chain_only and offer.branches:
        raise ValueError(
            f"{verifier.name} decides a single path, and this draft branches: "
            "choose one child per level."
        )
    for kind in sorted(offer.samplings - verifier.samplings, key=lambda kind: kind.value):
        valid = " or ".join(sorted(_WORDS[known] for known in verifier.samplings))
        raise ValueError(
            f"{verifier.name} is not valid for siblings {_WORDS[kind]}: it would bend the law of "
            f"the text. It takes siblings {valid}."
        )


def check_draft(verifier: Verifier, draft: Draft) -> None:
    """Raise ValueError for a draft that `verifier` would decide wrongly."""
    kinds = {draft.sampling_at(parent) for parent in draft.tree.parents[1:]}
    branches = any(len(draft.tree.tries(node)) > 1 for node in range(len(draft.tree)))
    check_fit(verifier, Offer(frozenset(kinds), branches))
    if draft.q is None and kinds - {Sampling.DETERMINISTIC}:
        raise ValueError("Drawn tokens need the law that they were drawn from.")


_WORDS = {
    Sampling.DETERMINISTIC: "chosen without chance",
    Sampling.INDEPENDENT: "drawn with replacement",
    Sampling.DISTINCT: "drawn without replacement",
    Sampling.TOP_AND_ONE: "of which one is drawn and the others are the likeliest",
    Sampling.SEPARATE: "drawn each from a law of its own",
}
