"""The exactness test has teeth: bugs that were found in the wild, planted one by one, must all be
caught.

The sound rule and the sound drafts come first; every bug below differs from them in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from torch import Tensor

from core.decode import Decoder
from core.dice import Dice, Key
from core.drafters.model import ModelDrafter
from core.extras import Extras
from core.laws import Law
from core.models.base import LanguageModel, Scores, Session
from core.models.toy import ToyModel, ToySession
from core.registry import Models, get
from core.shapes.base import TreePolicy
from core.tree import Draft, DraftTree, Resume, Sampling
from core.verify.base import Context, Outcome, PlainTable
from core.verify.rejection import RecursiveRejection
from tests import exact
from tests.drafts import Distinct, Likeliest, Replaced
from tests.exactness import TOLERANCE, Builder, error, first_round
from tests.slow_rejection import Row, SlowRejection
from tests.toys import WORLDS, World, certain_at

TOY = WORLDS["one token overrated"](3)
HARM = 1e-3  # a caught bug is far from rounding


def drafts(
    shape: TreePolicy, drafter: type[ModelDrafter] = ModelDrafter, rule: object = None
) -> Builder:
    """Return a builder: the second model drafts trees of `shape`, `rule` (default: the real one)
    verifies them.
    """

    def build(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        verifier = rule if isinstance(rule, SlowRejection) else RecursiveRejection()
        return Decoder(drafter(lambda prompt, _: draft.open(prompt), shape, "toy"), verifier)

    return build


CHAIN, PAIR = Distinct((1, 1)), Distinct((2, 1))


@pytest.mark.parametrize("shape", [CHAIN, PAIR, Replaced((2, 1)), Likeliest((2, 1))], ids=repr)
def test_the_sound_rules_are_exact(shape: TreePolicy) -> None:
    assert error(drafts(shape), TOY, Law(0.7), rounds=1) < TOLERANCE
    assert error(drafts(shape, rule=SlowRejection()), TOY, Law(0.7), rounds=1) < TOLERANCE


class FinalFromTarget(SlowRejection):
    """The final token after a rejection comes from p instead of what remains."""

    def replacement(self, p: Row, remains: Row) -> Row:
        return p


class RestIsTarget(SlowRejection):
    """A rejection takes nothing out of the target's law."""

    def rest(self, target: Row, drawn: Row, token: int, fixed: bool) -> Row:
        return target


class NotRescaled(SlowRejection):
    """D loses the tried token but is not rescaled to one."""

    def spent(self, drawn: Row, token: int) -> Row:
        return [0.0 if t == token else w for t, w in enumerate(drawn)]


class NothingSpent(SlowRejection):
    """D keeps the tried token, as if siblings were drawn with replacement."""

    def spent(self, drawn: Row, token: int) -> Row:
        return drawn


class OnlyTokenLeaves(SlowRejection):
    """A rejection removes the drawn token instead of its law, as is right for fixed drafts only."""

    def rest(self, target: Row, drawn: Row, token: int, fixed: bool) -> Row:
        return super().rest(target, drawn, token, fixed=True)


class BonusFromParent(SlowRejection):
    """The bonus token comes from the law before the last accepted token."""

    def bonus(self, laws: Sequence[Row], path: Sequence[int]) -> Row:
        return laws[path[-2]] if len(path) > 1 else laws[0]


class BonusFromRoot(SlowRejection):
    """The bonus token comes from the root's law."""

    def bonus(self, laws: Sequence[Row], path: Sequence[int]) -> Row:
        return laws[0]


class LateVerdict(SlowRejection):
    """u <= ratio instead of u < ratio."""

    def passes(self, coin: Dice, accept: float) -> bool:
        coin.flip(accept)
        return coin.u <= accept


class LateVerdictAtZero(SlowRejection):
    """u <= ratio, felt only where u is exactly 0 and so is the ratio."""

    def passes(self, coin: Dice, accept: float) -> bool:
        return coin.flip(accept) or (accept == 0 and coin.u <= accept)


class Squared(SlowRejection):
    """The ratio is squared: too strict, though the residual is right."""

    def passes(self, coin: Dice, accept: float) -> bool:
        return coin.flip(accept * accept)


