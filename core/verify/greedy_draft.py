"""The rule for greedy drafts: the drawn child is tried first, and the likeliest keep their share of
p.

Hu et al., arXiv 2502.18779; no code was published, and this coupling is the simplest of those that
reach the optimum. The children of a node are the tokens T, chosen without chance, and last in the
tree y, drawn from q', which is q without T, rescaled. With p the target's law:

    y stays with probability min(1, p[y] / q'[y]);
    else a token z is drawn from norm((p - q')+), and the walk goes on there if z is in T.

That is speculative sampling with the draft law q', so that the text keeps the law p. q' is 0 on T:
T keeps all of its p, and the acceptance is p(T) + sum over the others of min(p, q'), the most that
any rule can reach with such drafts (`core.bounds.prefix`). To try T before y would give less.

z is drawn as one dart per token of T, each at the token's share of what is left, which has the same
law and shows child by child what became of it. Fixed children only, as at temperature 0 or where T
is all that q can draw: there is no y, and z comes from p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.bounds.record import Visit, visited_bounds
from core.extras import Extras, PrefixExtras
from core.host import float_rows, floats
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, check_draft
from core.verify.tournament import TournamentTable, Try

_RECORDED = 4  # nodes of a round whose laws the record compares


@dataclass(frozen=True, slots=True)
class GreedyDraft:
    """The rule; it has no settings."""

    name = "Greedy draft verification"
    chain_only = False
    samplings = frozenset({Sampling.TOP_AND_ONE, Sampling.DETERMINISTIC})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> GreedyDraftTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        p = context.law(scores.logits)
        return GreedyDraftTable(draft.tree, p, _tests(draft, p), draft, context.law.is_greedy)


@dataclass(frozen=True, slots=True)
class GreedyDraftTable(TournamentTable):
    """One round, ready to be decided. `greedy`: p is one-hot, which has other words."""

    draft: Draft
    greedy: bool

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        if self.greedy:
            return {}
        fixed = [check for check in outcome.checks if check.q is None]
        return {check.node: "u<p" if check.passed else "u>=p" for check in fixed}

    def extras(self, outcome: Outcome) -> tuple[Extras, ...]:
        tested = dict.fromkeys(self.tree.parents[check.node] for check in outcome.checks)
        nodes = list(tested)[-_RECORDED:]
        q, drawn = self.draft.q, self.draft.sampling is Sampling.TOP_AND_ONE
        if self.greedy or not drawn or q is None or not nodes:
            return ()
        rows = [self.draft.rows[node] for node in nodes]
        both = torch.stack([self.p[nodes], q[rows].to(self.p)]).cpu()  # one transfer
        visits = [
            Visit(node, p, law, len(self.tree.children(node)), self._fixed(node))
            for node, p, law in zip(nodes, both[0], both[1], strict=True)
        ]
        return (PrefixExtras(nodes=visited_bounds(visits, not outcome.checks[-1].passed)),)

    def _fixed(self, node: int) -> list[int]:
        """Return the tokens below `node` that were chosen without chance."""
        children = self.tree.children(node)
        last = -1 if self.draft.sampling_at(node) is Sampling.TOP_AND_ONE else len(children)
        return [self.tree.tokens[child] for child in children[:last]]


def _tests(draft: Draft, p: Tensor) -> dict[int, list[Try]]:
    """Return per parent the tests of its children, the drawn one first, for target laws p (N, V).

    Tries the first child at all parents at once, then the second at those that have it, and so on.
    """
    tree = draft.tree
    orders = {n: _order(draft, n) for n in range(len(tree)) if tree.children(n)}
    parents, remains = list(orders), p[list(orders)]
    children, numbers, laws = list[int](), list[Tensor](), list[Tensor]()
    for place in range(max(map(len, orders.values()), default=0)):
        going = [i for i, n in enumerate(parents) if len(orders[n]) > place]
        if len(going) < len(parents):
            parents, remains = [parents[i] for i in going], remains[going]
        tried = [orders[n][place] for n in parents]
        x = torch.tensor([[tree.tokens[child]] for child in tried], device=p.device)
        law = torch.zeros_like(remains).scatter(1, x, 1.0)  # of a fixed child
        if place == 0:
            _put_drawn(law, draft, parents)
        found, remains = _step(remains, law, x)
        children += tried
        numbers.append(found)
        laws += remains.unbind()
    return _collected(draft, children, numbers, laws)


def _order(draft: Draft, node: int) -> tuple[int, ...]:
    children = draft.tree.children(node)
    if draft.sampling_at(node) is Sampling.TOP_AND_ONE:
        return (children[-1], *children[:-1])
    return children


def _put_drawn(law: Tensor, draft: Draft, parents: Sequence[int]) -> None:
    """Write q' into the rows (P, V) of those `parents` of whose children one was drawn."""
    rows = [i for i, n in enumerate(parents) if draft.sampling_at(n) is Sampling.TOP_AND_ONE]
    if draft.q is None or not rows:
        return
    q = draft.q[[draft.rows[parents[i]] for i in rows]].to(law)
    fixed = [
        (place, draft.tree.tokens[child])
        for place, i in enumerate(rows)
        for child in draft.tree.children(parents[i])[:-1]
    ]
    if fixed:
        places, tokens = torch.tensor(fixed, device=q.device).T
        q = q.index_put((places, tokens), q.new_zeros(()))
    law[rows] = q / q.sum(dim=1, keepdim=True)


def _step(remains: Tensor, law: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Try tokens x (P, 1), drawn from `law` (P, V): return accept, R[x], D[x] and the share left
    (P, 4), and R after a miss.
    """
    given, offered = remains.gather(1, x), law.gather(1, x)
    less = (remains - law).clamp(min=0)
    left = less.sum(dim=1, keepdim=True)
    # nothing left: acceptance was certain up to rounding, and R stays what it was
    after = torch.where(left > 0, less / left, remains)
    accept = (given / offered).clamp(max=1)
    return torch.cat([accept, given, offered, left.clamp(max=1)], dim=1), after


def _collected(
    draft: Draft, children: Sequence[int], numbers: Sequence[Tensor], laws: Sequence[Tensor]
) -> dict[int, list[Try]]:
    if not children:
        return {}
    columns = torch.cat(list(numbers)).T.cpu()  # the one transfer
    accept = floats(columns[0])
    given, offered, left = float_rows(six_digits(columns[1:].double().numpy()))
    tests: dict[int, list[Try]] = {}
    for i, child in enumerate(children):
        parent = draft.tree.parents[child]
        made = tests.setdefault(parent, [])
        is_drawn = not made and draft.sampling_at(parent) is Sampling.TOP_AND_ONE
        mass = made[-1].mass * made[-1].left if made else 1.0
        drawn = offered[i] if is_drawn else None
        made.append(Try(child, accept[i], given[i], drawn, mass, left[i], laws[i]))
    return tests


PARTS = (
    rule(
        "greedy_draft",
        "Greedy draft verification",
        "The drawn child is tried first, and the likeliest keep their share of the target's law.",
        "Hu et al. 2025",
        GreedyDraft,
    ),
)
