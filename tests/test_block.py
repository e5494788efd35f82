"""Block verification: what it keeps in closed form, never less than token by token, and equality
with a slow walk, number by number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from core.decode import Decoder, decode, start
from core.dice import Dice, SeededDice
from core.drafters.lookup import LookupDrafter
from core.drafters.model import ModelDrafter
from core.ending import Endings
from core.extras import BlockExtras
from core.laws import Law
from core.models.base import Scores
from core.registry import Models, get
from core.shapes.base import StopPolicy
from core.shapes.levels import Levels
from core.shapes.stops import Confidence
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.validate import TraceError, validate_round
from core.verify.base import Context, Verifier
from core.verify.block import BlockVerification
from core.verify.rejection import RecursiveRejection
from tests import exact
from tests.exactness import TOLERANCE, Builder, error, first_round
from tests.sheet import P, Q, constant
from tests.slow_block import Row, SlowBlock
from tests.toys import WORLDS, World

pytestmark = pytest.mark.matrix

HARM = 1e-3  # a caught bug is far from rounding
LAWS = {"T=0": Law(0), "T=0.7": Law(0.7), "T=1": Law(1), "top-k": Law(1, 2)}
RAW = Context((0,), Law(1))


def chains(length: int, rule: Verifier, stops: Sequence[StopPolicy] = ()) -> Builder:
    """Return a builder: the second model drafts `length` tokens, `rule` verifies them."""

    def build(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        shape = Levels((1,) * length)
        drafter = ModelDrafter(lambda prompt, _: draft.open(prompt), shape, "toy", stops)
        return Decoder(drafter, rule)

    return build


def kept(length: int, rule: Verifier, toy: World) -> float:
    """Return how many drafted tokens one round keeps, in expectation."""
    rounds = first_round(chains(length, rule), toy)
    return math.fsum(len(outcome.accepted) * chance for outcome, chance in rounds)


THIRDS = constant((1 / 3, 2 / 3), (2 / 3, 1 / 3))
F1 = constant(P["F1"], Q["F1"])
ALONE = [Fraction(2, 3), Fraction(10, 9), Fraction(38, 27), Fraction(130, 81), Fraction(422, 243)]
BLOCK = [Fraction(2, 3), Fraction(11, 9), Fraction(5, 3), Fraction(166, 81), Fraction(64, 27)]
KNOWING = {1: Fraction(2, 3), 2: Fraction(12, 9)}


def knowing(length: int) -> float:
    """Return what a rule that saw both laws of whole texts could keep on thirds: of every length
    the mass that the two have in common.
    """
    texts = (text for n in range(1, length + 1) for text in product((0, 1), repeat=n))
    return math.fsum(
        min(math.prod((1 + x) / 3 for x in text), math.prod((2 - x) / 3 for x in text))
        for text in texts
    )


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_expected_length_on_thirds_is_the_fraction_of_the_sheet(length: int) -> None:
    alone = kept(length, RecursiveRejection(), THIRDS)
    block = kept(length, BlockVerification(), THIRDS)
    assert alone == pytest.approx(float(ALONE[length - 1]), abs=1e-12)
    assert block == pytest.approx(float(BLOCK[length - 1]), abs=1e-12)
    assert knowing(length) == pytest.approx(float(KNOWING.get(length, knowing(length))), abs=1e-12)
    assert alone - 1e-12 <= block <= knowing(length) + 1e-12


@pytest.mark.parametrize(
    ("length", "alone", "block"), [(2, 1.19, 1.25), (3, 1.533, 1.695), (4, 1.7731, 2.0635)]
)
def test_expected_length_on_f1_is_that_of_the_sheet(
    length: int, alone: float, block: float
) -> None:
    assert kept(length, RecursiveRejection(), F1) == pytest.approx(alone, abs=1e-12)
    assert kept(length, BlockVerification(), F1) == pytest.approx(block, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
def test_three_tokens_as_a_block_have_the_target_s_law(toy: str, law: str) -> None:
    built = chains(3, BlockVerification())
    assert error(built, WORLDS[toy](3), LAWS[law], rounds=1) < TOLERANCE


@pytest.mark.parametrize("toy", WORLDS)
def test_two_blocks_in_a_row_have_the_target_s_law(toy: str) -> None:
    assert error(chains(2, BlockVerification()), WORLDS[toy](2), Law(0.7), 2) < TOLERANCE


def test_a_draft_that_stops_for_what_it_drew_is_a_block_of_its_own_length() -> None:
    built = chains(3, BlockVerification(), [Confidence(0.45)])
    toy = WORLDS["different laws"](3)
    lengths = {len(outcome.accepted) for outcome, _ in first_round(built, toy)}
    assert lengths == {0, 1, 2, 3}
    assert error(built, toy, Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize("toy", WORLDS)
def test_copied_tokens_as_a_block_have_the_target_s_law(toy: str) -> None:
    def build(models: Models) -> Decoder:
        lookup = LookupDrafter(1, 3, "original", "leftmost", frozenset())
        return Decoder(lookup, BlockVerification())

    assert error(build, WORLDS[toy](3), Law(1), rounds=1) < TOLERANCE


def random_laws(seed: int, rows: int, size: int) -> np.ndarray:
    """Return laws (rows, size), some entries of which are zero."""
    rng = np.random.default_rng(seed)
    weights = rng.random((rows, size)) ** 3 * (rng.random((rows, size)) > 0.2)
    weights[:, 0] += 0.05
    return weights / weights.sum(axis=1, keepdims=True)


def random_chain(seed: int, length: int, size: int) -> tuple[Draft, Scores]:
    """Return a chain whose tokens were drawn, or fixed at some places, and the target's logits."""
    rng = np.random.default_rng(seed)
    p, q = random_laws(seed + 1, length + 1, size), random_laws(seed + 2, length + 1, size)
    fixed = rng.random(length) < 0.2
    tokens = [
        int(rng.integers(size)) if fixed[i] else int(rng.choice(size, p=q[i]))
        for i in range(length)
    ]
    draft = Draft(
        DraftTree.root(0).extended(range(length), tokens),
        Sampling.INDEPENDENT,
        mixed={i: Sampling.DETERMINISTIC for i in range(length) if fixed[i]},
        q=torch.tensor(q[:length]),
        rows={i: i for i in range(length)},
    )
    logits = torch.tensor(p)
    return draft, Scores(torch.where(logits > 0, logits.log(), -torch.inf))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    length=st.integers(0, 7),
    size=st.integers(1, 6),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_the_fast_walk_decides_like_the_slow_one(
    seed: int, length: int, size: int, temperature: float
) -> None:
    draft, scores = random_chain(seed, length, size)
    context = Context((0,), Law(temperature))
    fast = BlockVerification().prepare(draft, scores, context)
    slow = SlowBlock().prepare(draft, scores, context)
    for throw in range(4):
        ours, theirs = (table.walk(SeededDice(throw), 1) for table in (fast, slow))
        assert (ours.path, ours.final, ours.origin) == (theirs.path, theirs.final, theirs.origin)
        for mine, other in zip(ours.checks, theirs.checks, strict=True):
            assert (mine.node, mine.passed, mine.u) == (other.node, other.passed, other.u)
            assert mine.accept_probability == pytest.approx(other.accept_probability, abs=1e-12)


