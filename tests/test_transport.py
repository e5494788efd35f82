"""Optimal transport: the best plan by linear program, exact where tokens are bundled too."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bounds.pair import pair
from core.bounds.prefix import Independent
from core.dice import SeededDice
from core.host import Floats
from core.laws import Law
from core.shapes.sequences import Sequences
from core.verify import alphabet as alphabets
from core.verify.alphabet import FREE, Alphabet, alphabet, sets_of
from core.verify.crossing import crossing
from core.verify.plan import Plan, plan
from core.verify.transport import Transport
from tests.candidates import RAW, each_row, random_draft, random_pair, real_round
from tests.exactness import TOLERANCE, error
from tests.sheet import P, Q, acceptance, constant, decoder
from tests.toys import WORLDS

pytestmark = pytest.mark.matrix

HARM = 1e-3  # a caught bug is far from rounding

PLANNED = 1e-9  # how exact a rule behind a solver must be


def written(found: Plan) -> Floats:
    """Return the law of the output by running over every draw of the candidates."""
    symbols = found.symbols
    law = np.zeros(len(symbols.drawn))
    rest = symbols.target - found.kept
    rest = rest / rest.sum() if rest.any() else symbols.target
    for drawn in product(range(len(law)), repeat=symbols.count):
        mass = float(np.prod(symbols.drawn[list(drawn)]))
        if mass:
            chances = found.chances(drawn)
            assert sum(chances.values()) <= 1 + 1e-12
            for token, chance in chances.items():
                law[token] += mass * chance
            law += mass * (1 - sum(chances.values())) * rest
    return law


@each_row
def test_the_linear_program_reaches_the_optimum_of_the_sheet(
    name: str, count: int, k_seq: float, rho: float, best: float
) -> None:
    assert plan(alphabet(np.array(P[name]), np.array(Q[name]), count)).accept == pytest.approx(
        best, abs=1e-6
    )
    if count < 3:
        built = decoder(Sequences(count, 1), Transport())
        assert acceptance(built, P[name], Q[name]) == pytest.approx(best, abs=1e-6)


@each_row
def test_the_plan_writes_the_target_s_law(
    name: str, count: int, k_seq: float, rho: float, best: float
) -> None:
    found = plan(alphabet(np.array(P[name]), np.array(Q[name]), count))
    assert written(found) == pytest.approx(np.array(P[name]), abs=TOLERANCE)
    if count < 3:
        built = decoder(Sequences(count, 1), Transport())
        assert error(built, constant(P[name], Q[name]), Law(1), 1) < PLANNED


@pytest.mark.parametrize("toy", WORLDS)
def test_the_plan_has_the_target_s_law_on_every_toy(toy: str) -> None:
    assert error(decoder(Sequences(2, 2), Transport()), WORLDS[toy](2), Law(1), 1) < PLANNED
    assert error(decoder(Sequences(2, 1), Transport()), WORLDS[toy](3), Law(0.7), 1) < PLANNED


pairs = given(seed=st.integers(0, 2**31), size=st.integers(1, 7), count=st.integers(1, 6))


@settings(max_examples=60)
@pairs
def test_no_plan_is_better_than_the_bound_and_the_program_reaches_it(
    seed: int, size: int, count: int
) -> None:
    p, q = random_pair(seed, size)
    found = plan(alphabet(p, q, count))
    assert found.symbols.is_exact
    best = Independent(pair(p, q), count).optimum().value
    assert found.accept == pytest.approx(best, abs=1e-6)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), size=st.integers(1, 6), count=st.integers(1, 4))
def test_every_plan_writes_the_target_s_law(seed: int, size: int, count: int) -> None:
    p, q = random_pair(seed, size)
    assert written(plan(alphabet(p, q, count))) == pytest.approx(p, abs=1e-12)


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for one single token and bundles, so that a toy vocabulary is truncated."""
    monkeypatch.setattr(alphabets, "_MOST", 5)


