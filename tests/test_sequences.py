"""Whole drafts, merged into a tree: still independent sequences of the drafter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest

from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.shapes.sequences import Sequences, within
from core.tree import Draft, DraftTree
from tests import exact
from tests.candidates import RAW
from tests.toys import WORLDS, World


def grown(shape: Sequences, dice: Dice, law: Callable[[tuple[int, ...]], Sequence[float]]) -> Draft:
    """Return the draft of `shape` from a toy drafter."""
    toy = World(law, law, len(law(())), (0,))
    target, draft = toy.models()
    drafter = ModelDrafter(lambda prompt, _: draft.open(prompt), shape, "toy")
    session = target.open(())
    drafter.begin((0,), session)
    return drafter.propose(RAW, 8, dice)


def sequences_of(tree: DraftTree, drafts: int) -> list[tuple[int, ...]]:
    """Take the drafts of a merged tree apart again, in order."""

    def below(node: int, count: int) -> list[tuple[int, ...]]:
        drawn = tree.tries(node)
        if not drawn:
            return [()] * count
        assert len(drawn) == count
        rests = {child: iter(below(child, drawn.count(child))) for child in set(drawn)}
        return [(tree.tokens[child], *next(rests[child])) for child in drawn]

    return below(0, drafts)


def test_merged_drafts_are_independent_sequences_of_the_drafter() -> None:
    table = WORLDS["different laws"](3).draft

    def run(dice: Dice) -> tuple[tuple[int, ...], ...]:
        return tuple(sequences_of(grown(Sequences(2, 2), dice, table).tree, 2))

    for pair_, mass in exact.law(run).items():
        expected = math.prod(
            table((0, *tokens[:place]))[token]
            for tokens in pair_
            for place, token in enumerate(tokens)
        )
        assert mass == pytest.approx(expected, abs=1e-14)


def test_counts_tell_how_many_drafts_run_through_a_node() -> None:
    table = WORLDS["different laws"](3).draft
    for seed in range(10):
        draft = grown(Sequences(5, 3), SeededDice(seed), table)
        tree = draft.tree
        for node in range(len(tree)):
            children = tree.children(node)
            if children:
                through = 5 if node == 0 else tree.counts[node]
                assert sum(tree.counts[child] for child in children) == through
                assert len(tree.tries(node)) == through
        assert len(tree) <= 16


@pytest.mark.parametrize(("budget", "drafts", "length"), [(1, 1, 1), (3, 1, 3), (64, 16, 4)])
def test_a_budget_gives_as_many_drafts_as_fit(budget: int, drafts: int, length: int) -> None:
    assert within(budget) == Sequences(drafts, length)
