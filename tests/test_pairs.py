"""Every pair of a tree shape and a lossless rule is exact, or is refused with the reason."""

from __future__ import annotations

import pytest

from core.decode import Decoder, start
from core.drafters.model import ModelDrafter
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.parts import rules, shapes, stops
from core.registry import Models, get
from core.verify.base import check_fit
from tests.exactness import Builder, error
from tests.toys import WORLDS

pytestmark = pytest.mark.matrix

LOSSLESS = [key for key, part in rules().items() if part.lossless]
EXACT = 1e-9  # rules that solve a linear program are exact up to its solution
BUDGET = 2


def pair(shape: str, rule: str, stop: str | None = None) -> Builder:
    """Return a builder of the pair, drafted by the toy's second model."""

    def build(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        policy = shapes()[shape].make(BUDGET)
        ends = [stops()[stop].make()] if stop else []
        drafter = ModelDrafter(lambda prompt, _: draft.open(prompt), policy, "toy", ends)
        return Decoder(drafter, rules()[rule].make())

    return build


def fits(shape: str, rule: str, greedy: bool) -> bool:
    models = Models(*(ToyModel(hashed(3, seed), 3) for seed in (1, 2)))
    decoder = pair(shape, rule)(models)
    try:
        check_fit(decoder.verifier, decoder.drafter.offer(greedy))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("rule", LOSSLESS)
@pytest.mark.parametrize("shape", list(shapes()))
def test_a_pair_is_exact_or_refused(shape: str, rule: str, temperature: float) -> None:
    law, toy = Law(temperature), WORLDS["one token overrated"](3)
    build = pair(shape, rule)
    if fits(shape, rule, law.is_greedy):
        assert error(build, toy, law, rounds=1) < EXACT
        return
    target, draft = toy.models()
    with pytest.raises(ValueError, match=r"(not valid for siblings|decides a single path)"):
        start(toy.prompt, target, build(Models(target, draft)), law, 9)


@pytest.mark.parametrize("shape", list(shapes()))
def test_every_shape_has_a_rule_and_keeps_the_law_over_two_rounds(shape: str) -> None:
    rule = next(rule for rule in LOSSLESS if fits(shape, rule, greedy=False))
    assert error(pair(shape, rule), WORLDS["different laws"](2), Law(1), rounds=2) < EXACT


@pytest.mark.parametrize("stop", list(stops()))
def test_every_stop_rule_keeps_the_law(stop: str) -> None:
    toy = WORLDS["different laws"](2)
    assert error(pair("chain", "rejection", stop), toy, Law(1), rounds=2) < EXACT


@pytest.mark.parametrize("rule", LOSSLESS)
def test_every_rule_is_valid_for_some_shape(rule: str) -> None:
    assert any(fits(shape, rule, greedy=False) for shape in shapes())


def test_the_mixed_method_refuses_what_would_bend_the_law() -> None:
    models = Models(*(ToyModel(hashed(3, seed), 3) for seed in (1, 2)))
    mix = get("mix")
    with pytest.raises(ValueError, match="not valid for siblings"):
        mix.build({"drafter": "model", "shape": "top_and_one", "rule": "rejection"}, models)
    with pytest.raises(ValueError, match="there are"):
        mix.configure({"shape": "palm"})
    assert mix.build({"drafter": "model", "shape": "k_config", "stop": "entropy"}, models)
