"""Canonical decomposition: acceptances of the literature, exact laws whatever the chances are, bugs
that must be caught, and what the record says of a selection.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed
from torch import Tensor

from core.consistency import round_problems
from core.decode import Decoder, decode, start
from core.dice import Dice, Key, SeededDice
from core.extras import Pick, SelectionExtras
from core.host import Floats
from core.laws import Law
from core.models.base import Scores
from core.models.toy import ToyModel, hashed
from core.registry import Models, get
from core.shapes.levels import Levels
from core.shapes.sequences import Sequences
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.verify import selection as rule_module
from core.verify import selection_pairs
from core.verify.base import Context
from core.verify.rejection import RecursiveRejection
from core.verify.selection import CanonicalDecomposition
from core.verify.selection_law import Choice, Selection, choice
from tests import exact, sheet
from tests.exactness import TOLERANCE, Builder, error
from tests.selections import ACCEPTED, FULL, RAW, SNIS, WAYS, chosen, random_laws, table, tensor
from tests.toys import WORLDS, World

pytestmark = pytest.mark.matrix

HARM = 1e-3  # a caught bug is far from rounding


TOY = [(p, single, recursive, best) for p, single, recursive, _, best in sheet.UNIFORM]


@pytest.mark.parametrize(("p", "single", "recursive", "best"), TOY)
def test_uniform_drafts_are_accepted_as_the_sheet_says(
    p: sheet.Row, single: float, recursive: float, best: float
) -> None:
    thirds = (1 / 3,) * 3

    def accepts(count: int, rule: CanonicalDecomposition | RecursiveRejection) -> float:
        return sheet.acceptance(sheet.decoder(Sequences(count, 1), rule), p, thirds)

    assert accepts(1, CanonicalDecomposition()) == pytest.approx(single, abs=5.1e-6)
    assert accepts(2, RecursiveRejection()) == pytest.approx(recursive, abs=5.1e-6)
    assert accepts(2, CanonicalDecomposition()) == pytest.approx(best, abs=5.1e-6)
    assert 1 - chosen(p, thirds, 2, FULL).left == pytest.approx(best, abs=5.1e-6)


@pytest.mark.parametrize(("name", "single", "is2", "best2", "is3", "best3"), ACCEPTED)
def test_the_rule_keeps_a_draft_as_often_as_the_laws_overlap(
    name: str, single: float, is2: float, best2: float, is3: float, best3: float
) -> None:
    """The optimum leaves nothing for a draft that was not selected; importance weights do."""
    for count, overlap in ((1, single), (2, best2), (3, best3)):
        build = sheet.decoder(Sequences(count, 1), CanonicalDecomposition(FULL))
        found = sheet.acceptance(build, sheet.P[name], sheet.Q[name])
        assert found == pytest.approx(overlap, abs=1e-6)
    build = sheet.decoder(Sequences(2, 1), CanonicalDecomposition(SNIS))
    toy = sheet.constant(sheet.P[name], sheet.Q[name])
    assert chance_to_pass(build, toy) == pytest.approx(is2, abs=1e-6)
    assert sheet.acceptance(build, sheet.P[name], sheet.Q[name]) >= is2 - 1e-6


def chance_to_pass(build: Builder, toy: World) -> float:
    """Return the probability that the selected token of the first place passes its test."""
    passed: list[bool] = []

    def run(dice: Dice) -> int:
        target, draft = toy.models()
        state = start(toy.prompt, target, build(Models(target, draft)), Law(1), 40)
        rounds = decode(state, dice, lambda: 0.0)
        next(rounds)
        passed.append(next(rounds).checks[0].passed)
        return len(passed) - 1

    return math.fsum(chance for index, chance in exact.runs(run) if passed[index])


LAWS = {"T=0": Law(0), "T=0.7": Law(0.7), "T=1": Law(1), "top-k": Law(1, 2)}


def building(count: int, length: int, way: Selection, temperature: float | None = None) -> Builder:
    rule = CanonicalDecomposition(way)
    return sheet.decoder(Sequences(count, length), rule, temperature)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("way", WAYS)
def test_one_place_has_the_target_s_law(way: str, toy: str, law: str) -> None:
    assert error(building(2, 1, WAYS[way]), WORLDS[toy](3), LAWS[law], 1) < TOLERANCE


@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("way", ["linear", "short alphabet", "importance"])
def test_three_drafts_have_the_target_s_law(way: str, toy: str) -> None:
    assert error(building(3, 1, WAYS[way], 1.2), WORLDS[toy](3), Law(1), 1) < TOLERANCE


@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("way", ["linear", "short alphabet", "importance"])
def test_drafts_of_two_tokens_have_the_target_s_law(way: str, toy: str) -> None:
    assert error(building(2, 2, WAYS[way]), WORLDS[toy](3), Law(0.7), 1) < TOLERANCE


def test_two_rounds_have_the_target_s_law() -> None:
    toy = WORLDS["different laws"](2)
    assert error(building(2, 1, Selection()), toy, Law(0.7), 2) < TOLERANCE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
def test_fixed_children_have_the_target_s_law(toy: str, law: str) -> None:
    build = sheet.decoder(Levels((2, 2)), CanonicalDecomposition(), temperature=0)
    assert error(build, WORLDS[toy](3), LAWS[law], 1) < TOLERANCE


def test_fixed_children_are_accepted_as_often_as_p_holds_them() -> None:
    build = sheet.decoder(Levels((2,)), CanonicalDecomposition(), temperature=0)
    for name, expected in (("F1", 0.5), ("F4", 0.3), ("F6", 5 / 6)):
        found = sheet.acceptance(build, sheet.P[name], sheet.Q[name])
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("toy", WORLDS)
def test_no_chance_that_a_solver_can_give_bends_the_law(
    toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    wild = rng.random((9, 9)).round(1)

    def solver(p: Floats, sure: Floats, both: Floats) -> Floats:
        return wild[: len(p), : len(p)]

    monkeypatch.setattr(selection_pairs, "_chances", solver)
    monkeypatch.setattr("core.verify.selection_plan._GAIN", -1.0)  # every draft takes part
    assert error(building(3, 1, Selection()), WORLDS[toy](3), Law(1), 1) < TOLERANCE


@pytest.mark.parametrize("answer", [None, np.full(40, 7.0), np.full(40, -0.2)])
def test_an_answer_of_the_solver_outside_its_bounds_bends_nothing(
    answer: Floats | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass
    class Solved:
        x: Floats | None

    monkeypatch.setattr(
        selection_pairs.optimize, "linprog", lambda *given, **options: Solved(answer)
    )
    toy = WORLDS["different laws"](4)
    assert error(building(2, 1, Selection()), toy, Law(1), 1) < TOLERANCE


class DraftForSelected(Choice):
    """q stands for the law of the token selected."""

    def at(self, token: int) -> tuple[float, float]:
        assert self.q is not None
        return float(self.p[token]), float(self.q[token])

    @property
    def law(self) -> Tensor:
        assert self.q is not None
        return self.q


class DraftInTheTest(DraftForSelected):
    """Only the test goes by q; the residual is right."""

    law = Choice.law


class OtherChances(Choice):
    """Tokens meet with other chances than those that the law was computed from."""

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        return 0.5


class AlwaysTheFirst(Choice):
    """The first draft is selected, and tested as if the drafts had met."""

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        return 1.0


class ResidualOfTarget(Choice):
    """After a rejection the target itself is drawn from."""

    @property
    def residual(self) -> Tensor:
        return self.p


@pytest.mark.parametrize(
    "bug",
    [DraftForSelected, DraftInTheTest, OtherChances, AlwaysTheFirst, ResidualOfTarget],
    ids=lambda bug: bug.__name__,
)
@pytest.mark.parametrize("way", ["linear", "importance"])
def test_a_wrong_law_of_the_token_selected_is_caught(
    bug: type[Choice], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(p: Tensor, q: Tensor | None, drafts: Sequence[int], selection: Selection) -> Choice:
        made = choice(p, q, drafts, selection)
        names = ("p", "q", "drafts", "tokens", "known", "plan", "outside", "steps")
        return bug(**{name: getattr(made, name) for name in names})

    toy = WORLDS["different laws"](3)
    assert error(building(2, 1, WAYS[way]), toy, Law(1), 1) < TOLERANCE
    monkeypatch.setattr(rule_module, "choice", wrong)
    assert error(building(2, 1, WAYS[way]), toy, Law(1), 1) > HARM


class OneNumber:
    """Dice whose selection and test fall at one address."""

    u = 0.0

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def at(self, *key: Key) -> Dice:
        same = ("select", *key[1:-1]) if key[0] == "accept" else key
        return self._dice.at(*same, 1) if key[0] == "accept" else self._dice.at(*same)


def test_the_chance_that_selects_does_not_accept() -> None:
    def run(dice: Dice) -> int:
        made = table(*map(np.array, (sheet.P["F4"], sheet.Q["F4"])), [0, 1], Selection(5, 0))  # type: ignore[arg-type]
        outcome = made.walk(OneNumber(dice), 1)  # type: ignore[arg-type]
        return outcome.path[0] if outcome.path else 0

    with pytest.raises(exact.BadChanceError, match="thrown twice"):
        exact.law(run)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), size=st.integers(2, 6), temperature=st.sampled_from([0, 0.7, 1])
)
def test_one_draft_is_speculative_sampling(seed: int, size: int, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(size), (2, 4))
    tokens = tuple(int(rng.choice(size, p=q[place])) for place in range(3))
    draft = Draft(
        DraftTree((0, *tokens), (-1, 0, 1, 2)),
        Sampling.INDEPENDENT,
        q=torch.tensor(q),
        rows={node: node for node in range(4)},
    )
    scores, context = Scores(torch.tensor(p).log()), Context((0,), Law(temperature))
    ours = CanonicalDecomposition().prepare(draft, scores, context)
    theirs = RecursiveRejection().prepare(draft, scores, context)
    assert ours.drawn[0] is None
    assert theirs.drawn[0] is None
    assert ours.drawn[1:] == pytest.approx(theirs.drawn[1:], rel=1e-5)
    for throw in range(6):
        mine, other = (made.walk(SeededDice(throw), 1) for made in (ours, theirs))
        assert (mine.path, mine.final, mine.origin) == (other.path, other.final, other.origin)
        for check, slow in zip(mine.checks, other.checks, strict=True):
            assert (check.node, check.passed, check.u) == (slow.node, slow.passed, slow.u)
            assert check.accept_probability == pytest.approx(slow.accept_probability, abs=1e-12)
            assert check.p == pytest.approx(slow.p, rel=1e-5)
            assert check.q == pytest.approx(slow.q, rel=1e-5)
        for left, right in zip(ours.residuals(mine), theirs.residuals(other), strict=True):
            assert left.left == pytest.approx(right.left, abs=1e-5)
            assert left.law.tolist() == pytest.approx(right.law.tolist(), abs=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_at_temperature_zero_the_favourite_is_taken_wherever_it_was_drafted(way: str) -> None:
    _, q = random_laws(11, 5, zeros=0)
    for favourite in range(5):
        for tokens in ((0, 1, 2), (3, 3, 4), (4, 2, 0)):
            made = table(np.eye(5)[favourite], q, tokens, WAYS[way])
            outcome = made.walk(SeededDice(1), 1)
            assert outcome.tokens(made.draft)[0] == favourite
            assert bool(outcome.path) == (favourite in tokens)


def test_a_token_that_the_target_forbids_is_rejected_even_by_the_luckiest_throw() -> None:
    class Luckiest(SeededDice):
        def at(self, *key: Key) -> Luckiest:
            return Luckiest(0)

        def _uniforms(self, count: int) -> list[float]:
            return [0.0] * count

    made = table(np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.2, 0.3]), [0, 2], Selection())
    outcome = made.walk(Luckiest(0), 1)
    assert (outcome.path, outcome.final) == ((), 1)


SIZE = 6


def rounds(throw: int, temperature: float = 1.0, **values: object) -> list[Round]:
    """Return the drafted rounds of a toy run, recorded."""
    target, draft = ToyModel(hashed(SIZE, 1), SIZE), ToyModel(hashed(SIZE, 2, 3.0), SIZE)
    method = get("canonical_decomposition")
    decoder: Decoder = method.build({"drafter": "model", **values}, Models(target, draft))
    state = start([0, 1], target, decoder, Law(temperature), 40)
    return [r for r in decode(state, SeededDice(throw), lambda: 0.0) if r.drafted]


def picks(r: Round) -> list[Pick]:
    return [pick for e in r.extras if isinstance(e, SelectionExtras) for pick in e.picks]


SETTINGS: list[dict[str, object]] = [
    {"drafts": 2},
    {"drafts": 3, "free": 2, "alphabet": 3},
    {"drafts": 3, "selection": "importance", "alphabet": 4},
    {"drafts": 2, "draft_temperature": 0},
    {"drafts": 1},
]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_what_is_recorded_is_consistent(values: dict[str, object], temperature: float) -> None:
    vocabulary = dict.fromkeys(range(SIZE), b"w")
    for throw in range(5):
        for r in rounds(throw, temperature, **values):
            assert list(round_problems(r, vocabulary)) == []
            for pick in picks(r):
                tokens = [r.nodes.token[node] for node in pick.candidates]
                assert set(tokens) <= set(pick.token)
                assert len(pick.candidates) == sum(
                    r.nodes.count[node] for node in set(pick.candidates)
                )
                assert pick.overlap <= pick.best + 1e-6
                shown, rest = sum(map(min, pick.p, pick.picked)), min(pick.p_rest, pick.picked_rest)
                assert shown - 1e-5 <= pick.overlap <= shown + rest + 1e-5


BROKEN: list[tuple[dict[str, object], str]] = [
    ({"selected": 0}, "is no candidate"),
    ({"candidates": [1, 99]}, "is no child"),
    ({"used": 0}, "cannot have taken part"),
    ({"chance": []}, "0 chances do not fit"),
    ({"q": None}, "must both be given"),
    ({"picked": []}, "0 entries for"),
]


@pytest.mark.parametrize(("wrong", "said"), BROKEN)
def test_a_selection_that_does_not_fit_its_round_is_refused(
    wrong: dict[str, object], said: str
) -> None:
    r = next(r for r in rounds(0, drafts=2) if picks(r))
    (extra,) = (e for e in r.extras if isinstance(e, SelectionExtras))
    bad = changed(extra, picks=[changed(extra.picks[0], **wrong)])
    found = list(round_problems(changed(r, extras=[bad]), dict.fromkeys(range(SIZE), b"w")))
    assert any(said in problem for problem in found), found


def test_siblings_say_whether_they_were_selected() -> None:
    seen: dict[str, int] = defaultdict(int)
    for throw in range(40):
        for r in rounds(throw, selection="importance", alphabet=6, drafts=3):
            path = r.outcome.accepted
            for pick in picks(r):
                for node in set(pick.candidates):
                    reason, state = r.nodes.reason[node], r.nodes.state[node]
                    seen[reason] += 1
                    tested = [check for check in r.checks if check.node == node]
                    assert (node == pick.selected) == bool(tested)
                    if node == pick.selected:
                        assert reason == ("u<p/p_I" if tested[0].passed else "u>=p/p_I")
                        place = pick.token.index(r.nodes.token[node])
                        assert tested[0].q == pytest.approx(pick.picked[place], rel=1e-5)
                        assert tested[0].p == pytest.approx(pick.p[place], rel=1e-5)
                    elif reason == "landed":
                        assert (state, node in path) == ("accepted", True)
                    else:
                        assert (reason, state) == ("not_selected", "unreached")
    assert set(seen) == {"u<p/p_I", "u>=p/p_I", "not_selected", "landed"}


def test_who_met_whom_leads_from_the_first_draft_to_the_one_selected() -> None:
    met = 0
    for throw in range(20):
        for r in rounds(throw, drafts=4, length=2):
            for pick in picks(r):
                held = pick.candidates[0]
                for duel in pick.duels:
                    met += 1
                    assert duel.held == held
                    if duel.u is None:
                        assert duel.chance in (0, 1)
                        stays = duel.chance == 1
                    else:
                        stays = duel.u < duel.chance
                    held = duel.held if stays else duel.new
                assert held == pick.selected
                assert pick.selected in pick.candidates[: pick.used]
    assert met > 20


def test_a_text_that_ends_inside_the_draft_records_no_selection_beyond_it() -> None:
    p, q = np.full(3, 1 / 3), np.full(3, 1 / 3)
    tree = DraftTree((0, 1, 2, 1, 2), (-1, 0, 0, 1, 1))
    draft = Draft(
        tree, Sampling.INDEPENDENT, q=tensor(q).expand(5, -1), rows={n: n for n in range(5)}
    )
    scores = Scores(tensor(p).log().expand(5, -1))
    made = CanonicalDecomposition().prepare(draft, scores, RAW)
    outcome = next(
        found for throw in range(99) if len((found := made.walk(SeededDice(throw), 1)).path) == 2
    )
    (whole,) = made.extras(outcome)
    assert isinstance(whole, SelectionExtras)
    assert [pick.node for pick in whole.picks] == [0, 1]
    (cut,) = made.extras(outcome.cut(1))
    assert isinstance(cut, SelectionExtras)
    assert [pick.node for pick in cut.picks] == [0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"selection": "importance", "drafts": 4}, "may have 1 to 22 tokens"),
        ({"selection": "importance", "alphabet": 0}, "may have 1 to 500 tokens"),
        ({"drafts": 9}, "at most 8"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        get("canonical_decomposition").configure(values)


def test_drafts_without_replacement_are_refused() -> None:
    draft = Draft(
        DraftTree.root(0).extended([0], [1]), Sampling.DISTINCT, q=torch.ones(1, 3) / 3, rows={0: 0}
    )
    with pytest.raises(ValueError, match="drawn without replacement"):
        CanonicalDecomposition().prepare(draft, Scores(torch.zeros(2, 3)), RAW)
