"""Heads that follow the target draft for any method, and the text keeps the target's law: chance
enumerated over two rounds, so that what a round leaves behind in a head's cache takes part.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from core.decode import start, step
from core.dice import SeededDice
from core.laws import Law
from core.registry import Models, get
from tests.exactness import TOLERANCE, error
from tests.toy_heads import toy_heads
from tests.toys import WORLDS

pytestmark = pytest.mark.matrix

HEADS = pytest.mark.parametrize("drafter", ["eagle", "eagle3", "medusa", "hydra", "kangaroo"])
METHODS: Mapping[str, Mapping[str, object]] = {
    "speculative_sampling": {"length": 2},
    "block_verification": {"length": 2},
    "eagle1": {"tree": "0 1 00"},
    "eagle2": {"width": 2, "nodes": 5, "depth": 1},
    "opt_tree": get("opt_tree").toy,
    "dyspec": get("dyspec").toy,
    "svip": get("svip").toy,
    "rsd": get("rsd").toy,
    "mix": get("mix").toy,
}


@HEADS
@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("law", [Law(0), Law(0.7, top_k=2), Law(1)], ids=["0", "0.7", "1"])
def test_one_round_has_the_target_s_law(key: str, drafter: str, law: Law) -> None:
    values = {**METHODS[key], "drafter": drafter}
    toy = WORLDS["different laws"](3)
    assert error(lambda models: get(key).build(values, models), toy, law, 1) < TOLERANCE


@HEADS
@pytest.mark.parametrize("key", METHODS)
def test_two_rounds_have_the_target_s_law(key: str, drafter: str) -> None:
    values = {**METHODS[key], "drafter": drafter}
    toy = WORLDS["different laws"](2)
    assert error(lambda models: get(key).build(values, models), toy, Law(1), 2) < TOLERANCE


@HEADS
@pytest.mark.parametrize("key", METHODS)
def test_heads_draft_for_them(key: str, drafter: str) -> None:
    toy = WORLDS["different laws"](3)
    target, _ = toy.models()
    decoder = get(key).build(
        {**METHODS[key], "drafter": drafter}, Models(target, heads=toy_heads(3))
    )
    state, sources = start(toy.prompt, target, decoder, Law(0), 12), set[str]()
    while state.finished is None:
        for made in step([state], SeededDice(0), lambda: 0.0):
            sources |= set(made.nodes.source[1:])
    assert sources == {drafter}
