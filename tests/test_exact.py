"""Every lossless method writes what the target alone would write: the same texts with the same
probabilities.

Chance is enumerated, so that the laws compared here are exact. One drafted round shows a wrong
rule; a second one shows what a round hands wrongly to the next.
"""

from __future__ import annotations

import pytest

from core.decode import start, step
from core.dice import Dice, SeededDice
from core.ending import Endings
from core.laws import Law
from core.registry import Method, Models, methods
from tests import exact
from tests.exactness import TOLERANCE, Builder, error, unrecorded
from tests.toy_heads import toy_counts, toy_heads
from tests.toys import WORLDS, Text, ancestral

pytestmark = pytest.mark.matrix

LAWS = {
    "T=0": Law(0),
    "T=0.7": Law(0.7),
    "T=1": Law(1),
    "T=1, top-k": Law(1, top_k=2),
    "T=1, top-p": Law(1, top_p=0.75),
    "T=0.7, both": Law(0.7, top_k=2, top_p=0.9),
}
TWICE = {
    "T=0": ("different laws", 3),
    "T=0.7": ("different laws", 2),
    "T=1": ("zeros in both laws", 2),
    "T=1, top-k": ("one token overrated", 3),
    "T=1, top-p": ("different laws", 2),
    "T=0.7, both": ("zeros in both laws", 3),
}
LOSSLESS = [method for method in methods().values() if method.lossless]


def builder(method: Method) -> Builder:
    return lambda models: method.build(method.toy, models)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("method", LOSSLESS, ids=lambda method: method.key)
def test_one_round_completed_by_the_target_has_the_target_s_law(
    method: Method, toy: str, law: str
) -> None:
    assert error(builder(method), WORLDS[toy](3), LAWS[law], rounds=1) < TOLERANCE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", LOSSLESS, ids=lambda method: method.key)
def test_two_rounds_have_the_target_s_law(method: Method, law: str) -> None:
    toy, size = TWICE[law]
    assert error(builder(method), WORLDS[toy](size), LAWS[law], rounds=2) < TOLERANCE


@pytest.mark.parametrize("method", LOSSLESS, ids=lambda method: method.key)
def test_texts_cut_by_length_and_by_an_end_token_have_the_target_s_law(method: Method) -> None:
    toy, law, length, end = WORLDS["different laws"](2), Law(1), 4, 0

    def cut(text: Text) -> Text:
        return text[: text.index(end) + 1] if end in text else text

    def run(dice: Dice) -> Text:
        target, draft = toy.models()
        models = Models(target, draft, frozenset({end}), toy_heads(toy.size), toy_counts(toy.size))
        decoder = method.build(method.toy, models)
        state = start(
            toy.prompt, target, decoder, law, length, Endings(frozenset({end})), recorder=unrecorded
        )
        while state.finished is None:
            step([state], dice, lambda: 0.0)
        return tuple(state.tokens[len(toy.prompt) :])

    expected: dict[Text, float] = {}
    for text, probability in ancestral(toy.target, toy.prompt, law, length).items():
        expected[cut(text)] = expected.get(cut(text), 0.0) + probability
    assert exact.distance(exact.law(run), expected) < TOLERANCE


@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.key)
def test_every_method_drafts_on_its_toy(method: Method) -> None:
    """A toy on which nothing is drafted would prove nothing about the method."""
    toy = WORLDS["different laws"](3)
    target, draft = toy.models()
    models = Models(target, draft, heads=toy_heads(toy.size), counts=toy_counts(toy.size))
    state = start(toy.prompt, target, method.build(method.toy, models), Law(0), 8)
    drafted = 0
    while state.finished is None:
        drafted += sum(made.drafted for made in step([state], SeededDice(0), lambda: 0.0))
    assert bool(drafted) != (method.key == "plain")
