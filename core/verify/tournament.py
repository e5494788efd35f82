"""A tournament at every node: the drafted children are tried in order against what remains of p.

Child x stays with probability min(1, R[x] / D[x]), where R is what remains of p and D the law that
x was drawn from; fixed children have D[x] = 1. What a failed try leaves of R and D depends on how
the siblings came about (`core.verify.rejection` says how, and why it is exact). Knows which
children there are, and not how they were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.host import float_rows, floats
from core.reduce import six_digits
from core.trace import Check, Origin
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Outcome, PlainTable, Remains


@dataclass(frozen=True, slots=True)
class Try:
    """One test: the child, its chance to stay once all earlier ones failed, R[x], D[x] (None where
    fixed) and the mass of R before.

    `left`: share of R that a rejection leaves, `remains` (V,): the law after it.
    """

    node: int
    accept: float
    target: float
    drawn: float | None
    mass: float
    left: float
    remains: Tensor


@dataclass(frozen=True, slots=True)
class TournamentTable(PlainTable):
    """Target laws in use (N, V), and per node the tests of its children, in the order to make."""

    tree: DraftTree
    p: Tensor
    tries: dict[int, list[Try]]

    @property
    def drawn(self) -> Sequence[float | None]:
        first = {test.node: test.drawn for tests in self.tries.values() for test in tests[::-1]}
        return [first.get(node) for node in range(len(self.tree))]

    def walk(self, dice: Dice, position: int) -> Outcome:
        node, path, checks = 0, list[int](), list[Check]()
        while True:
            child = self._first_kept(node, dice.at("accept", position + len(path)), checks)
            if child is None:
                break
            path.append(child)
            node = child
        final = dice.at("final", position + len(path)).draw(self.final_law(node)[None])
        return Outcome(tuple(path), int(final), self._origin(node), tuple(checks))

    def final_law(self, node: int) -> Tensor:
        tests = self.tries.get(node)
        return tests[-1].remains if tests else self.p[node]

    def residuals(self, outcome: Outcome) -> list[Remains]:
        made: Counter[int] = Counter()  # tests per parent
        found: list[Remains] = []
        for check in outcome.checks:
            parent = self.tree.parents[check.node]
            test = self.tries[parent][made[parent]]
            made[parent] += 1
            if not check.passed:
                found.append(Remains(test.node, test.left, test.remains))
        return found

    def _first_kept(self, node: int, dice: Dice, checks: list[Check]) -> int | None:
        for place, test in enumerate(self.tries.get(node, ())):
            coin = dice.at(place)
            passed = coin.flip(test.accept)
            checks.append(
                Check(
                    node=test.node,
                    accept_probability=test.accept,
                    u=coin.u,
                    passed=passed,
                    p=test.target,
                    q=test.drawn,
                    mass_before=test.mass,
                )
            )
            if passed:
                return test.node
        return None

    def _origin(self, node: int) -> Origin:
        if len(self.tree) == 1:
            return "plain"
        return "correction" if self.tree.children(node) else "bonus"


def tournament(draft: Draft, p: Tensor, uniform_fallback: bool = False) -> dict[int, list[Try]]:
    """Return per parent the tests of its children, for target laws `p` (N, V).

    `uniform_fallback`: where siblings drawn without replacement outnumber the support of q, D is
    uniform over the tokens not yet tried; without it D is zero, and further siblings always fail.
    """
    return _Tournament(draft, p, uniform_fallback).tests()


class _Tournament:
    """Tries the first child at all parents at once, then the second at those that have it, and so
    on: (P, V) tensors throughout.
    """

    def __init__(self, draft: Draft, p: Tensor, uniform_fallback: bool) -> None:
        self._draft, self._tree, self._p = draft, draft.tree, p
        self._uniform_fallback = uniform_fallback
        self._nodes: list[int] = []  # tried, in the order of the columns below
        self._numbers: list[Tensor] = []  # (P, 5): accept, R[x], D[x], mass before, share left
        self._remains: list[Tensor] = []

    def tests(self) -> dict[int, list[Try]]:
        parents, place = [n for n in range(len(self._tree)) if self._tree.children(n)], 0
        remains, mass = self._p[parents], self._p.new_ones(len(parents))
        laws = self._laws(parents, place)
        while parents:
            remains, mass = self._try(place, parents, remains, mass, laws)
            going = [i for i, n in enumerate(parents) if len(self._tree.tries(n)) > place + 1]
            if len(going) < len(parents):
                parents = [parents[i] for i in going]
                remains, mass = remains[going], mass[going]
                laws = None if laws is None else laws[going]
            if parents and laws is not None:
                apart = self._draft.apart is not None
                laws = (
                    self._laws(parents, place + 1) if apart else self._spend(laws, place, parents)
                )
            place += 1
        return self._collect()

    def _laws(self, parents: list[int], place: int) -> Tensor | None:
        """Return the laws (P, V) that the children tried as number `place` were drawn from, None
        when all are fixed.
        """
        draft = self._draft
        if draft.q is None or all(self._is(Sampling.DETERMINISTIC, parents)):
            return None
        own = draft.apart
        rows = [draft.rows[n] if own is None else own.tries[n][place] for n in parents]
        return draft.q[rows].to(self._p)

    def _is(self, sampling: Sampling, parents: list[int]) -> list[bool]:
        return [self._draft.sampling_at(n) is sampling for n in parents]

    def _tokens(self, place: int, parents: list[int]) -> Tensor:
        """Return the tokens (P, 1) that are tried at each parent as number `place`."""
        tokens = [[self._tree.tokens[self._tree.tries(n)[place]]] for n in parents]
        return torch.tensor(tokens, device=self._p.device)

    def _try(
        self, place: int, parents: list[int], remains: Tensor, mass: Tensor, laws: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Note the test number `place` at every parent; return R and its share of p after a
        rejection.
        """
        x = self._tokens(place, parents)
        given = remains.gather(1, x)
        less, offered = self._rest(parents, remains, laws, x)
        accept = torch.where(offered > 0, given / offered, 0.0).clamp(max=1)
        left = less.sum(dim=1, keepdim=True)
        # nothing left: acceptance was certain up to rounding, and R stays what it was
        after = torch.where(left > 0, less / left, remains)
        share = left.clamp(max=1)  # a sum of many small masses can come out above 1
        numbers = torch.cat([accept, given, offered, mass[:, None], share], dim=1)
        self._nodes += [self._tree.tries(n)[place] for n in parents]
        self._numbers.append(numbers)
        self._remains += after.unbind()
        return after, mass * share[:, 0]

    def _rest(
        self, parents: list[int], remains: Tensor, laws: Tensor | None, x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what a miss of the tokens `x` makes of R (P, V), not rescaled, and D[x] (P, 1)."""
        if laws is None:
            return remains.scatter(1, x, 0.0), torch.ones_like(x, dtype=remains.dtype)
        less, offered = (remains - laws).clamp(min=0), laws.gather(1, x)
        fixed = self._is(Sampling.DETERMINISTIC, parents)
        if any(fixed):
            mark = torch.tensor(fixed, device=remains.device)[:, None]
            less = torch.where(mark, remains.scatter(1, x, 0.0), less)
            offered = torch.where(mark, 1.0, offered)
        return less, offered

    def _spend(self, laws: Tensor, place: int, parents: list[int]) -> Tensor:
        """Take the token tried as number `place` out of D where siblings were drawn without
        replacement.
        """
        distinct = self._is(Sampling.DISTINCT, parents)
        if not any(distinct):
            return laws
        less = laws.scatter(1, self._tokens(place, parents), 0.0)
        total = less.sum(dim=1, keepdim=True)
        spent = less / torch.where(total > 0, total, 1.0)
        if self._uniform_fallback:
            spent = torch.where(total > 0, spent, self._untried(laws, place, parents))
        if all(distinct):
            return spent
        return torch.where(torch.tensor(distinct, device=laws.device)[:, None], spent, laws)

    def _untried(self, laws: Tensor, place: int, parents: list[int]) -> Tensor:
        """Return laws (P, V), uniform over the tokens not tried up to number `place`."""
        tried = [self._tokens(earlier, parents) for earlier in range(place + 1)]
        rest = torch.ones_like(laws).scatter(1, torch.cat(tried, dim=1), 0.0)
        return rest / rest.sum(dim=1, keepdim=True).clamp(min=1)

    def _collect(self) -> dict[int, list[Try]]:
        tries: dict[int, list[Try]] = {}
        if self._nodes:
            numbers = torch.cat(self._numbers).T.cpu()  # the one transfer
            accept = floats(numbers[0])
            given, offered, mass, left = float_rows(six_digits(numbers[1:].double().numpy()))
            for i, node in enumerate(self._nodes):
                parent = self._tree.parents[node]
                fixed = self._draft.sampling_at(parent) is Sampling.DETERMINISTIC
                drawn = None if fixed else offered[i]
                test = Try(node, accept[i], given[i], drawn, mass[i], left[i], self._remains[i])
                tries.setdefault(parent, []).append(test)
        return tries
