"""What holds for every tree of ranked candidates, whichever shape grows it."""

from __future__ import annotations

import math

from core.laws import RAW
from core.models.toy import hashed
from core.shapes.base import TreePolicy
from core.verify.rejection import RecursiveRejection
from tests.exactness import Builder, first_round
from tests.sheet import decoder
from tests.slow_trees import PROMPT, paths_of, proposed, reach
from tests.toys import World, certain_at


def ranked(shape: TreePolicy) -> Builder:
    """Return a builder: candidates are ranked at temperature 1 and verified as fixed ones."""
    return decoder(shape, RecursiveRejection(), RAW.temperature)


def mean_accepted(shape: TreePolicy, toy: World) -> float:
    """Return how many tokens the first round accepts on average, over all luck."""
    outcomes = first_round(ranked(shape), toy)
    return math.fsum(len(outcome.accepted) * chance for outcome, chance in outcomes)


def path_sum(shape: TreePolicy, toy: World) -> float:
    """Return the sum of the target's path probabilities over the tree that `shape` drafts."""
    draft = proposed(shape, toy.draft, toy.size)
    return math.fsum(reach(toy.target, path) for path in paths_of(draft))


def small_world(seed: int) -> World:
    """Return a world of three tokens whose first drafted round begins after `PROMPT`."""
    target = certain_at(hashed(3, seed), len(PROMPT) - 1, PROMPT[-1])
    return World(target, hashed(3, seed + 1, 2.0), 3, PROMPT[:-1])