@settings(max_examples=12)
@given(seed=st.integers(0, 2**31), size=st.integers(2, 3))
def test_random_laws_keep_no_less_as_a_block_and_bend_nothing(seed: int, size: int) -> None:
    p, q = random_laws(seed, 1, size)[0].tolist(), random_laws(seed + 7, 1, size)[0].tolist()
    toy = constant(p, q)
    assert kept(3, BlockVerification(), toy) >= kept(3, RecursiveRejection(), toy) - 1e-12
    assert error(chains(3, BlockVerification()), toy, Law(1), rounds=1) < TOLERANCE


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), length=st.integers(1, 6))
def test_the_joint_ratio_of_the_last_token_is_the_chance_that_all_stays(
    seed: int, length: int
) -> None:
    draft, scores = random_chain(seed, length, 4)
    table = BlockVerification().prepare(draft, scores, RAW)

    def whole(dice: Dice) -> bool:
        return len(table.walk(dice, 1).path) == length

    assert exact.law(whole).get(True, 0.0) == pytest.approx(table.joint[-1], abs=1e-12)


@pytest.mark.parametrize("toy", WORLDS)
def test_one_token_is_decided_as_by_the_standard_rule(toy: str) -> None:
    """Same dice, same numbers, same verdict."""
    target, draft = WORLDS[toy](3).models()
    written = []
    for rule in (BlockVerification(), RecursiveRejection()):
        build = chains(1, rule)
        state = start(WORLDS[toy](3).prompt, target, build(Models(target, draft)), Law(1), 12)
        written.append(list(decode(state, SeededDice(3), lambda: 0.0)))
    for one, other in zip(*written, strict=True):
        assert one.outcome == other.outcome
        assert [(c.node, c.u, c.passed) for c in one.checks] == [
            (c.node, c.u, c.passed) for c in other.checks
        ]
        assert [c.accept_probability for c in one.checks] == pytest.approx(
            [c.accept_probability for c in other.checks], abs=1e-12
        )


