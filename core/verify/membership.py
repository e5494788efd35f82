"""Naive sampling: the target draws its own token, and goes on if that token was drafted.

MCNS in MCSD (arXiv 2401.06706), naive sampling in SpecInfer (arXiv 2305.09781). One token is drawn
from p; if it is among the children the walk goes on there, else it ends the round. What the draft
gave the children plays no part, so that the rule is exact for siblings of any kind, and keeps least
of all rules: sum of p over the children.

The draw is made as one dart per child, each at the child's share of what p has left: x stays with
probability R[x], and a miss takes x out of R. That has the law of a single draw, shares its luck
with the other rules, and shows child by child what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.models.base import Scores
from core.parts import rule
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, check_draft
from core.verify.tournament import TournamentTable, tournament


@dataclass(frozen=True, slots=True)
class NaiveMembership:
    """The rule; it has no settings."""

    name = "Naive membership"
    chain_only = False
    samplings = frozenset(Sampling)

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> MembershipTable:
        check_draft(self, draft)
        p, tree = (
            context.law(scores.logits),
            replace(draft.tree, offers={}),
        )  # a child is tried once
        fixed = replace(draft, tree=tree, sampling=Sampling.DETERMINISTIC, mixed={})
        return MembershipTable(draft.tree, p, tournament(fixed, p), context.law.is_greedy)


@dataclass(frozen=True, slots=True)
class MembershipTable(TournamentTable):
    """One round, ready to be decided. `greedy`: the draw is the arg-max, which has other words."""

    greedy: bool

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        if self.greedy:
            return {}
        told = {True: "target_drew_it", False: "target_drew_another"}
        return {check.node: told[check.passed] for check in outcome.checks}


PARTS = (
    rule(
        "membership",
        "Naive membership",
        "The target draws its own token, and goes on if that token was drafted.",
        "Miao et al. 2023; Yang et al. 2024",
        NaiveMembership,
    ),
)
