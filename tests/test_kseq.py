"""K-SEQ: what the sheet says it keeps, exact laws, planted bugs, and equality with a slow walk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dice import SeededDice
from core.laws import Law
from core.shapes.sequences import Sequences
from core.tree import Draft
from core.verify.crossing import crossing
from core.verify.kseq import KSeq
from tests.candidates import RAW, each_row, random_draft, real_round
from tests.exactness import TOLERANCE, error
from tests.sheet import P, Q, acceptance, constant, decoder, emitted
from tests.slow_kseq import Row, SlowKSeq, reach, root, taken
from tests.toys import WORLDS

pytestmark = pytest.mark.matrix

TOY = WORLDS["one token overrated"]

HARM = 1e-3  # a caught bug is far from rounding

LAWS = {"T=0": Law(0), "T=0.7": Law(0.7), "T=1": Law(1), "top-k": Law(1, 2)}


@each_row
def test_k_seq_accepts_what_the_sheet_says_at_the_root_of_the_sheet(
    name: str, count: int, k_seq: float, rho: float, best: float
) -> None:
    curves = crossing(np.array(P[name]), np.array(Q[name]), count)
    assert curves.root() == pytest.approx(rho, abs=1e-6)
    assert float(curves.reach(curves.root())) == pytest.approx(k_seq, abs=1e-6)
    assert acceptance(decoder(Sequences(count, 1), KSeq()), P[name], Q[name]) == pytest.approx(
        k_seq, abs=1e-6
    )


@each_row
def test_k_seq_writes_the_target_s_law(
    name: str, count: int, k_seq: float, rho: float, best: float
) -> None:
    built = decoder(Sequences(count, 1), KSeq())
    assert error(built, constant(P[name], Q[name]), Law(1), 1) < TOLERANCE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
def test_two_drafts_of_two_tokens_have_the_target_s_law(toy: str, law: str) -> None:
    size = 3 if law in ("T=0", "top-k") else 2
    built = decoder(Sequences(2, 2), KSeq())
    assert error(built, WORLDS[toy](size), LAWS[law], rounds=1) < TOLERANCE


def test_merged_drafts_leave_the_next_round_in_order() -> None:
    toy = WORLDS["zeros in both laws"](2)
    assert error(decoder(Sequences(2, 2), KSeq()), toy, Law(1), rounds=2) < TOLERANCE


class NoRoom(SlowKSeq):
    """All candidates are tested with p/q: rho = 1, as if there were one."""

    def rho(self, p: Row, q: Row, count: int) -> float:
        return 1.0


class MostRoom(SlowKSeq):
    """rho = K, which needs no search."""

    def rho(self, p: Row, q: Row, count: int) -> float:
        return float(count)


class TooLittleRoom(SlowKSeq):
    """A rho halfway to the root."""

    def rho(self, p: Row, q: Row, count: int) -> float:
        return (1 + root(p, q, count)) / 2


class RestOfTarget(SlowKSeq):
    """If all fail, the token comes from p."""

    def rest(self, p: Row, q: Row, rho: float, count: int) -> Row:
        return p


class RestOfOne(SlowKSeq):
    """If all fail, the token comes from (p - q)+, as for one candidate."""

    def rest(self, p: Row, q: Row, rho: float, count: int) -> Row:
        return [max(t - d, 0.0) for t, d in zip(p, q, strict=True)]


class EachOnce(SlowKSeq):
    """A token that two drafts share is one candidate."""

    def candidates(self, draft: Draft, node: int) -> Sequence[int]:
        return draft.tree.children(node)


class AllDraftsForever(SlowKSeq):
    """rho and the rest are those of all drafts, at every depth."""

    def rho(self, p: Row, q: Row, count: int) -> float:
        return super().rho(p, q, 2)

    def rest(self, p: Row, q: Row, rho: float, count: int) -> Row:
        return super().rest(p, q, rho, 2)


def test_candidates_tested_with_p_over_q_alone_get_three_quarters_of_a_half() -> None:
    p, q = (0.5, 0.5), (1.0, 0.0)
    bent = emitted(decoder(Sequences(2, 1), NoRoom()), p, q)
    assert bent == pytest.approx([0.75, 0.25], abs=1e-12)
    sound = emitted(decoder(Sequences(2, 1), KSeq()), p, q)
    assert sound == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("rule", [SlowKSeq(), MostRoom()], ids=["root", "rho=K"])
def test_the_slow_rule_is_exact_at_the_root_and_above(rule: SlowKSeq) -> None:
    assert error(decoder(Sequences(2, 1), rule), TOY(3), Law(1), rounds=1) < TOLERANCE
    assert error(decoder(Sequences(2, 2), rule), TOY(2), Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize(
    "bug", [NoRoom, TooLittleRoom, RestOfTarget, RestOfOne, EachOnce, AllDraftsForever]
)
def test_planted_bugs_are_caught(bug: type[SlowKSeq]) -> None:
    wide = error(decoder(Sequences(2, 1), bug()), TOY(3), Law(1), rounds=1)
    deep = error(decoder(Sequences(2, 2), bug()), TOY(2), Law(1), rounds=1)
    assert max(wide, deep) > HARM


def test_the_largest_factor_needs_no_search_and_keeps_less_than_one_draft() -> None:
    p, q = list(P["F1"]), list(Q["F1"])
    curves = crossing(np.array(p), np.array(q), 2)
    assert curves.beta(2.0) == taken(p, q, 2) == pytest.approx(0.45, abs=1e-12)
    assert curves.reach(2.0) == reach(p, q, 2, 2) == pytest.approx(0.6975, abs=1e-12)
    assert acceptance(decoder(Sequences(2, 1), MostRoom()), p, q) == pytest.approx(
        0.6975, abs=1e-12
    )


@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    drafts=st.integers(1, 6),
    length=st.integers(1, 4),
)
def test_the_fast_walk_decides_like_the_slow_one(
    seed: int, size: int, drafts: int, length: int
) -> None:
    draft, scores = random_draft(seed, size, drafts, length)
    fast, slow = (rule.prepare(draft, scores, RAW) for rule in (KSeq(), SlowKSeq()))
    for throw in range(3):
        ours, theirs = (table.walk(SeededDice(throw), 1) for table in (fast, slow))
        assert (ours.path, ours.final, ours.origin) == (theirs.path, theirs.final, theirs.origin)
        for mine, other in zip(ours.checks, theirs.checks, strict=True):
            assert (mine.node, mine.passed, mine.u) == (other.node, other.passed, other.u)
            assert mine.accept_probability == pytest.approx(other.accept_probability, abs=1e-9)


@pytest.mark.parametrize("drafts", [1, 2, 4, 8, 16])
def test_a_real_vocabulary_in_single_precision_decides_as_slow_arithmetic_does(
    drafts: int,
) -> None:
    draft, scores = real_round(20_000, drafts)
    assert draft.q is not None
    table = KSeq().prepare(draft, scores, RAW)
    p, q = table.p[0].double().tolist(), draft.q[0].double().tolist()
    rho = root(p, q, drafts)
    for test in table.visit(0).tries:
        token = draft.tree.tokens[test.node]
        assert test.accept == pytest.approx(min(1.0, p[token] / (rho * q[token])), rel=1e-6)
    (extra,) = table.extras(table.walk(SeededDice(0), 1))
    assert extra.nodes[0].accept == pytest.approx(reach(p, q, rho, drafts), abs=1e-6)
    law = table.final_law(0)
    assert law.dtype == torch.float32
    assert torch.isfinite(law).all()
    assert float(law.double().sum()) == pytest.approx(1, abs=1e-5)
