"""What drafts can reach at most, worked out the slow way: from the law of the set of drafts, by a
linear program and as a minimum over all sets of tokens.

Shares nothing with `core.bounds`, so that the two can disagree.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations, product

import numpy as np
from scipy.optimize import linprog

Row = Sequence[float]
Sets = Mapping[frozenset[int], float]  # how likely each set of distinct drafts is


def independent(q: Row, count: int) -> Sets:
    """Return the law of the set of `count` drafts with replacement."""
    found: dict[frozenset[int], float] = defaultdict(float)
    for drafts in product(range(len(q)), repeat=count):
        found[frozenset(drafts)] += math.prod(q[x] for x in drafts)
    return found


def orders(q: Row, count: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield every order of `count` drafts without replacement, with its probability."""
    support = [x for x, mass in enumerate(q) if mass > 0]
    for drafts in permutations(support, min(count, len(support))):
        chance, left = 1.0, dict.fromkeys(support)
        for x in drafts:
            chance *= q[x] / math.fsum(q[y] for y in left)
            del left[x]
        yield drafts, chance


def distinct(q: Row, count: int) -> Sets:
    found: dict[frozenset[int], float] = defaultdict(float)
    for drafts, chance in orders(q, count):
        found[frozenset(drafts)] += chance
    return found


def likeliest(q: Row, count: int) -> list[int]:
    """Return the likeliest tokens that have mass, the lower id first among equals."""
    ranked = sorted((x for x, mass in enumerate(q) if mass > 0), key=lambda x: (-q[x], x))
    return ranked[:count]


def rest_of(q: Row, top: Sequence[int]) -> list[float]:
    """Return q without `top`, rescaled; zeros where nothing is left."""
    left = [0.0 if x in top else mass for x, mass in enumerate(q)]
    total = math.fsum(left)
    return [mass / total for mass in left] if total else left


def top_and_one(q: Row, count: int) -> Sets:
    top = likeliest(q, count - 1)
    drawn = rest_of(q, top)
    if not any(drawn):
        return {frozenset(top): 1.0}
    return {frozenset([*top, y]): mass for y, mass in enumerate(drawn) if mass > 0}


WAYS = {"independent": independent, "distinct": distinct, "top_and_one": top_and_one}


def by_program(p: Row, sets: Sets) -> float:
    """Return the largest acceptance by linear programming: mass moves from sets of drafts to their
    members.
    """
    arcs = [(s, x) for s in sets for x in s]
    limits = np.zeros((len(sets) + len(p), len(arcs)))
    places = {s: i for i, s in enumerate(sets)}
    for arc, (s, x) in enumerate(arcs):
        limits[places[s], arc] = 1
        limits[len(sets) + x, arc] = 1
    bounds = [*sets.values(), *p]
    found = linprog(-np.ones(len(arcs)), A_ub=limits, b_ub=bounds, method="highs")
    assert found.success, found.message
    return -float(found.fun)


def by_subsets(p: Row, sets: Sets) -> float:
    """Return 1 + min over all H of p(H) - Pr(all drafts in H)."""
    tokens = range(len(p))
    every = chain.from_iterable(combinations(tokens, size) for size in range(len(p) + 1))
    return 1 + min(
        math.fsum(p[x] for x in inside)
        - math.fsum(mass for s, mass in sets.items() if s <= set(inside))
        for inside in every
    )


def members(p: Row, sets: Sets) -> float:
    """Return the chance that a token drawn from p is one of the drafts."""
    return math.fsum(mass * p[x] for s, mass in sets.items() for x in s)
