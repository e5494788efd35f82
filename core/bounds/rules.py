"""What each rule accepts of the drafts at one node, exactly, where sums over the laws give it.

Recursive rejection without replacement is apart, in `core.bounds.rejection`. All take laws p and q
(V,) in float64, or the two as a `Pair`.
"""

from __future__ import annotations

import numpy as np

from core.bounds.pair import Ints, Pair
from core.bounds.race import Race
from core.host import Floats
from core.verify.crossing import crossing


def overlap(both: Pair) -> float:
    """Standard speculative sampling, one draft: sum of min(p, q)."""
    return 1.0 - _left(both, 1.0)


def naive_independent(p: Floats, q: Floats, count: int) -> float:
    """A token drawn from p is among `count` drafts from q with replacement."""
    with np.errstate(divide="ignore"):
        return float(-p @ np.expm1(count * np.log1p(-q)))


def naive_distinct(both: Pair, drafts: Race) -> float:
    """A token drawn from p is among the `drafts` from q without replacement."""
    return float(both.p @ drafts.included())


def naive_top_and_one(p: Floats, rest: Floats, top: Ints) -> float:
    """A token drawn from p is among `top`, or is the one drawn from `rest` (V,)."""
    return float(p[top].sum() + p @ rest)


def recursive_independent(both: Pair, count: int) -> float:
    """Recursive rejection of `count` drafts with replacement (SpecInfer).

    After each rejection what remains of p is (p - c q)+, and c grows by its mass: the draft's law
    is the same every time.
    """
    taken = 0.0
    for _ in range(count):
        taken += _left(both, taken)
    return 1.0 - _left(both, taken)


def recursive_top_and_one(p: Floats, rest: Floats, top: Ints) -> float:
    """Recursive rejection that tries `top` first, as fixed children, and then the drawn one: never
    more than trying that one first, since the others are paid from its share of p.
    """
    kept = float(p[top].sum())
    others = p.copy()
    others[top] = 0.0
    return kept + float(np.minimum(others, (1.0 - kept) * rest).sum())


def k_sequential(p: Floats, q: Floats, count: int) -> float:
    """K-SEQ of `count` drafts with replacement (SpecTr), at its root rho*."""
    curves = crossing(p, q, count)
    return float(curves.reach(curves.root()))


def one_hot(p: Floats, tokens: Ints) -> float:
    """Fixed children: a token drawn from p is one of `tokens`."""
    return float(p[tokens].sum())


def _left(both: Pair, scale: float) -> float:
    return float(both.left(np.array([scale]))[0])