def rounds_of(
    length: int, toy: World, law: Law, seed: int = 0, ends: frozenset[int] = frozenset()
) -> list[Round]:
    target, draft = toy.models()
    decoder = get("block_verification").build(
        {"length": length, "drafter": "model"}, Models(target, draft)
    )
    state = start(toy.prompt, target, decoder, law, 24, Endings(ends))
    return list(decode(state, SeededDice(seed), lambda: 0.0))


def test_at_temperature_zero_the_record_is_that_of_greedy_matching() -> None:
    toy = WORLDS["different laws"](3)
    target, draft = toy.models()
    standard = get("speculative_sampling").build(
        {"length": 4, "drafter": "model"}, Models(target, draft)
    )
    state = start(toy.prompt, target, standard, Law(0), 24)
    known = list(decode(state, SeededDice(0), lambda: 0.0))
    for ours, theirs in zip(rounds_of(4, toy, Law(0)), known, strict=True):
        assert ours.outcome == theirs.outcome
        assert ours.nodes.state == theirs.nodes.state
        assert ours.nodes.reason == theirs.nodes.reason
        assert [(c.node, c.passed) for c in ours.checks] == [
            (c.node, c.passed) for c in theirs.checks
        ]
        assert not ours.extras


def test_a_token_kept_by_a_later_coin_says_so_and_its_ledger_is_told() -> None:
    toy = WORLDS["different laws"](3)
    saved = 0
    for seed in range(20):
        for r in rounds_of(5, toy, Law(1), seed)[1:]:
            if not r.drafted:
                continue
            (ledger,) = r.extras
            assert isinstance(ledger, BlockExtras)
            count = len(r.outcome.accepted)
            assert ledger.node == list(range(1, r.drafted + 1))
            assert ledger.kept == count
            assert all(w <= 1 for w in ledger.joint)
            for check in r.checks:
                reason, stays = r.nodes.reason[check.node], check.node <= count
                assert r.nodes.state[check.node] == ("accepted" if stays else "rejected")
                expected = "u<h" if check.passed else "later_stayed" if stays else "u>=h"
                assert reason == expected
                saved += reason == "later_stayed"
            ratios = zip(r.checks, ledger.ratio, strict=False)
            alone = [check.u < ratio for check, ratio in ratios]
            assert ledger.kept_alone == [*alone, False].index(False)
    assert saved > 5


def test_a_block_cut_by_the_end_of_the_text_keeps_the_coins_of_what_remains() -> None:
    cut = saved = 0
    for seed in range(40):
        last = rounds_of(5, WORLDS["different laws"](3), Law(1), seed, frozenset({0}))[-1]
        kept = last.outcome.accepted
        if last.outcome.origin == "none" and kept and last.drafted > len(kept):
            cut += 1
            assert [check.node for check in last.checks][: len(kept)] == kept
            assert {last.nodes.state[node] for node in kept} == {"accepted"}
            saved += "later_stayed" in last.nodes.reason
    assert cut > 5
    assert saved


class StopsAtFirst(SlowBlock):
    """The first coin that fails ends the block."""

    def kept(self, passed: Sequence[bool]) -> int:
        return [*passed, False].index(False)


class UnscaledRest(SlowBlock):
    """The token after the block comes from (p - q)+ instead of (w p - q)+."""

    def after(self, joint: float, p: Row, q: Row) -> Row:
        return self.beyond(1.0, p, q)


class ClampedFirst(SlowBlock):
    """Each ratio is capped at 1 before it is multiplied."""

    def paid(self, before: float, ratio: float) -> float:
        return before * min(1.0, ratio)


class NeverLooksAhead(SlowBlock):
    """Every coin has the chance w, as only the last one may."""

    def chance(self, joint: float, left: float) -> float:
        return joint


class FinalFromTarget(SlowBlock):
    """The token after the block comes from p."""

    def after(self, joint: float, p: Row, q: Row) -> Row:
        return p


SOUND = chains(2, SlowBlock())
BENT = [StopsAtFirst, UnscaledRest, ClampedFirst, NeverLooksAhead, FinalFromTarget]


