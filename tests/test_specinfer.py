"""SpecInfer: independent children by an expansion config, the acceptances of the sheet, and laws
that do not depend on the order in which siblings are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from core.decode import decode, start
from core.dice import Dice, SeededDice
from core.laws import Law
from core.registry import Models, get
from core.shapes.base import Finished, Grower, Grown, Growth
from core.shapes.levels import EXPANSION, Levels, within
from core.tree import DraftTree, Sampling
from core.verify.base import Context
from core.verify.rejection import WITH_REPLACEMENT
from tests.exactness import TOLERANCE, error
from tests.sheet import P, Q, acceptance, configured, decoder, emitted
from tests.toys import WORLDS

SHEET = [
    ("F1", 2, 0.76, 1e-12),
    ("F2", 2, 0.75, 1e-12),
    ("F3", 2, 1, 1e-12),
    ("F4", 2, 0.55, 1e-12),
    ("F6", 2, 0.888889, 1e-6),
    ("F1", 3, 0.808, 1e-12),
    ("F2", 3, 0.875, 1e-12),
    ("F3", 3, 1, 1e-12),
    ("F4", 3, 0.595, 1e-12),
    ("F6", 3, 0.925926, 1e-6),
]


@pytest.mark.parametrize(("name", "width", "expected", "exactly"), SHEET)
def test_acceptance_is_the_sheet_s(name: str, width: int, expected: float, exactly: float) -> None:
    build = configured("specinfer", tree=[width])
    assert acceptance(build, P[name], Q[name]) == pytest.approx(expected, abs=exactly)
    assert emitted(build, P[name], Q[name]) == pytest.approx(P[name], abs=1e-12)


def drafted(law: Law, seed: int = 0, **settings: object) -> DraftTree:
    toy = WORLDS["different laws"](6)
    target, draft = toy.models()
    drafter = configured("specinfer", **settings)(Models(target, draft)).drafter
    drafter.begin(toy.prompt, target.open(toy.prompt[:-1]))
    return drafter.propose(Context(toy.prompt, law), 9, SeededDice(seed)).tree


def test_the_published_config_has_20_nodes_in_eight_levels() -> None:
    tree = drafted(Law(0))
    assert [tree.depths.count(depth) for depth in range(1, 9)] == [1, 1, 3, 3, 3, 3, 3, 3]
    assert tree.drafted == 20
    assert within(20, EXPANSION) == EXPANSION
    assert get("specinfer").configure({}).model_dump()["tree"] == EXPANSION


def test_what_is_drawn_twice_is_one_node_tried_twice_and_grows_once() -> None:
    trees = [drafted(Law(1), seed, tree=[4, 1]) for seed in range(20)]
    repeated = [tree for tree in trees if max(tree.counts) > 1]
    assert repeated
    for tree in trees:
        assert len(tree.tries(0)) == 4
        assert sum(tree.counts[child] for child in tree.children(0)) == 4
        assert all(len(tree.children(child)) == 1 for child in tree.children(0))


@pytest.mark.parametrize("temperature", [None, 0.0, 1.5])
@pytest.mark.parametrize("toy", ["one token overrated", "the drafter is the target"])
def test_siblings_that_repeat_and_have_children_are_exact(
    toy: str, temperature: float | None
) -> None:
    build = configured("specinfer", tree=[2, 1], draft_temperature=temperature)
    assert error(build, WORLDS[toy](3), Law(0.7), rounds=1) < TOLERANCE


@dataclass(frozen=True, slots=True)
class Reversed(Levels):
    """Tries independent siblings in the reverse of the order drawn."""

    def begin(self, greedy: bool) -> Grower:
        return _Reversed(Levels.begin(self, greedy))


@dataclass(frozen=True, slots=True)
class _Reversed:
    whole: Grower

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        made = self.whole.grow(grown, dice)
        children = [len(grown.tree) + i for i in range(len(made.parents))]
        drawn: dict[int, list[int]] = {parent: [] for parent in made.parents}
        for child, parent in zip(children, made.parents, strict=True):
            drawn[parent].append(child)
        return replace(made, offers={n: (made.offers.get(n) or drawn[n])[::-1] for n in drawn})

    def finish(self, grown: Grown) -> Finished:
        return self.whole.finish(grown)


def test_the_order_of_independent_siblings_changes_nothing() -> None:
    shape = Reversed((2,), Sampling.INDEPENDENT)
    build = decoder(shape, WITH_REPLACEMENT)
    assert error(build, WORLDS["one token overrated"](3), Law(1), rounds=1) < TOLERANCE
    for name in ("F1", "F4", "F6"):
        theirs = acceptance(configured("specinfer", tree=[2]), P[name], Q[name])
        assert acceptance(build, P[name], Q[name]) == pytest.approx(theirs, abs=1e-12)


def test_the_round_keeps_its_config_for_the_picture() -> None:
    toy = WORLDS["different laws"](6)
    target, draft = toy.models()
    decoder_ = configured("specinfer")(Models(target, draft))
    state = start(toy.prompt, target, decoder_, Law(0), 24)
    blocks = [extra for made in decode(state, SeededDice(1), lambda: 0.0) for extra in made.extras]
    assert blocks
    assert {(tuple(b.widths), b.drawing) for b in blocks} == {(EXPANSION, "likeliest")}
