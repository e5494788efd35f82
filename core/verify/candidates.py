"""Rules that decide a node's candidates from the whole laws there, when the walk gets there.

Sorting, root finding and linear programs are then made for the few nodes that a round visits. A
rule says of a node with drawn children which of them to try, with which chance once all earlier
ones failed, and what is left of the target's law if all fail. Should the token drawn from that be a
candidate after all, the walk goes on there: nothing that was drawn behind it is lost. Fixed
children are tried by what remains of p, as in recursive rejection. Knows no rule for drawn ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.host import Floats, float_rows, floats
from core.reduce import six_digits
from core.trace import Check, Origin
from core.tree import Draft, Sampling
from core.verify.base import Outcome, PlainTable


@dataclass(frozen=True, slots=True)
class Try:
    """One test: the child, and its chance to stay once all earlier ones failed. `mass`: the share
    of p not yet spent on them, for a rule that spends it child by child.
    """

    node: int
    accept: float
    mass: float | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What a rule decides at one node. `remains` (V,): the law of the token if all tries fail."""

    tries: Sequence[Try]
    remains: Tensor


class CandidateTable(PlainTable, ABC):
    """One round, ready to be decided: target laws in use (N, V), visits made as they are needed.

    `compared` names in reasons what a dart is held against. A miss alone leaves p as it was: there
    are no residuals, the law of the final token tells what is left.
    """

    compared: str

    def __init__(self, draft: Draft, p: Tensor, greedy: bool) -> None:
        self.draft = draft
        self._p = p
        self._greedy = greedy
        self._visits: dict[int, Visit] = {}
        self._target, self._drawn = _own(draft, p)

    @abstractmethod
    def decide(self, node: int, p: Floats, q: Floats) -> Visit:
        """Decide the drawn children of `node` from both laws (V,) after it."""

    @property
    def p(self) -> Tensor:
        return self._p

    @property
    def drawn(self) -> Sequence[float | None]:
        return self._drawn

    def visit(self, node: int) -> Visit:
        """Return what the rule decides at a node with children."""
        if node not in self._visits:
            if self._is_fixed(node):
                self._visits[node] = self._fixed(node)
            else:
                assert self.draft.q is not None
                q = _row(self.draft.q, self.draft.rows[node])
                self._visits[node] = self.decide(node, _row(self._p, node), q)
        return self._visits[node]

    def visited(self, outcome: Outcome) -> Iterator[tuple[int, Visit]]:
        """Yield the nodes whose drawn children were tried, with what was decided there."""
        for node in (0, *outcome.path):
            if node in self._visits and not self._is_fixed(node):
                yield node, self._visits[node]

    def walk(self, dice: Dice, position: int) -> Outcome:
        node, path, checks = 0, list[int](), list[Check]()
        while True:
            place = position + len(path)
            child = self._kept(node, dice.at("accept", place), checks)
            if child is None:
                token = int(dice.at("final", place).draw(self.final_law(node)[None]))
                child = self._candidate(node, token)
                if child is None:
                    return Outcome(tuple(path), token, self._origin(node), tuple(checks))
            path.append(child)
            node = child

    def final_law(self, node: int) -> Tensor:
        return self.visit(node).remains if self.draft.tree.children(node) else self._p[node]

    def reasons(self, outcome: Outcome) -> dict[int, str]:
        found: dict[int, str] = {}
        for check in outcome.checks:
            if self._greedy or self._is_fixed(self.draft.tree.parents[check.node]):
                continue
            missed = "target_wrote_it" if check.node in outcome.path else f"u>={self.compared}"
            found[check.node] = f"u<{self.compared}" if check.passed else missed
        return found

    def _kept(self, node: int, dice: Dice, checks: list[Check]) -> int | None:
        """Try the children of `node`; return the one that stays."""
        if not self.draft.tree.children(node):
            return None
        fixed = self._is_fixed(node)
        for place, test in enumerate(self.visit(node).tries):
            coin = dice.at(place)
            passed = coin.flip(test.accept)
            checks.append(
                Check(
                    node=test.node,
                    accept_probability=test.accept,
                    u=coin.u,
                    passed=passed,
                    p=test.accept if fixed else self._target[test.node],
                    q=self._drawn[test.node],
                    mass_before=test.mass,
                )
            )
            if passed:
                return test.node
        return None

    def _fixed(self, node: int) -> Visit:
        """Decide fixed children: x stays with what remains of p(x), and a miss takes it out."""
        tree, tries, left = self.draft.tree, list[Try](), 1.0
        children = tree.children(node)
        tokens = [tree.tokens[child] for child in children]
        for child, mass in zip(children, floats(self._p[node, tokens]), strict=True):
            tries.append(Try(child, min(1.0, mass / left) if left > 0 else 0.0, left))
            left = max(0.0, left - mass)
        rest = self._p[node].clone()
        rest[tokens] = 0.0
        total = rest.sum()
        return Visit(tries, rest / total if float(total) > 0 else self._p[node])

    def _is_fixed(self, node: int) -> bool:
        return self.draft.sampling_at(node) is Sampling.DETERMINISTIC

    def _candidate(self, node: int, token: int) -> int | None:
        tree = self.draft.tree
        return next((c for c in tree.children(node) if tree.tokens[c] == token), None)

    def _origin(self, node: int) -> Origin:
        if len(self.draft.tree) == 1:
            return "plain"
        return "correction" if self.draft.tree.children(node) else "bonus"


def law_of(rest: Floats, otherwise: Tensor) -> Tensor:
    """Return the law of the mass `rest` (V,), as a tensor like `otherwise` (V,), which is taken
    where nothing is left: that a candidate stays was then certain up to rounding.
    """
    total = float(rest.sum())
    return torch.from_numpy(rest / total).to(otherwise) if total > 0 else otherwise


def _row(laws: Tensor, row: int) -> Floats:
    return laws[row].cpu().double().numpy()


def _own(draft: Draft, p: Tensor) -> tuple[list[float | None], list[float | None]]:
    """Return per node both laws' values of its token, None for the root, the draft's where drawn;
    to six digits.
    """
    tree = draft.tree
    parents, tokens = list(tree.parents[1:]), list(tree.tokens[1:])
    if draft.q is None:
        (target,) = float_rows(six_digits(p[parents, tokens][None].cpu().double().numpy()))
        return [None, *target], [None] * len(tree)
    rows = [draft.rows.get(parent, 0) for parent in parents]
    both = torch.stack([p[parents, tokens], draft.q[rows, tokens].to(p)])
    target, offered = float_rows(six_digits(both.cpu().double().numpy()))
    fixed = [draft.sampling_at(parent) is Sampling.DETERMINISTIC for parent in parents]
    drawn = [None if f else q for f, q in zip(fixed, offered, strict=True)]
    return [None, *target], [None, *drawn]
