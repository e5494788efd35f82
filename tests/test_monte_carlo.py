"""The real dice: 20,000 seeded rounds of every rule write the target's law, as a chi-square test
sees it. All other exactness tests replace the dice by an enumerator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from scipy.stats import chisquare

from core.dice import Dice, SeededDice
from core.laws import Law
from core.models.base import Scores
from core.shapes.base import once_each
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Table, Verifier
from core.verify.block import BlockVerification
from core.verify.greedy_draft import GreedyDraft
from core.verify.kseq import KSeq
from core.verify.membership import NaiveMembership
from core.verify.rejection import RecursiveRejection
from core.verify.selection import CanonicalDecomposition
from core.verify.transport import Transport
from tests.selections import SNIS
from tests.sheet import P, Q
from tests.slow_rejection import Row, SlowRejection

pytestmark = pytest.mark.matrix

THROWS = 20_000
SUSPICIOUS = 1e-4  # a sound rule falls below this once in ten thousand runs; the seeds are fixed
WITH, WITHOUT, FIXED = Sampling.INDEPENDENT, Sampling.DISTINCT, Sampling.DETERMINISTIC
BOTH = Sampling.TOP_AND_ONE


def tree_of(drawn: Sequence[int], chain: bool) -> DraftTree:
    root = DraftTree.root(0)
    if chain:
        return root.extended(range(len(drawn)), drawn)
    return root.extended(*once_each([(0, drawn)], 1))


def draft_of(drawn: Sequence[int], kind: Sampling, chain: bool, q: torch.Tensor) -> Draft:
    tree = tree_of(drawn, chain)
    scored = range(len(drawn)) if chain else range(1)
    laws = q.expand(len(scored), -1)
    return Draft(tree, kind, q=laws, rows={node: node for node in scored})


def drawn_by(dice: Dice, kind: Sampling, q: torch.Tensor, count: int) -> tuple[int, ...]:
    if kind is FIXED:
        return tuple(q[0].topk(count).indices.tolist())
    if kind is BOTH:
        top = q.topk(count - 1).indices
        one = dice.at("draft").draw(q.scatter(1, top, 0.0))
        return tuple(torch.cat([top, one], dim=1)[0].tolist())
    return tuple(dice.at("draft").draw(q, count, replace=kind is WITH)[0].tolist())


def suspicion(rule: Verifier, kind: Sampling, count: int, chain: bool = False) -> float:
    """Return how likely first tokens at least as far from p would be, if their law were p."""
    p, q = (torch.tensor([law["F1"]], dtype=torch.float64) for law in (P, Q))
    known: dict[tuple[int, ...], tuple[Draft, Table]] = {}
    written: Counter[int] = Counter()
    for throw in range(THROWS):
        dice = SeededDice(throw)
        drawn = drawn_by(dice, kind, q, count)
        if drawn not in known:
            draft = draft_of(drawn, kind, chain, q)
            scores = Scores(p.log().expand(len(draft.tree), -1))
            known[drawn] = draft, rule.prepare(draft, scores, Context((0,), Law(1)))
        draft, table = known[drawn]
        written[table.walk(dice, 1).tokens(draft)[0]] += 1
    expected = [THROWS * mass for mass in P["F1"]]
    return float(chisquare([written[token] for token in range(3)], expected).pvalue)


@pytest.mark.parametrize(
    ("rule", "kind", "count", "chain"),
    [
        (RecursiveRejection(), WITHOUT, 1, False),
        (RecursiveRejection(), WITHOUT, 2, False),
        (RecursiveRejection(), WITH, 2, False),
        (RecursiveRejection(), FIXED, 2, False),
        (NaiveMembership(), WITHOUT, 2, False),
        (BlockVerification(), WITH, 3, True),
        (KSeq(), WITH, 3, False),
        (Transport(), WITH, 2, False),
        (CanonicalDecomposition(), WITH, 3, False),
        (CanonicalDecomposition(SNIS), WITH, 2, False),
        (GreedyDraft(), BOTH, 2, False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_first_tokens_of_seeded_rounds_have_the_target_s_law(
    rule: Verifier, kind: Sampling, count: int, chain: bool
) -> None:
    assert suspicion(rule, kind, count, chain) > SUSPICIOUS


class FinalFromTarget(SlowRejection):
    """The final token after a rejection comes from p instead of what remains."""

    def replacement(self, p: Row, remains: Row) -> Row:
        return p


def test_a_planted_bug_is_seen() -> None:
    assert suspicion(SlowRejection(), WITHOUT, 2) > SUSPICIOUS
    assert suspicion(FinalFromTarget(), WITHOUT, 2) < SUSPICIOUS**2
