"""Numbers of the record where logarithms are hard: zeros in a table, and laws that underflow."""

from __future__ import annotations

from math import log

import pytest
import torch

from core.decode import decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.base import Scores
from core.models.toy import ToyModel, tabulated
from core.record import record
from core.reduce import fetch, reduce_round
from core.registry import Models, get
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome
from core.verify.rejection import RecursiveRejection


def test_a_table_with_zeros_has_its_entropy_and_its_one_finite_divergence() -> None:
    p, q = (0.5, 0.5, 0.0), (0.2, 0.3, 0.5)
    target, draft = ToyModel(tabulated({}, p), 3), ToyModel(tabulated({}, q), 3)
    decoder = get("speculative_sampling").build({"drafter": "model"}, Models(target, draft))
    state = start([0], target, decoder, Law(1.0), 6)
    made = [r for r in decode(state, SeededDice(0), lambda: 0.0) if r.drafted]
    assert made
    for r in made:
        scalars = r.scalars
        assert scalars.entropy_p[0] == pytest.approx(log(2), abs=1e-5)
        assert scalars.kl_pq[0] == pytest.approx(
            sum(a * log(a / b) for a, b in zip(p, q, strict=True) if a), abs=1e-5
        )
        assert scalars.kl_qp[0] is None


def test_a_divergence_is_finite_where_one_law_underflows() -> None:
    law = Law(0.3)
    p, q = torch.tensor([[0.0, 0.0, -60.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    tree = DraftTree.root(0).extended([0], [2])
    logits = p.expand(2, -1).clone()
    draft = Draft(tree, Sampling.DISTINCT, q=law(q), logits=q, rows={0: 0})
    context, scores = Context((0,), law), Scores(logits)
    table = RecursiveRejection().prepare(draft, scores, context)
    named = fetch(reduce_round(draft, scores, table, Outcome((), 0, "correction"), context, None))
    wide_p, wide_q = (x.double().div(0.3).log_softmax(dim=1)[0] for x in (p, q))
    expected = (wide_p.exp() * (wide_p - wide_q)).sum()
    assert float(named["draft"][3, 0]) == pytest.approx(float(expected), rel=1e-4)


def test_a_drafter_that_cannot_name_all_tokens_has_an_entropy_and_divergences() -> None:
    """Laws that give most of the vocabulary nothing: no number of the record is lost to 0 x inf."""
    chance = torch.Generator().manual_seed(1)
    logits = torch.randn((1, 300), generator=chance)
    part = torch.full((1, 300), -torch.inf)
    part[:, :40] = torch.randn((1, 40), generator=chance)
    law = Law(0.8)
    draft = Draft(
        DraftTree((5, 7), (-1, 0)),
        Sampling.INDEPENDENT,
        q=law(part),
        logits=part,
        rows={0: 0},
        sources=["", "head"],
    )
    scores = Scores(logits.repeat(2, 1))
    context = Context((1, 5), law)
    table = RecursiveRejection().prepare(draft, scores, context)
    outcome = table.walk(SeededDice(0), 2)
    made = record(draft, scores, table, outcome, context, None).scalars
    q, p = part.softmax(1), law(logits)
    used = law(part)
    assert made.entropy_q[0] == pytest.approx(float(-torch.xlogy(q, q).sum()), rel=1e-4)
    divergence = torch.where(used > 0, used * (used.log() - p.log()), 0.0).sum()
    assert made.kl_qp[0] == pytest.approx(float(divergence), rel=1e-4)
    assert made.kl_pq[0] is None
