"""Recursive rejection sampling: at each node the drafted children are tried in order against what
remains of p.

With R = p and D = q, child x stays with probability min(1, R[x] / D[x]); after a rejection R
becomes norm((R - D)+), and without replacement D loses x and is rescaled. If every child fails, the
round ends with a token drawn from R; at a leaf, with one drawn from p. Exact for every drafter:

* one drawn child: speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv
  2302.01318);
* drawn with replacement: multi-step speculative sampling (SpecInfer, arXiv 2305.09781);
* drawn without replacement: RSD (arXiv 2402.14160), where siblings must be tried in the order
  drawn; where they outnumber the support of q, Sequoia (arXiv 2402.12374) goes on with tokens drawn
  uniformly from those not yet tried;
* fixed children (arg-max, top-k, a lookup): the draft's law is one-hot, so x stays with probability
  R[x], and a rejection takes x out of R.

At temperature 0 p is one-hot, and each of these is greedy matching.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.models.base import Scores
from core.parts import rule
from core.tree import Draft, Sampling
from core.verify.base import Context, check_draft
from core.verify.tournament import TournamentTable, tournament

_FIXED = Sampling.DETERMINISTIC


@dataclass(frozen=True, slots=True)
class RecursiveRejection:
    """The rule. It follows the draft in how the siblings came about; `samplings` can narrow that.

    `uniform_fallback`: siblings that outnumber the support of q were drawn uniformly from the
    tokens not yet tried (`core.shapes.draws.distinct`). Off, such siblings are never kept: exact
    too, but of no use.
    """

    name: str = "Recursive rejection"
    samplings: frozenset[Sampling] = frozenset({_FIXED, Sampling.INDEPENDENT, Sampling.DISTINCT})
    uniform_fallback: bool = False
    chain_only = False

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> TournamentTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        p = context.law(scores.logits)
        return TournamentTable(draft.tree, p, tournament(draft, p, self.uniform_fallback))


WITH_REPLACEMENT = RecursiveRejection(
    "Recursive rejection with replacement", frozenset({_FIXED, Sampling.INDEPENDENT})
)
WITHOUT_REPLACEMENT = RecursiveRejection(
    "Recursive rejection without replacement", frozenset({_FIXED, Sampling.DISTINCT})
)

PARTS = (
    rule(
        "rejection",
        "Recursive rejection",
        "Tries the siblings one by one against what the earlier ones left of p.",
        "Leviathan et al. 2023; Miao et al. 2023; Jeon et al. 2024",
        RecursiveRejection,
    ),
)
