"""SpecTr: what both of its rules have in common, its settings, and what a round's record keeps."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from core.decode import decode, start
from core.dice import Dice, SeededDice
from core.extras import KSeqExtras, TransportExtras
from core.laws import Law
from core.models.base import Scores
from core.registry import Models, get
from core.shapes.levels import Levels
from core.shapes.sequences import Sequences
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.validate import TraceError, validate_round
from core.verify.base import Context, Verifier
from core.verify.kseq import POINTS, KSeq
from core.verify.rejection import RecursiveRejection
from core.verify.transport import Transport
from tests import exact
from tests.candidates import RAW, random_draft, real_round
from tests.exactness import error
from tests.sheet import decoder
from tests.toys import WORLDS, World

pytestmark = pytest.mark.matrix

PLANNED = 1e-9  # how exact a rule behind a solver must be


@pytest.mark.parametrize("rule", [KSeq(), Transport()], ids=["k_seq", "transport"])
def test_levels_drawn_with_replacement_are_valid_too(rule: Verifier) -> None:
    shape = Levels((2, 1), Sampling.INDEPENDENT)
    toy = WORLDS["one token overrated"](2)
    assert error(decoder(shape, rule), toy, Law(1), rounds=1) < PLANNED


@pytest.mark.parametrize("toy", WORLDS)
def test_one_draft_is_decided_as_by_the_standard_rule(toy: str) -> None:
    """Same dice, same numbers, same verdict."""
    target, draft = WORLDS[toy](3).models()
    written = []
    for rule in (KSeq(), Transport(), RecursiveRejection()):
        built = decoder(Sequences(1, 3), rule)(Models(target, draft))
        state = start(WORLDS[toy](3).prompt, target, built, Law(1), 12)
        written.append(list(decode(state, SeededDice(3), lambda: 0.0)))
    for k_seq, planned, other in zip(*written, strict=True):
        assert k_seq.outcome.emitted == other.outcome.emitted
        assert planned.outcome.emitted == other.outcome.emitted
        for mine, known in zip(k_seq.checks, other.checks, strict=True):
            assert (mine.node, mine.u, mine.passed) == (known.node, known.u, known.passed)
            assert mine.accept_probability == pytest.approx(known.accept_probability, abs=1e-12)
        for mine, known in zip(planned.checks, other.checks, strict=True):
            assert mine.accept_probability == pytest.approx(known.accept_probability, abs=1e-6)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), size=st.integers(1, 5), drafts=st.integers(1, 5))
def test_what_is_left_is_a_law(seed: int, size: int, drafts: int) -> None:
    draft, scores = random_draft(seed, size, drafts, 2)
    for rule in (KSeq(), Transport()):
        table = rule.prepare(draft, scores, RAW)
        for node in range(len(draft.tree)):
            law = table.final_law(node)
            assert float(law.sum()) == pytest.approx(1, abs=1e-12)
            assert bool((law >= 0).all())
            assert not bool(law[table.p[node] == 0].any())


@pytest.mark.parametrize("rule", [KSeq(), Transport()], ids=["k_seq", "transport"])
def test_at_target_temperature_zero_a_candidate_stays_exactly_if_it_is_the_favourite(
    rule: KSeq | Transport,
) -> None:
    draft, _ = random_draft(5, 4, 3, 1)
    offered = {draft.tree.tokens[child] for child in draft.tree.children(0)}
    for favourite in range(4):
        logits = torch.zeros((len(draft.tree), 4), dtype=torch.float64)
        logits[0, favourite] = 1
        table = rule.prepare(draft, Scores(logits), Context((0,), Law(0)))
        outcome = table.walk(SeededDice(1), 1)
        assert outcome.tokens(draft)[0] == favourite
        assert len(outcome.path) == (favourite in offered)
        assert not table.reasons(outcome)


@pytest.mark.parametrize("rule", [KSeq(), Transport()], ids=["k_seq", "transport"])
def test_fixed_children_are_tried_by_what_remains_of_p(rule: KSeq | Transport) -> None:
    tree = DraftTree.root(0).extended([0, 0, 1], [2, 1, 0])
    p = torch.tensor([[0.5, 0.3, 0.2]] * 4, dtype=torch.float64)
    draft, scores = Draft(tree), Scores(p.log())
    table = rule.prepare(draft, scores, RAW)

    def first(dice: Dice) -> int:
        return table.walk(dice, 1).tokens(draft)[0]

    assert exact.law(first) == pytest.approx({0: 0.5, 1: 0.3, 2: 0.2}, abs=1e-12)
    for seed in range(6):
        mine = table.walk(SeededDice(seed), 1)
        known = RecursiveRejection().prepare(draft, scores, RAW).walk(SeededDice(seed), 1)
        assert (mine.path, mine.final, mine.origin) == (known.path, known.final, known.origin)
        assert [(c.node, c.passed) for c in mine.checks] == [
            (c.node, c.passed) for c in known.checks
        ]


def test_equal_laws_never_reject_in_single_precision() -> None:
    laws = torch.rand((1, 50_000), generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    draft, _ = real_round(50_000, 4)
    draft = Draft(draft.tree, Sampling.INDEPENDENT, q=laws, rows={0: 0})
    scores = Scores(laws.log().expand(len(draft.tree), -1))
    for rule in (KSeq(), Transport()):
        table = rule.prepare(draft, scores, RAW)
        (extra,) = table.extras(table.walk(SeededDice(0), 1))
        assert extra.nodes[0].accept > 1 - 1e-5
        assert torch.isfinite(table.final_law(0)).all()


def test_at_draft_temperature_zero_all_drafts_are_one() -> None:
    toy = WORLDS["different laws"](3)
    rounds = rounds_of({"drafts": 4, "length": 3}, toy, Law(0))
    assert all(r.drafted == r.max_depth for r in rounds)
    assert max(r.drafted for r in rounds) == 3
    assert all(not r.extras for r in rounds)
    reasons = {reason for r in rounds for reason in r.nodes.reason}
    assert reasons <= {"", "argmax", "not_argmax", "parent_rejected", "parent_unreached"}


def rounds_of(values: dict[str, object], toy: World, law: Law, seed: int = 0) -> list[Round]:
    target, draft = toy.models()
    built = get("spectr").build({"drafter": "model", **values}, Models(target, draft))
    state = start(toy.prompt, target, built, law, 24)
    return list(decode(state, SeededDice(seed), lambda: 0.0))


@pytest.mark.parametrize("rule", ["k_seq", "transport"])
def test_the_record_tells_every_visited_node(rule: str) -> None:
    toy, vocabulary = WORLDS["different laws"](4), dict.fromkeys(range(4), b"x")
    met: set[str] = set()
    for seed in range(6):
        for r in rounds_of({"drafts": 4, "length": 3, "rule": rule}, toy, Law(1), seed)[1:]:
            if not r.drafted:
                continue
            validate_round(r, vocabulary)
            (extra,) = r.extras
            assert isinstance(extra, KSeqExtras | TransportExtras)
            parents = [r.nodes.parent[check.node] for check in r.checks]
            assert [node.node for node in extra.nodes] == list(dict.fromkeys(parents))
            left = [node.drafts for node in extra.nodes]
            assert left == sorted(left, reverse=True)
            assert left[0] == 4
            for node in extra.nodes:
                assert node.accept <= node.best
                if isinstance(extra, KSeqExtras):
                    _check_curves(extra, r)
            met |= {r.nodes.reason[check.node] for check in r.checks}
    name = "p/(rho q)" if rule == "k_seq" else "plan"
    assert met == {f"u<{name}", f"u>={name}"}


def _check_curves(extra: KSeqExtras, r: Round) -> None:
    for node in extra.nodes:
        assert len(node.grid) == len(node.reach) == len(node.spent) <= POINTS
        assert node.accept == pytest.approx(node.rho * node.beta, abs=1e-5)
        for rho, reach_, spent in zip(node.grid, node.reach, node.spent, strict=True):
            assert (reach_ - spent) * (node.rho - rho) >= -1e-5
        for check in r.checks:
            if r.nodes.parent[check.node] == node.node:
                assert check.p is not None
                assert check.q
                ratio = check.p / (node.rho * check.q)
                assert check.accept_probability == pytest.approx(min(1, ratio), abs=1e-5)


def test_distinct_siblings_are_refused_with_the_reason() -> None:
    tree = DraftTree.root(0).extended([0, 0], [0, 1])
    draft = Draft(tree, Sampling.DISTINCT, q=torch.full((1, 3), 1 / 3), rows={0: 0})
    for rule in (KSeq(), Transport()):
        with pytest.raises(ValueError, match="not valid for siblings drawn without replacement"):
            rule.prepare(draft, Scores(torch.zeros(3, 3)), RAW)


def test_more_drafts_than_a_round_may_hold_are_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="Draft length is 32: with 16 drafts that would be 512"):
        get("spectr").configure({"drafts": 16, "length": 32})


@pytest.mark.parametrize(
    ("rule", "change", "said"),
    [
        ("k_seq", {"node": 99}, "no such node"),
        ("k_seq", {"grid": [1.0]}, "differ in length"),
        ("k_seq", {"rho": 9.0}, "rho is 9; it lies between 1 and the number"),
        ("transport", {"size": [1]}, "columns differ in length"),
        ("transport", {"sets": [[99]]}, "that does not exist"),
        ("transport", {"mass": [0.5]}, "rows differ in number"),
        ("transport", {"by_plan": []}, "rows differ in number"),
    ],
)
def test_a_damaged_record_is_told_in_one_sentence(
    rule: str, change: dict[str, object], said: str
) -> None:
    toy, vocabulary = WORLDS["different laws"](4), dict.fromkeys(range(4), b"x")
    made = rounds_of({"drafts": 4, "length": 1, "rule": rule}, toy, Law(1))
    r = next(r for r in made if r.extras)
    extra = r.extras[0]
    assert isinstance(extra, KSeqExtras | TransportExtras)
    damaged = structs.replace(extra, nodes=[structs.replace(extra.nodes[0], **change)])
    with pytest.raises(TraceError, match=said):
        validate_round(structs.replace(r, extras=[damaged]), vocabulary)


def test_rows_of_a_plan_that_do_not_add_up_are_told() -> None:
    toy = WORLDS["different laws"](4)
    made = rounds_of({"drafts": 4, "length": 1, "rule": "transport"}, toy, Law(1))
    r = next(r for r in made if r.extras)
    (extra,) = r.extras
    assert isinstance(extra, TransportExtras)
    node = extra.nodes[0]
    rows = [[0.9] * len(row) for row in node.by_plan]
    damaged = structs.replace(extra, nodes=[structs.replace(node, by_plan=rows)])
    with pytest.raises(TraceError, match="a row adds up to"):
        validate_round(structs.replace(r, extras=[damaged]), dict.fromkeys(range(4), b"x"))
