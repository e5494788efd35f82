"""Recursive rejection sampling: at each node the drafted children are tried in order against what
remains of p.

With R = p and D = q, child x stays with probability min(1, R[x] / D[x]); after a rejection R
becomes norm((R - D)+), and without replacement D loses x and is rescaled. If every child fails, the
round ends with a token drawn from R; at a leaf, with one drawn from p. Exact for every drafter:

* one drawn child: speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv
  2302.01318);
* drawn with replacement: multi-step speculative sampling (SpecInfer, arXiv 2305.09781);
* drawn without replacement: RSD (arXiv 2402.14160), where siblings must be tried in the order
  drawn;
* fixed children (arg-max, top-k, a lookup): the draft's law is one-hot, so x stays with probability
  R[x], and a rejection takes x out of R.

At temperature 0 p is one-hot, and each of these is greedy matching.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.dice import Dice
from core.host import float_rows, floats
from core.models.base import Scores
from core.reduce import six_digits
from core.trace import Check, Origin
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome, PlainTable, Remains, check_draft


class RecursiveRejection:
    """The rule; it has no settings."""

    name = "Recursive rejection"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT, Sampling.DISTINCT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> RejectionTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        return _Tournament(draft, context.law(scores.logits)).table()


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
class RejectionTable(PlainTable):
    """Target laws in use (N, V), and per node the tests of its children, in the order drawn."""

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


class _Tournament:
    """Tries the first child at all parents at once, then the second at those that have it, and so
    on: (P, V) tensors throughout.
    """

    def __init__(self, draft: Draft, p: Tensor) -> None:
        self._draft, self._tree, self._p = draft, draft.tree, p
        self._nodes: list[int] = []  # tried, in the order of the columns below
        self._numbers: list[Tensor] = []  # (P, 5): accept, R[x], D[x], mass before, share left
        self._remains: list[Tensor] = []

    def table(self) -> RejectionTable:
        parents = [n for n in range(len(self._tree)) if self._tree.children(n)]
        remains, mass, laws = self._p[parents], self._p.new_ones(len(parents)), self._laws(parents)
        place = 0
        while parents:
            remains, mass, laws = self._try(place, parents, remains, mass, laws)
            place += 1
            going = [i for i, n in enumerate(parents) if len(self._tree.tries(n)) > place]
            if len(going) < len(parents):
                parents = [parents[i] for i in going]
                remains, mass = remains[going], mass[going]
                laws = None if laws is None else laws[going]
        return self._collect()

    def _laws(self, parents: list[int]) -> Tensor | None:
        """Return the laws (P, V) that the children were drawn from, None when all are fixed."""
        draft = self._draft
        if draft.q is None or all(self._is(Sampling.DETERMINISTIC, parents)):
            return None
        return draft.q[[draft.rows[n] for n in parents]].to(self._p)

    def _is(self, sampling: Sampling, parents: list[int]) -> list[bool]:
        return [self._draft.sampling_at(n) is sampling for n in parents]

    def _try(
        self, place: int, parents: list[int], remains: Tensor, mass: Tensor, laws: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Note the test number `place` at every parent; return R, its share of p, and D after a
        rejection.
        """
        device = remains.device
        children = [self._tree.tries(n)[place] for n in parents]
        x = torch.tensor([[self._tree.tokens[child]] for child in children], device=device)
        given = remains.gather(1, x)
        less = remains.scatter(1, x, 0.0)
        offered = torch.ones_like(given)
        if laws is not None:
            fixed = torch.tensor(self._is(Sampling.DETERMINISTIC, parents), device=device)[:, None]
            offered = torch.where(fixed, offered, laws.gather(1, x))
            less = torch.where(fixed, less, (remains - laws).clamp(min=0))
        accept = torch.where(offered > 0, given / offered, 0.0).clamp(max=1)
        left = less.sum(dim=1, keepdim=True)
        # nothing left: acceptance was certain up to rounding, and R stays what it was
        after = torch.where(left > 0, _rescaled(less, left), remains)
        numbers = torch.cat([accept, given, offered, mass[:, None], left.clamp(max=1)], dim=1)
        self._nodes += children
        self._numbers.append(numbers)
        self._remains += after.unbind()
        return after, mass * left[:, 0], None if laws is None else self._spend(laws, parents, x)

    def _spend(self, laws: Tensor, parents: list[int], x: Tensor) -> Tensor:
        """Take the tried token out of D where children were drawn without replacement."""
        distinct = torch.tensor(self._is(Sampling.DISTINCT, parents), device=laws.device)
        less = laws.scatter(1, x, 0.0)
        return torch.where(distinct[:, None], _rescaled(less, less.sum(dim=1, keepdim=True)), laws)

    def _collect(self) -> RejectionTable:
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
        return RejectionTable(self._tree, self._p, tries)


def _rescaled(weights: Tensor, total: Tensor) -> Tensor:
    return weights / total.clamp(min=torch.finfo(total.dtype).tiny)
