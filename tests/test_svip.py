"""SVIP stops where the sheet says, keeps the token that tripped it, and costs no extra forward."""

from __future__ import annotations

from math import log, sqrt

import pytest
import torch

from core.decode import Decoder, decode, start
from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.extras import SvipExtras
from core.laws import Law
from core.models.toy import ToyModel
from core.parts import shapes
from core.registry import Models, get
from core.shapes.base import Grown, StopPolicy
from core.shapes.entropy import EntropyStop
from core.shapes.levels import Levels
from core.shapes.schedule import LONGEST, Scheduled
from core.shapes.stops import Confidence
from core.tree import DraftTree
from core.verify.rejection import RecursiveRejection
from tests.exactness import TOLERANCE, error
from tests.toys import WORLDS


def after(law: list[float]) -> Grown:
    """Return a draft whose one token was drawn from `law`."""
    q = torch.tensor([law], dtype=torch.float64)
    return Grown(DraftTree.root(0).extended([0], [0]), q, q.log(), {0: 0}, [1], 9)


@pytest.mark.parametrize(
    ("law", "entropy", "stops"),
    [
        ([0.99, 0.01], 0.0560, False),
        ([0.9, 0.1], 0.32508, False),
        ([0.8, 0.2], 0.5004, False),
        ([0.7, 0.2, 0.1], 0.80182, True),
    ],
)
def test_the_code_s_rule_stops_as_the_sheet_lists(
    law: list[float], entropy: float, stops: bool
) -> None:
    made = EntropyStop()(after(law))
    assert -sum(x * log(x) for x in law) == pytest.approx(entropy, abs=1e-4)
    assert (made is not None) == stops
    if made is not None:
        assert made.value == pytest.approx(sqrt(0.15 * entropy), abs=1e-4)
        assert made.threshold == 0.3


def test_the_two_readings_of_the_threshold_differ() -> None:
    law = after([0.9, 0.1])
    assert EntropyStop(scale=0.15)(law) is None
    assert EntropyStop(scale=1.0)(law) is not None


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ({}, 0.15),
        ({"reading": "paper"}, 1.0),
        ({"reading": "own"}, 0.18),
        ({"reading": "own", "factor": 0.3}, 0.3),
        ({"reading": "code", "factor": 0.3}, 0.15),
    ],
)
def test_both_readings_and_any_other_factor_can_be_had(
    values: dict[str, object], scale: float
) -> None:
    flat = ToyModel(lambda _: [0.25] * 4, 4)
    decoder = get("svip").build({"drafter": "model", **values}, Models(flat, flat))
    state = start([0], flat, decoder, Law(1.0), 6)
    made = next(r for r in decode(state, SeededDice(3), lambda: 0.0) if r.drafted)
    (extra,) = [extra for extra in made.extras if isinstance(extra, SvipExtras)]
    assert extra.scale == scale
    assert made.stop is not None
    assert made.stop.value == pytest.approx(sqrt(scale * log(4)), abs=1e-5)


def branched(first: list[float], second: list[float]) -> Grown:
    """Return a draft of two children, each with a child of its own, from two laws."""
    tree = DraftTree.root(0).extended([0, 0], [0, 1]).extended([1, 2], [0, 0])
    q = torch.tensor([[0.5, 0.5], first, second], dtype=torch.float64)
    return Grown(tree, q, q.log(), {0: 0, 1: 1, 2: 2}, [3, 4], 9)


def test_in_a_tree_drafting_goes_on_while_one_law_is_sure_enough() -> None:
    sure, unsure = [0.99, 0.01], [0.5, 0.5]
    for first, second in ((sure, unsure), (unsure, sure), (sure, sure)):
        assert EntropyStop()(branched(first, second)) is None
    made = EntropyStop()(branched(unsure, [0.6, 0.4]))
    assert made is not None
    surest = -sum(x * log(x) for x in (0.6, 0.4))
    assert made.value == pytest.approx(sqrt(0.15 * surest), abs=1e-5)


def test_in_a_tree_drafting_goes_on_while_one_token_was_likely_enough() -> None:
    for first, second in (([0.9, 0.1], [0.2, 0.8]), ([0.2, 0.8], [0.9, 0.1])):
        assert Confidence(0.4)(branched(first, second)) is None
    made = Confidence(0.4)(branched([0.1, 0.9], [0.3, 0.7]))
    assert made is not None
    assert made.value == pytest.approx(0.3)
    one_hot = Confidence(0.4)(branched([1.0, 0.0], [0.3, 0.7]))
    assert one_hot is None


