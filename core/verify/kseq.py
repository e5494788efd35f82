"""K-SEQ: K independent candidates are tried in order, each against p / (rho q).

Testing them all with p/q would give too much to tokens that the drafter favours. A factor rho > 1
makes room: with beta = sum of min(q, p/rho), K candidates take A = 1 - (1 - beta)^K, and rho* is
the smallest factor for which that is no more than rho beta (`core.verify.crossing`). If all fail,
the token comes from norm(p - min(q, p/rho) A/beta), which at rho* is norm((p - rho q)+): nothing is
left on a token that could have been rejected. For K = 1 rho* is 1, and the rule is that of
speculative sampling.

SpecTr: Sun et al., arXiv 2310.15141. The paper gives no code. Within 1 - (1 - 1/K)^K of the best
acceptance that any rule can have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.bounds.bins import independent_optimum
from core.extras import KSeqExtras, KSeqNode
from core.host import Floats, float_rows, floats
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, check_draft
from core.verify.candidates import CandidateTable, Try, Visit, law_of
from core.verify.crossing import Crossing, crossing

POINTS = 48  # of a recorded curve


class KSeq:
    """The rule; it has no settings."""

    name = "K-SEQ"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT})

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> KSeqTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        return KSeqTable(draft, context.law(scores.logits), context.law.is_greedy)


@dataclass(frozen=True, slots=True)
class KSeqVisit(Visit):
    """`curves` of its candidates, which cross at `rho`."""

    curves: Crossing
    rho: float


class KSeqTable(CandidateTable):
    """One round, ready to be decided."""

    compared = "p/(rho q)"

    def decide(self, node: int, p: Floats, q: Floats) -> KSeqVisit:
        tree = self.draft.tree
        children = tree.tries(node)
        curves = crossing(p, q, len(children))
        rho = curves.root()
        tokens = [tree.tokens[child] for child in children]
        most = rho * q[tokens]
        chances = np.divide(p[tokens], most, out=np.zeros(len(most)), where=most > 0).clip(max=1)
        tries = [Try(c, chance) for c, chance in zip(children, floats(chances), strict=True)]
        remains = law_of(np.maximum(p - rho * q, 0.0), self.p[node])
        return KSeqVisit(tries, remains, curves, rho)

    def extras(self, outcome: Outcome) -> tuple[KSeqExtras, ...]:
        nodes = [
            _told(node, visit)
            for node, visit in self.visited(outcome)
            if isinstance(visit, KSeqVisit)
        ]
        return (KSeqExtras(nodes=nodes),) if nodes else ()


def _told(node: int, visit: KSeqVisit) -> KSeqNode:
    curves, beta = visit.curves, visit.curves.beta(visit.rho)
    accept = min(1.0, visit.rho * beta)
    best = min(1.0, max(accept, independent_optimum(curves.laws, curves.count)))
    grid, reach, spent = curves.curves(POINTS)
    rows = np.stack([grid, reach.clip(0, 1), spent])
    rho, beta, accept, best = floats(six_digits(np.array([visit.rho, beta, accept, best])))
    grid, reach, spent = float_rows(six_digits(rows))
    return KSeqNode(
        node=node,
        drafts=curves.count,
        rho=rho,
        beta=beta,
        accept=accept,
        best=best,
        grid=grid,
        reach=reach,
        spent=spent,
    )


PARTS = (
    rule(
        "k_seq",
        "K-SEQ",
        "Try K independent candidates in order, each against p / (rho q), with the smallest rho "
        "that is exact.",
        "Sun et al. 2023, arXiv 2310.15141",
        KSeq,
    ),
)
