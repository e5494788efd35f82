"""Typical acceptance, LOSSY: a candidate stays when the target finds it typical, whatever chance
would have said.

A token x that may follow a node passes when p[x] > min(epsilon, delta exp(-H)), with H the entropy
of p there, in nats: where the target is sure little passes, where it is not nearly everything. The
longest run of tokens that all pass is kept; of equally long ones that with the largest sum of log
p. Then comes the target's own token: its favourite, or a draw from the tokens that pass. At
temperature 0 only the arg-max passes, and the rule is greedy matching.

Medusa (Cai et al., arXiv 2401.10774). Its public code adds 1e-5 inside the log; here H is the
entropy. The candidates are fixed ones, so that a draft which all passes is the text: the output has
the drafter's law.

For the record each tested candidate gets a dart as well, thrown at its share of what p has left:
the verdict of the exact rule for fixed siblings, with which the text would keep the target's law.
The dart decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import exp, log
from typing import Literal, cast

import torch
from torch import Tensor

from core.dice import Dice
from core.extras import TypicalExtras
from core.host import floats
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.trace import Check, Judge, Origin
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome, PlainTable, check_draft

Own = Literal["favourite", "draw"]


@dataclass(frozen=True, slots=True)
class TypicalAcceptance:
    """The rule: `epsilon` and `delta` in [0, 1]; `own`: how the target writes its own token."""

    epsilon: float = 0.09
    delta: float = 0.3
    own: Own = "favourite"
    name = "Typical acceptance"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> TypicalTable:
        """Raise ValueError for a draft with drawn tokens."""
        check_draft(self, draft)
        p, tree = context.law(scores.logits), draft.tree
        inner = [node for node in range(len(tree)) if tree.children(node)]
        own = p[list(tree.parents[1:]), list(tree.tokens[1:])]
        left = len(draft.pruned.tokens) if draft.pruned else 0
        # the one transfer, if there is anything to know
        numbers = floats(torch.cat([entropy(p[inner]), own]).double()) if inner else []
        known = dict(zip(inner, numbers[: len(inner)], strict=True))
        of_nodes = [1.0, *numbers[len(inner) :]]
        return TypicalTable(self, tree, p, known, of_nodes, left, context.law.is_greedy)

    def threshold(self, nats: float) -> float:
        """Return what p[x] has to exceed where p has an entropy of `nats`."""
        return min(self.epsilon, self.delta * exp(-nats))


def entropy(p: Tensor) -> Tensor:
    """Return the entropies (N,) of laws (N, V) in nats."""
    return cast(Tensor, torch.special.entr(p)).sum(dim=1)


@dataclass(frozen=True)
class TypicalTable(PlainTable):
    """One round, ready to be decided.

    `entropies`: by node with children; `own`: p of every node's token given its parent, 1 for the
    root; `left`: nodes of the record that were not offered.
    """

    rule: TypicalAcceptance
    tree: DraftTree
    p: Tensor
    entropies: Mapping[int, float]
    own: Sequence[float]
    left: int
    greedy: bool

    @property
    def drawn(self) -> Sequence[float | None]:
        return [None] * len(self.tree)

    @cached_property
    def thresholds(self) -> Mapping[int, float]:
        """What has to be exceeded after each node with children."""
        return {node: self.rule.threshold(nats) for node, nats in self.entropies.items()}

    @cached_property
    def passed(self) -> Sequence[bool]:
        """Whether the token of each node passes; the root has."""
        offered = [(node, self.tree.parents[node]) for node in range(1, len(self.tree))]
        return [True, *(n in self.tree.children(p) and self._passes(n, p) for n, p in offered)]

    def _passes(self, node: int, parent: int) -> bool:
        return self.own[node] > self.thresholds[parent]

    def walk(self, dice: Dice, position: int) -> Outcome:
        path, checks, relaxed = self._longest(), list[Check](), list[int]()
        for depth, node in enumerate((0, *path)):
            kept = path[depth] if depth < len(path) else None
            exact = self._visit(node, kept, dice.at("accept", position + depth), checks)
            if kept is not None and exact != kept:
                relaxed.append(kept)
        end = path[-1] if path else 0
        final = dice.at("final", position + len(path)).draw(self.final_law(end)[None])
        return Outcome(path, int(final), self._origin(end), tuple(checks), tuple(relaxed))

    def final_law(self, node: int) -> Tensor:
        p = self.p[node]
        favourite = torch.zeros_like(p).scatter(0, p.argmax(dim=0, keepdim=True), 1.0)
        if self.rule.own == "favourite":
            return favourite
        typical = torch.where(p > self.rule.threshold(float(entropy(p[None]))), p, 0.0)
        mass = typical.sum()
        return torch.where(mass > 0, typical / mass, favourite)

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        if self.greedy:
            return {}
        words = {True: "typical", False: "not_typical"}
        told = {check.node: words[check.passed] for check in outcome.checks}
        outrun = {
            child: "outrun"
            for node in (0, *outcome.path)
            for child in self.tree.children(node)
            if self.passed[child] and child not in outcome.path
        }
        return told | outrun

    def judge(self, outcome: Outcome) -> Judge | None:
        """Return p against the threshold, and whether the exact rule's dart kept the token."""
        if not outcome.checks:
            return None
        verdicts: list[bool] = []
        for _, siblings in groupby(outcome.checks, lambda check: self.tree.parents[check.node]):
            verdicts += self._strict(tuple(siblings))
        parents = [self.tree.parents[check.node] for check in outcome.checks]
        return Judge(
            score=_rounded([self.own[check.node] for check in outcome.checks]),
            threshold=_rounded([self.thresholds[parent] for parent in parents]),
            strict_verdict=verdicts,
        )

    def extras(self, outcome: Outcome) -> tuple[TypicalExtras, ...]:
        if len(self.tree) == 1:
            return ()
        more = [None] * self.left
        known = dict(zip(self.entropies, _rounded([*self.entropies.values()]), strict=True))
        offered = [role == "draft" for role in self.tree.roles]
        verdicts = [ok if there else None for ok, there in zip(self.passed, offered, strict=True)]
        return (
            TypicalExtras(
                epsilon=self.rule.epsilon,
                delta=self.rule.delta,
                entropy=[*(known.get(node) for node in range(len(self.tree))), *more],
                passed=[None, *verdicts[1:], *more],
            ),
        )

    def _visit(self, node: int, kept: int | None, dice: Dice, checks: list[Check]) -> int | None:
        """Note the tests at a node of the path; return the child that the exact rule would keep."""
        exact = None
        for place, (child, chance) in enumerate(self._darts(self._tested(node, kept))):
            coin = dice.at(place)
            if coin.flip(chance) and exact is None:
                exact = child
            checks.append(
                Check(
                    node=child,
                    accept_probability=1.0 if child == kept else 0.0,
                    u=coin.u,
                    passed=child == kept,
                    p=None,  # no quotient decides
                    q=None,
                    mass_before=None,
                )
            )
        return exact

    def _origin(self, end: int) -> Origin:
        if len(self.tree) == 1:
            return "plain"
        return "correction" if self.tree.children(end) else "bonus"

    def _strict(self, checks: Sequence[Check]) -> list[bool]:
        """Return whether each of the checks at one node is the one that the exact rule keeps."""
        darts = self._darts([check.node for check in checks])
        hits = [check.u < chance for check, (_, chance) in zip(checks, darts, strict=True)]
        return [hit and not any(hits[:i]) for i, hit in enumerate(hits)]

    def _longest(self) -> tuple[int, ...]:
        """Return the longest run of tokens that pass, the likeliest of equally long ones."""
        runs = {0: (0, 0.0)}
        for node in range(1, len(self.tree)):
            before = runs.get(self.tree.parents[node])
            if before is not None and self.passed[node]:
                length, likelihood = before
                runs[node] = (length + 1, likelihood + log(self.own[node]))
        return self.tree.path(max(runs, key=lambda node: runs[node]))[1:]

    def _tested(self, node: int, kept: int | None) -> list[int]:
        """Return the children of a visited node with a verdict: those that fail, then the one kept.

        Others pass as well, and lead to a shorter or less likely run.
        """
        failed = [child for child in self.tree.children(node) if not self.passed[child]]
        return failed if kept is None else [*failed, kept]

    def _darts(self, siblings: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Yield siblings with their share of what p has left, as the exact rule tries them."""
        left = 1.0
        for child in siblings:
            yield child, min(1.0, self.own[child] / left) if left > 0 else 0.0
            left -= self.own[child]


def _rounded(values: Sequence[float]) -> list[float | None]:
    return list(floats(six_digits(torch.tensor(values, dtype=torch.float64).numpy())))


PARTS = (
    rule(
        "typical",
        "Typical acceptance",
        "Keeps the longest run of candidates that the target finds typical, and throws no dart.",
        "Cai et al. 2024",
        TypicalAcceptance,
        lossless=False,
    ),
)