@pytest.mark.parametrize("toy", ["different laws", "one token overrated"])
def test_the_slow_rule_is_exact(toy: str) -> None:
    assert error(SOUND, WORLDS[toy](3), Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize("bug", BENT)
def test_planted_bugs_are_caught(bug: type[SlowBlock]) -> None:
    toy = WORLDS["different laws"](3)
    assert error(chains(3, bug()), toy, Law(1), rounds=1) > HARM


class SharedAddress(SlowBlock):
    """Coins by text position, as rules may that visit each position once."""

    def coin(self, dice: Dice, position: int, place: int) -> Dice:
        return dice.at("accept", position + place).at(0)


def test_a_coin_that_decides_in_two_rounds_is_refused() -> None:
    with pytest.raises(exact.BadChanceError, match="thrown twice"):
        error(chains(2, SharedAddress()), WORLDS["different laws"](2), Law(1), rounds=2)


def test_a_real_vocabulary_in_single_precision_decides_as_slow_arithmetic_does() -> None:
    size, length = 20_000, 6
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn((length + 1, size), generator=generator) * 3
    q = (logits[:length] + torch.randn((length, size), generator=generator)).softmax(dim=1)
    tokens = torch.multinomial(q, 1, generator=generator)[:, 0].tolist()
    tree = DraftTree.root(0).extended(range(length), tokens)
    draft = Draft(tree, Sampling.DISTINCT, q=q, rows={i: i for i in range(length)})
    table = BlockVerification().prepare(draft, Scores(logits), RAW)
    p, wide = logits.double().softmax(dim=1), q.double()
    joint = 1.0
    for place, token in enumerate(tokens):
        joint = min(1.0, joint * float(p[place, token] / wide[place, token]))
        chance = joint
        if place + 1 < length:
            left = float((joint * p[place + 1] - wide[place + 1]).clamp(min=0).sum())
            chance = left / (left + 1 - joint)
        assert table.joint[place] == pytest.approx(joint, rel=1e-4)
        assert table.stays[place] == pytest.approx(chance, rel=1e-4, abs=1e-6)
    for node in range(length + 1):
        law = table.final_law(node)
        assert torch.isfinite(law).all()
        assert float(law.double().sum()) == pytest.approx(1, abs=1e-5)


def test_equal_laws_keep_everything_in_single_precision() -> None:
    laws = torch.rand((6, 50_000), generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    tokens = [int(row.argmax()) for row in laws[:5]]
    draft = Draft(
        DraftTree.root(0).extended(range(5), tokens),
        Sampling.DISTINCT,
        q=laws,
        rows={n: n for n in range(6)},
    )
    table = BlockVerification().prepare(draft, Scores(laws.log()), RAW)
    assert min(table.joint) > 1 - 1e-4
    for seed in range(20):
        assert len(table.walk(SeededDice(seed), 1).path) == 5


def test_a_draft_that_branches_is_refused_with_the_reason() -> None:
    draft = Draft(DraftTree.root(0).extended([0, 0], [0, 1]))
    with pytest.raises(ValueError, match="decides a single path, and this draft branches"):
        BlockVerification().prepare(draft, Scores(torch.zeros(3, 2)), RAW)


def test_a_token_that_the_target_forbids_ends_the_coins() -> None:
    tree = DraftTree.root(0).extended(range(3), [0, 1, 0])
    logits = torch.tensor([[0.0, -torch.inf]] * 4)
    draft = Draft(tree, Sampling.DISTINCT, q=torch.full((3, 2), 0.5), rows={0: 0, 1: 1, 2: 2})
    outcome = BlockVerification().prepare(draft, Scores(logits), RAW).walk(SeededDice(0), 1)
    assert [check.node for check in outcome.checks] == [1, 2]
    assert outcome.checks[1].accept_probability == 0
    assert outcome.final == 0


def test_a_quotient_beyond_the_floats_pays_for_nothing_that_the_target_forbids() -> None:
    least = 1e-44  # its quotient with .5 is infinite in single precision
    p = torch.tensor([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    q = torch.tensor([[0.5, 0.5], [least, 1.0], [least, 1.0]])
    for tokens, joint in (([0, 0, 1], [0, 0, 0]), ([1, 0, 1], [1, 1, 0.5])):
        tree = DraftTree.root(0).extended(range(3), tokens)
        draft = Draft(tree, Sampling.DISTINCT, q=q, rows={0: 0, 1: 1, 2: 2})
        table = BlockVerification().prepare(draft, Scores(p.log()), RAW)
        assert table.joint == pytest.approx(joint)
        (ledger,) = table.extras(table.walk(SeededDice(0), 1))
        assert all(math.isfinite(ratio) for ratio in ledger.ratio)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joint": [1.0]}, "columns differ in length"),
        ({"node": [2, 1]}, "node 2 does not follow node 0"),
        ({"kept": 3}, "more is kept than the 2 tokens"),
    ],
)
def test_a_damaged_ledger_is_told_in_one_sentence(change: dict[str, object], said: str) -> None:
    (r,) = [r for r in rounds_of(2, WORLDS["different laws"](3), Law(1)) if r.drafted == 2][:1]
    (ledger,) = r.extras
    vocabulary = dict.fromkeys(range(3), b"x")
    validate_round(r, vocabulary)
    damaged = structs.replace(r, extras=[structs.replace(ledger, **change)])
    with pytest.raises(TraceError, match=said):
        validate_round(damaged, vocabulary)
