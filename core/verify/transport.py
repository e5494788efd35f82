"""Optimal transport: which of K independent candidates stays is decided by the best plan there is.

From the law of the candidates to the target's law, a linear program moves as much mass as it can
onto candidates (`core.verify.plan`). Given the tokens that were drawn, the plan names the chance of
each to stay; what it leaves of p is the law of the token if none does. No rule for the same
candidates keeps more. That holds for small alphabets; with bundles a little is given away, and the
law of the text is the target's all the same.

SpecTr: Sun et al., arXiv 2310.15141, which states the program and solves it for small alphabets
only. A program per visited node takes some milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.extras import TransportExtras
from core.host import Floats
from core.models.base import Scores
from core.parts import rule
from core.tree import Draft, Sampling
from core.verify.alphabet import alphabet
from core.verify.base import Context, Outcome, check_draft
from core.verify.candidates import CandidateTable, Try, Visit, law_of
from core.verify.coupling import told
from core.verify.plan import Plan, plan


class Transport:
    """The rule; it has no settings."""

    name = "Optimal transport"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> TransportTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        return TransportTable(draft, context.law(scores.logits), context.law.is_greedy)


@dataclass(frozen=True, slots=True)
class PlanVisit(Visit):
    """`tokens`: the candidates in the order drawn, repeats included."""

    tokens: tuple[int, ...]
    plan: Plan


class TransportTable(CandidateTable):
    """One round, ready to be decided."""

    compared = "plan"

    def decide(self, node: int, p: Floats, q: Floats) -> PlanVisit:
        tree = self.draft.tree
        drawn = tree.tries(node)
        tokens = tuple(tree.tokens[child] for child in drawn)
        best = plan(alphabet(p, q, len(drawn)))
        child_of = dict(zip(tokens, drawn, strict=True))
        tries, missed = list[Try](), 1.0  # chance that all so far fail
        for token, chance in best.chances(tokens).items():
            tries.append(Try(child_of[token], min(1.0, chance / missed) if missed > 0 else 0.0))
            missed -= chance
        remains = law_of(best.symbols.target - best.kept, self.p[node])
        return PlanVisit(tries, remains, tokens, best)

    def extras(self, outcome: Outcome) -> tuple[TransportExtras, ...]:
        visits = [
            told(node, visit.plan, visit.tokens)
            for node, visit in self.visited(outcome)
            if isinstance(visit, PlanVisit)
        ]
        return (TransportExtras(nodes=visits),) if visits else ()


PARTS = (
    rule(
        "transport",
        "Optimal transport",
        "Choose among independent candidates by the best plan, the solution of a linear program.",
        "Sun et al. 2023, arXiv 2310.15141",
        Transport,
    ),
)
