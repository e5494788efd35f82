"""Typical acceptance: the sheet's thresholds, the longest run, and how far the text drifts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.consistency import round_problems
from core.decode import decode, start
from core.dice import SeededDice
from core.extras import TypicalExtras
from core.laws import Law
from core.models.base import Scores
from core.parts import rules
from core.registry import Models, get
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.typical import TypicalAcceptance, TypicalTable, entropy
from tests import exact
from tests.exactness import TOLERANCE, error, first_round
from tests.sheet import P, Q, configured, distance, emitted
from tests.toys import WORLDS, normed

Rows = Sequence[Sequence[float]]


@pytest.mark.parametrize(
    ("law", "nats", "threshold"),
    [
        ([0.9, 0.1], 0.3251, 0.09),
        ([0.5, 0.3, 0.2], 1.0297, 0.09),
        ([0.25] * 4, math.log(4), 0.075),
        ([0.01] * 100, math.log(100), 0.003),
    ],
)
def test_thresholds_are_the_sheet_s(law: list[float], nats: float, threshold: float) -> None:
    found = float(entropy(torch.tensor([law], dtype=torch.float64)))
    assert found == pytest.approx(nats, abs=5e-5)
    assert TypicalAcceptance().threshold(found) == pytest.approx(threshold, abs=1e-12)


def test_the_thresholds_of_vllm_ascend_can_be_set() -> None:
    made = get("typical_acceptance").configure({"epsilon": 0.95, "delta": 0.4})
    assert made.model_dump()["epsilon"] == 0.95
    assert TypicalAcceptance(0.95, 0.4).threshold(0.0) == 0.4


def test_the_drafter_s_temperature_changes_no_candidate() -> None:
    def text(temperature: float | None) -> list[float]:
        build = configured("typical_acceptance", tree=[2, 1], draft_temperature=temperature)
        return emitted(build, P["F4"], Q["F4"])

    assert text(None) == text(0.0) == text(1.7)


def test_the_defaults_are_not_swapped() -> None:
    settings = get("typical_acceptance").configure({}).model_dump()
    assert (settings["epsilon"], settings["delta"]) == (0.09, 0.3)
    assert TypicalAcceptance() == TypicalAcceptance(epsilon=0.09, delta=0.3)


@pytest.mark.parametrize("token", [0, 1, 2])
def test_whatever_is_drafted_is_the_text_where_the_target_finds_all_tokens_typical(
    token: int,
) -> None:
    """The sheet: for p = (.5, .3, .2) any drafted token is kept with probability 1."""
    p = P["F1"]
    q = [0.8 if t == token else 0.1 for t in range(3)]
    text = emitted(configured("typical_acceptance", tree=[1]), p, q)
    assert text == [float(t == token) for t in range(3)]
    assert distance(text, p) == pytest.approx(1 - p[token], abs=1e-12)


def test_among_candidates_that_all_pass_the_likeliest_is_kept() -> None:
    for width in (2, 3):
        text = emitted(configured("typical_acceptance", tree=[width]), P["F1"], Q["F1"])
        assert text == [float(width == 3), float(width == 2), 0.0]


@pytest.mark.parametrize("own", ["favourite", "draw"])
def test_no_chance_decides_what_is_kept(own: str) -> None:
    build = configured("typical_acceptance", tree=[2, 1], own_token=own)
    rounds = first_round(build, WORLDS["different laws"](3))
    assert len({tuple(outcome.accepted) for outcome, _ in rounds}) == 1


@pytest.mark.parametrize("toy", WORLDS)
def test_at_temperature_zero_the_text_is_the_greedy_one(toy: str) -> None:
    for own in ("favourite", "draw"):
        build = configured("typical_acceptance", tree=[2, 1], own_token=own)
        assert error(build, WORLDS[toy](3), Law(0), rounds=2) < TOLERANCE


def test_the_text_does_not_have_the_target_s_law() -> None:
    build = configured("typical_acceptance", tree=[2, 1])
    assert error(build, WORLDS["different laws"](3), Law(1), rounds=1) > 0.01
    assert not get("typical_acceptance").lossless
    assert not rules()["typical"].lossless


def prepared(
    tree: DraftTree, rows: Rows, rule: TypicalAcceptance | None = None, temperature: float = 1
) -> TypicalTable:
    p = torch.tensor(rows, dtype=torch.float64)
    context = Context((0,), Law(temperature))
    return (rule or TypicalAcceptance()).prepare(Draft(tree), Scores(p.log()), context)


# two runs: 1 then 3, 4 and 2 then 5; 4 is likelier than 3 below 1
FORK = DraftTree.root(0).extended([0, 0, 0, 1, 1, 2], [0, 1, 3, 0, 1, 2])
LAWS = [
    [0.3, 0.65, 0.0, 0.05],
    [0.3, 0.6, 0.1, 0.0],
    [0.1, 0.1, 0.8, 0.0],
    [0.25] * 4,
    [0.7, 0.3, 0.0, 0.0],
    [0.2, 0.2, 0.6, 0.0],
    [0.1, 0.2, 0.7, 0.0],
]


def test_the_longest_run_wins_and_its_log_probabilities_break_ties() -> None:
    outcome = prepared(FORK, LAWS).walk(SeededDice(0), 1)
    # .65 x .8 beats .3 x .6 and .3 x .3
    assert outcome.path == (2, 6)
    longer = FORK.extended([4], [0])
    outcome = prepared(longer, [*LAWS, LAWS[0]]).walk(SeededDice(0), 1)
    assert outcome.path == (1, 4, 7)
    assert outcome.final == 1  # the favourite after the last one kept
    assert outcome.origin == "bonus"


def test_a_run_ends_at_its_first_token_that_does_not_pass() -> None:
    chain = DraftTree((0, 1, 3, 2), (-1, 0, 1, 2))
    table = prepared(chain, [[0.1, 0.9, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
    assert list(table.passed) == [True, True, False, True]
    outcome = table.walk(SeededDice(0), 1)
    assert (outcome.path, outcome.final, outcome.origin) == ((1,), 0, "correction")
    assert [(check.node, check.passed) for check in outcome.checks] == [(1, True), (2, False)]
    assert table.reasons(outcome) == {1: "typical", 2: "not_typical"}


def test_a_token_at_the_threshold_does_not_pass() -> None:
    even = [[0.5, 0.5], [0.5, 0.5]]
    chain = DraftTree.root(0).extended([0], [1])
    for epsilon, passes in ((0.5, False), (0.4999, True)):
        rule = TypicalAcceptance(epsilon=epsilon, delta=1.0)
        assert prepared(chain, even, rule).passed[1] == passes


def test_a_token_that_passes_on_a_shorter_run_is_outrun() -> None:
    table = prepared(FORK, LAWS)
    outcome = table.walk(SeededDice(0), 1)
    assert table.reasons(outcome) == {1: "outrun", 2: "typical", 3: "not_typical", 6: "typical"}
    assert [check.node for check in outcome.checks] == [3, 2, 6]


def test_the_strict_verdict_is_that_of_an_exact_rule() -> None:
    """Over all darts the strict verdict keeps a token as often as the target would write it."""
    table, kept = prepared(FORK, LAWS), {3: 0.0, 2: 0.0, 6: 0.0}
    relaxed = dict.fromkeys(kept, 0.0)
    for outcome, probability in exact.runs(lambda dice: table.walk(dice, 1)):
        judge = table.judge(outcome)
        assert judge is not None
        for check, strict in zip(outcome.checks, judge.strict_verdict, strict=True):
            kept[check.node] += probability * strict
            assert (check.node in outcome.relaxed) == (check.passed and not strict)
        for node in outcome.relaxed:
            relaxed[node] += probability
    assert kept == pytest.approx({3: 0.05, 2: 0.65, 6: 0.8}, abs=1e-12)
    assert relaxed == pytest.approx({3: 0.0, 2: 0.35, 6: 0.2}, abs=1e-12)


def test_the_judge_holds_p_against_the_threshold() -> None:
    table = prepared(FORK, LAWS)
    outcome = table.walk(SeededDice(0), 1)
    judge = table.judge(outcome)
    assert judge is not None
    assert judge.score == pytest.approx([0.05, 0.65, 0.8], abs=1e-6)
    nats = [-sum(x * math.log(x) for x in LAWS[node] if x) for node in (0, 0, 2)]
    assert judge.threshold == pytest.approx([min(0.09, 0.3 * math.exp(-h)) for h in nats], abs=1e-6)
    assert prepared(DraftTree.root(0), [[0.5, 0.5]]).judge(outcome.cut(0)) is None


def test_the_own_token_can_be_drawn_from_what_passes() -> None:
    drawn = prepared(FORK, LAWS, TypicalAcceptance(own="draw"))
    assert drawn.final_law(0).tolist() == pytest.approx([0.3 / 0.95, 0.65 / 0.95, 0, 0])
    assert prepared(FORK, LAWS).final_law(0).tolist() == [0, 1, 0, 0]
    strict = prepared(FORK, LAWS, TypicalAcceptance(delta=1.0, epsilon=0.999, own="draw"))
    assert strict.final_law(3).tolist() == [1, 0, 0, 0]  # nothing exceeds: the favourite


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 6), nodes=st.integers(1, 12))
def test_the_fast_rule_decides_like_one_written_path_by_path(
    seed: int, size: int, nodes: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = [normed([*(rng.random(size) ** 3 + 1e-9)]) for _ in range(nodes)]
    parents = [int(rng.integers(node)) for node in range(1, nodes)]
    tree = DraftTree.root(0).extended(parents, [int(rng.integers(size)) for _ in parents])
    rule = TypicalAcceptance(epsilon=0.2, delta=0.7)
    outcome = prepared(tree, rows, rule).walk(SeededDice(0), 1)

    def run(leaf: int) -> tuple[int, float, tuple[int, ...]]:
        kept: list[int] = []
        likelihood = 0.0
        for node in tree.path(leaf)[1:]:
            law = rows[tree.parents[node]]
            nats = -sum(x * math.log(x) for x in law)
            if not law[tree.tokens[node]] > min(0.2, 0.7 * math.exp(-nats)):
                break
            kept.append(node)
            likelihood += math.log(law[tree.tokens[node]])
        return len(kept), likelihood, tuple(kept)

    best = max(run(leaf)[:2] for leaf in range(nodes))
    ours = run(outcome.end)
    assert ours[2] == outcome.path
    assert ours[0] == best[0]
    assert ours[1] == pytest.approx(best[1], abs=1e-9)


def test_a_real_vocabulary_in_single_precision_is_decided_as_in_double() -> None:
    logits = torch.randn((4, 20_000), generator=torch.Generator().manual_seed(0)) * 4
    best = logits.topk(3, dim=1).indices.tolist()
    tree = DraftTree.root(0).extended([0, 0, 0, 1, 2], [*best[0], best[1][0], best[2][1]])
    scores = Scores(torch.cat([logits, logits[:2]]))
    table = TypicalAcceptance().prepare(Draft(tree), scores, Context((0,), Law(0.8)))
    p = (scores.logits.double() / 0.8).softmax(dim=1)
    for node, nats in table.entropies.items():
        slow = float(-(p[node] * p[node].log()).sum())
        assert nats == pytest.approx(slow, rel=1e-5)
        for child in tree.children(node):
            mass = float(p[node, tree.tokens[child]])
            assert table.own[child] == pytest.approx(mass, rel=1e-4)
            assert table.passed[child] == (mass > min(0.09, 0.3 * math.exp(-slow)))


def rounds_of(temperature: float) -> list[Round]:
    toy = WORLDS["different laws"](6)
    target, draft = toy.models()
    build = configured("typical_acceptance", tree=[3, 2])
    state = start(toy.prompt, target, build(Models(target, draft)), Law(temperature), 30)
    return list(decode(state, SeededDice(3), lambda: 0.0))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_record_is_consistent_and_holds_what_the_picture_needs(temperature: float) -> None:
    vocabulary = dict.fromkeys(range(6), b"x")
    made = rounds_of(temperature)
    assert any(r.drafted for r in made)
    for r in made:
        assert list(round_problems(r, vocabulary)) == []
        blocks = [extra for extra in r.extras if isinstance(extra, TypicalExtras)]
        assert len(blocks) == (r.drafted > 0)
        for block in blocks:
            for node, parent in enumerate(r.nodes.parent[1:], start=1):
                nats, p = block.entropy[parent], r.nodes.p[node]
                assert nats is not None
                assert p is not None
                assert block.passed[node] == (p > min(0.09, 0.3 * math.exp(-nats)))
    states = {state for r in made for state in r.nodes.state}
    assert ("relaxed" in states) == (temperature > 0)


@pytest.mark.parametrize("kind", [Sampling.INDEPENDENT, Sampling.DISTINCT, Sampling.TOP_AND_ONE])
def test_drawn_candidates_are_refused(kind: Sampling) -> None:
    draft = Draft(FORK, kind, q=torch.full((7, 4), 0.25), rows={n: n for n in range(7)})
    with pytest.raises(ValueError, match="It takes siblings chosen without chance"):
        TypicalAcceptance().prepare(draft, Scores(torch.zeros((7, 4))), Context((0,), Law(1)))