@pytest.mark.parametrize("stop", [EntropyStop(1.0, 0.8), Confidence(0.4)], ids=["svip", "likely"])
@pytest.mark.parametrize("world", ["different laws", "one token overrated"])
def test_stopping_a_tree_keeps_the_law(stop: StopPolicy, world: str) -> None:
    def build(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        drafter = ModelDrafter(
            lambda prompt, _: draft.open(prompt), Levels((2, 1, 1)), "toy", [stop]
        )
        return Decoder(drafter, RecursiveRejection())

    assert error(build, WORLDS[world](3), Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_entropy_is_taken_in_full_precision(dtype: torch.dtype) -> None:
    noise = torch.Generator().manual_seed(1)
    logits = (3 * torch.randn(1, 20_000, generator=noise)).to(dtype)
    law = logits.double().softmax(1)[0]
    slow = float(-(law * law.log()).sum())
    grown = Grown(DraftTree.root(0).extended([0], [0]), logits, logits, {0: 0}, [1], 9)
    made = EntropyStop()(grown)
    assert made is not None
    assert made.value == pytest.approx(sqrt(0.15 * slow), rel=1e-5)


def test_a_sure_drafter_never_stops_and_zeros_have_no_entropy() -> None:
    assert EntropyStop(threshold=0.0)(after([1.0, 0.0])) is None


def test_the_bound_of_the_sheet_s_first_fixture() -> None:
    """H(q) is 1.02965; the bound 1 - sqrt(c H) is .6070 for c = .15 and .5695 for c = .18."""
    q = [0.2, 0.3, 0.5]
    for scale, bound in ((0.15, 0.6070), (0.18, 0.5695)):
        made = EntropyStop(scale=scale, threshold=0.0)(after(q))
        assert made is not None
        assert made.value is not None
        assert 1 - made.value == pytest.approx(bound, abs=1e-4)
        assert made.value**2 / scale == pytest.approx(1.02965, abs=1e-5)


def rounds(threshold: float) -> list[tuple[int, int, str]]:
    """Return drafted tokens, draft forwards and stop of each round over flat laws."""
    flat = ToyModel(lambda _: [0.25] * 4, 4)
    decoder = get("svip").build({"drafter": "model", "threshold": threshold}, Models(flat, flat))
    state = start([0], flat, decoder, Law(1.0), 60)
    made = [r for r in decode(state, SeededDice(3), lambda: 0.0) if r.drafted]
    return [(r.drafted, r.cost.draft_forwards, r.stop.reason if r.stop else "") for r in made]


def test_the_uncertain_token_stays_and_nothing_is_run_behind_it() -> None:
    assert set(rounds(0.3)[:-1]) == {(1, 1, "entropy")}


def test_a_threshold_out_of_reach_drafts_to_the_end() -> None:
    assert all(stop == "length" for _, _, stop in rounds(4.0))


@pytest.mark.parametrize("world", ["different laws", "zeros in both laws"])
def test_stopping_by_entropy_keeps_the_law(world: str) -> None:
    values = {"drafter": "model", "length": 2, "threshold": 0.33}
    toy = WORLDS[world](2)
    assert error(lambda models: get("svip").build(values, models), toy, Law(1), 2) < TOLERANCE


def test_the_schedule_grows_by_two_and_shrinks_by_one_within_its_bounds() -> None:
    lengths = Scheduled(4)
    lengths.observe(4, 4)
    assert lengths.length == 6
    lengths.observe(2, 6)
    assert lengths.length == 5
    for _ in range(9):
        lengths.observe(0, 5)
    assert lengths.length == 1
    for _ in range(40):
        lengths.observe(lengths.length, lengths.length)
    assert lengths.length == LONGEST


@pytest.mark.parametrize("budget", [1, 4, 9])
def test_as_a_part_the_schedule_stays_within_its_budget(budget: int) -> None:
    lengths = shapes()["schedule"].make(budget)
    assert isinstance(lengths, Scheduled)
    for _ in range(9):
        assert 1 <= lengths.length <= budget
        lengths.observe(lengths.length, lengths.length)
    assert lengths.length == budget


def test_the_schedule_runs_in_a_round_and_keeps_the_law() -> None:
    values = {"drafter": "model", "length": 1, "schedule": "heuristic"}
    method = get("speculative_sampling")
    toy = WORLDS["different laws"](2)
    assert error(lambda models: method.build(values, models), toy, Law(1), 2) < TOLERANCE
    same = ToyModel(lambda _: [0.0, 1.0], 2)
    state = start([0], same, method.build(values, Models(same, same)), Law(1.0), 40)
    drafted = [r.drafted for r in decode(state, SeededDice(0), lambda: 0.0) if r.drafted]
    assert drafted[:4] == [1, 3, 5, 7]


def test_confidence_is_that_of_temperature_one_where_the_law_in_use_is_certain() -> None:
    tree = DraftTree.root(0).extended([0], [0])
    logits = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64).log()
    for q in (Law(0)(logits), Law(1)(logits)):
        stop = Confidence(0.6)(Grown(tree, q, logits, {0: 0}, [1], 9))
        assert stop is not None
        assert stop.value == pytest.approx(0.5, abs=1e-6)
        assert Confidence(0.4)(Grown(tree, q, logits, {0: 0}, [1], 9)) is None