@pytest.mark.parametrize(
    ("rule", "shape"),
    [
        (FinalFromTarget(), CHAIN),
        (FinalFromTarget(), PAIR),
        (FinalFromTarget(), Likeliest((1, 1))),
        (RestIsTarget(), PAIR),
        (RestIsTarget(), Replaced((2, 1))),
        (NotRescaled(), PAIR),
        (NothingSpent(), PAIR),
        (OnlyTokenLeaves(), CHAIN),
        (BonusFromParent(), CHAIN),
        (BonusFromRoot(), CHAIN),
        (LateVerdict(), CHAIN),
        (Squared(), CHAIN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_step_of_the_rule_is_caught(rule: SlowRejection, shape: TreePolicy) -> None:
    assert error(drafts(shape, rule=rule), TOY, Law(1), rounds=1) > HARM


def test_accepting_a_token_of_probability_zero_is_caught_where_the_target_has_zeros() -> None:
    toy = WORLDS["zeros in both laws"](3)
    assert error(drafts(CHAIN, rule=SlowRejection()), toy, Law(1), rounds=1) < TOLERANCE
    assert error(drafts(CHAIN, rule=LateVerdictAtZero()), toy, Law(1), rounds=1) > HARM


class SortedSiblings(Distinct):
    """Siblings drawn without replacement, tried in order of their ids."""

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        return super().choose(laws, width, dice).sort(dim=1).values


class LikeliestFirst(Distinct):
    """Siblings drawn without replacement, tried in order of their draft probability."""

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        drawn = super().choose(laws, width, dice)
        return drawn.gather(1, laws.gather(1, drawn).argsort(dim=1, descending=True))


class KeptLikelier(Distinct):
    """Two tokens drawn without replacement, the likelier one offered: a choice by what is thrown
    away.
    """

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        drawn = super().choose(laws, 2, dice)
        return drawn.gather(1, laws.gather(1, drawn).argmax(dim=1, keepdim=True))


class FavouriteCalledDrawn(Likeliest):
    """The arg-max of q, verified as if it had been drawn from q (draft temperature 0, rule for
    samples).
    """

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT


class DistinctCalledIndependent(Distinct):
    """Drawn without replacement, verified as if with."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.INDEPENDENT


class IndependentCalledDistinct(Replaced):
    """Drawn with replacement, verified as if without."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT


@pytest.mark.parametrize(
    "shape",
    [
        SortedSiblings((2, 1)),
        LikeliestFirst((2, 1)),
        KeptLikelier((1, 1)),
        FavouriteCalledDrawn((1, 1)),
        DistinctCalledIndependent((2, 1)),
        IndependentCalledDistinct((2, 1)),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_siblings_that_came_about_otherwise_than_declared_are_caught(shape: TreePolicy) -> None:
    assert error(drafts(shape), TOY, Law(1), rounds=1) > HARM


def test_fixed_children_may_be_verified_one_by_one_even_if_they_were_drawn() -> None:
    """The one-hot rule is sound for any set of candidates that does not depend on the target."""

    class Drawn(Distinct):
        def sampling(self, greedy: bool) -> Sampling:
            return Sampling.DETERMINISTIC

    assert error(drafts(Drawn((2, 1))), TOY, Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.503571, 0.160714, 0.335714)),
        ((0.7, 0.2, 0.1), (0.4, 0.3, 0.3), (0.871429, 0.085714, 0.042857)),
        ((0.6, 0.4, 0.0), (0.5, 0.3, 0.2), (0.839286, 0.160714, 0.0)),
    ],
)
def test_keeping_the_likelier_of_two_draws_bends_the_law_as_the_sheet_says(
    p: Sequence[float], q: Sequence[float], expected: Sequence[float]
) -> None:
    toy = World(certain_at(lambda _: p, 3, 1), lambda _: q, 3)
    found = [0.0, 0.0, 0.0]
    for outcome, probability in first_round(drafts(KeptLikelier((1,))), toy):
        found[outcome.emitted[0]] += probability
    assert found == pytest.approx(expected, abs=1e-6)


class Cooled(ModelDrafter):
    """Draws from q at temperature 1 and records q at the target's temperature."""

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        warm = super().propose(replace(context, law=Law(1)), limit, dice)
        assert warm.logits is not None
        return replace(warm, q=context.law(warm.logits))


class Stale(ModelDrafter):
    """Records, for every node, the law that the root's children were drawn from."""

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = super().propose(context, limit, dice)
        assert made.q is not None
        return replace(made, q=made.q[:1].expand_as(made.q))


@pytest.mark.parametrize("drafter", [Cooled, Stale])
def test_draft_laws_other_than_those_recorded_are_caught(drafter: type[ModelDrafter]) -> None:
    assert error(drafts(CHAIN, drafter), TOY, Law(0.7), rounds=1) > HARM


class Deaf(ModelDrafter):
    """Drafts from a context of its own: the accepted tokens never reach its session."""

    def observe(self, feedback: object) -> Sequence[Extras]:
        self._place = {}
        return ()


def test_a_drafter_that_lost_the_text_is_slow_but_exact() -> None:
    assert error(drafts(CHAIN, Deaf), WORLDS["different laws"](2), Law(1), rounds=2) < TOLERANCE


class ForgetfulModel(ToyModel):
    """A target whose cache loses the last accepted token of a round with two."""

    def open(self, token_ids: Sequence[int] = ()) -> Session:
        return ForgetfulSession(self, tuple(token_ids))


class ForgetfulSession(ToySession):
    def keep(self, path: Sequence[int]) -> None:
        super().keep(path[:-1] if len(path) > 2 else path)


class SwappedModel(ToyModel):
    """A target that scores siblings in the wrong order when a tree branches."""

    def open(self, token_ids: Sequence[int] = ()) -> Session:
        return SwappedSession(self, tuple(token_ids))


class SwappedSession(ToySession):
    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        logits = super().score(tree, start, taps, resume).logits
        if tree.is_chain:
            return Scores(logits)
        first, second = tree.children(0)[:2]
        order = list(range(len(tree)))
        order[first], order[second] = second, first
        return Scores(logits[order])


def as_type(kind: type[ToyModel], toy: World) -> LanguageModel:
    return kind(toy.target, toy.size)


def test_a_cache_that_keeps_too_little_shows_in_the_second_round_only() -> None:
    toy = WORLDS["different laws"](2)
    assert error(drafts(CHAIN), toy, Law(1), 1, lambda _: as_type(ForgetfulModel, toy)) < TOLERANCE
    assert error(drafts(CHAIN), toy, Law(1), 2, lambda _: as_type(ForgetfulModel, toy)) > HARM


def test_scores_on_the_wrong_nodes_are_caught() -> None:
    assert error(drafts(PAIR), TOY, Law(1), 1, lambda _: as_type(SwappedModel, TOY)) > HARM


class SharedNoise(RecursiveRejection):
    """Draws the final token from the address at which the draft was drawn."""

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SharedTable:
        return SharedTable(super().prepare(draft, scores, context), len(context.tokens))


class SharedTable(PlainTable):
    def __init__(self, table: object, place: int) -> None:
        self._table, self._place = table, place

    def walk(self, dice: Dice, position: int) -> Outcome:
        return self._table.walk(_Redirected(dice, ("draft", self._place, 0)), position)  # type: ignore[attr-defined]


class _Redirected:
    """Dice whose final draw falls at another address."""

    def __init__(self, dice: Dice, final: tuple[Key, ...]) -> None:
        self._dice, self._final = dice, final

    def at(self, *key: Key) -> Dice:
        return self._dice.at(*self._final) if key[0] == "final" else self._dice.at(*key)


def test_one_number_that_decides_twice_is_refused() -> None:
    def build(models: Models) -> Decoder:
        sound = drafts(CHAIN)(models)
        return Decoder(sound.drafter, SharedNoise())

    with pytest.raises(exact.BadChanceError, match="thrown twice"):
        error(build, TOY, Law(1), rounds=1)


def test_state_that_leaks_from_one_run_to_the_next_is_refused() -> None:
    def run(dice: Dice) -> bool:
        seen.append(0)
        return dice.flip(1 / len(seen) / 2)

    seen: list[int] = []
    with pytest.raises(exact.BadChanceError, match="state between runs"):
        exact.law(run)


def test_a_lookup_whose_rejection_leaves_the_token_in_is_caught() -> None:
    def build(models: Models) -> Decoder:
        lookup = get("prompt_lookup")
        return Decoder(lookup.build(lookup.toy, models).drafter, RestIsTarget())

    assert error(build, TOY, Law(1), rounds=1) > HARM