@pytest.mark.usefixtures("bundled")
def test_a_truncated_plan_is_exact_and_lies_between_k_seq_and_the_best() -> None:
    met, lost = set[bool](), list[float]()
    for seed in range(30):
        p, q = random_pair(seed, 8, zeros=0.1)
        for count in (1, 2, 3):
            found = plan(alphabet(p, q, count))
            met.add(found.symbols.is_exact)
            if count < 3:
                assert written(found) == pytest.approx(p, abs=1e-12)
            best = Independent(pair(p, q), count).optimum().value
            k_seq = float(crossing(p, q, count).reach(found.symbols.rho))
            assert k_seq - 1e-6 <= found.accept <= best + 1e-6
            lost.append(best - found.accept)
    assert met == {True, False}
    assert 1e-4 < max(lost) < 0.1


@pytest.mark.usefixtures("bundled")
def test_truncated_alphabets_keep_the_law_of_whole_rounds() -> None:
    laws = (random_pair(seed, 7, zeros=0.0) for seed in range(999))
    p, q = next((p, q) for p, q in laws if not alphabet(p, q, 2).is_exact)
    toy = constant(p.tolist(), q.tolist())
    assert error(decoder(Sequences(2, 1), Transport()), toy, Law(1), rounds=1) < PLANNED


@pytest.mark.usefixtures("bundled")
def test_a_bundle_whose_tokens_are_always_in_play_is_caught() -> None:
    """As bundling by a range of p/q alone would be."""
    worst = 0.0
    for seed in range(20):
        p, q = random_pair(seed, 8, zeros=0.1)
        found = plan(alphabet(p, q, 2))
        worst = max(worst, away(replace(found.symbols, play=np.ones(8)), found, p))
        assert away(found.symbols, found, p) < TOLERANCE
    assert worst > HARM


def away(symbols: Alphabet, found: Plan, p: Floats) -> float:
    return float(np.abs(written(replace(found, symbols=symbols)) - p).max())


def test_the_law_of_the_sets_is_that_of_the_draws() -> None:
    for seed in range(20):
        p, q = random_pair(seed, 5)
        symbols = alphabet(p, q, 3)
        counted = dict.fromkeys(range(1 << len(symbols)), 0.0)
        for drawn in product(range(5), repeat=3):
            places = {int(symbols.place[token]) for token in drawn}
            if FREE not in places:
                key = sum(1 << place for place in places if place >= 0)
                counted[key] += float(np.prod(q[list(drawn)]))
        sets = sets_of(symbols)
        keys = (sets.members @ (1 << np.arange(len(symbols)))).tolist()
        assert len(set(keys)) == len(keys)
        assert [counted[key] for key in keys] == pytest.approx(sets.mass.tolist(), abs=1e-13)
        assert sets.mass.sum() + symbols.any_free == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("drafts", [1, 2, 4, 8, 16])
def test_a_truncated_plan_on_a_real_vocabulary_comes_close_to_the_best(drafts: int) -> None:
    draft, scores = real_round(20_000, drafts)
    assert draft.q is not None
    table = Transport().prepare(draft, scores, RAW)
    outcome = table.walk(SeededDice(0), 1)
    (extra,) = table.extras(outcome)
    (node,) = extra.nodes
    assert not node.is_exact
    assert max(node.k_seq, node.best - 0.05) < node.accept + 1e-6 <= node.best + 1e-6
    law = table.final_law(0)
    assert torch.isfinite(law).all()
    assert float(law.double().sum()) == pytest.approx(1, abs=1e-5)
    assert bool((law[table.p[0] == 0] == 0).all())


@pytest.mark.usefixtures("bundled")
def test_a_rejected_token_that_the_target_writes_itself_goes_on_with_its_draft() -> None:
    """Only a truncated plan leaves a candidate something."""
    met = 0
    for seed in range(12):
        draft, scores = random_draft(seed, 16, 4, 2, zeros=0.0)
        table = Transport().prepare(draft, scores, RAW)
        for throw in range(60):
            outcome = table.walk(SeededDice(throw), 1)
            own = [n for n, why in table.reasons(outcome).items() if why == "target_wrote_it"]
            passed = {check.node for check in outcome.checks if check.passed}
            assert set(own) == set(outcome.path) - passed
            assert outcome.final is not None
            met += len(own)
    assert met
