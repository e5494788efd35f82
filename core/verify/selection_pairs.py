"""Which of two drafted tokens to select: a linear program for the likeliest, a fixed order for all
others.

Two independent tokens have the laws a and b; the winner of the pair should have a law that covers
as much of the target p as it can. The few tokens with the largest p - ab are ranked first. Between
two of them the chances are free, and a linear program sets them; in every other pair the higher
ranked token wins. Tokens outside the alphabet lose to all of it. Whatever the chances, the law of
the winner is computed from them, so that no rule built on it depends on the solver.

The truncated program of Khisti et al., arXiv 2410.18234. There all tokens are ranked by p - ab;
here those that are not free go by p / (a + b), which covers more of p on real laws. Knows laws on
an alphabet (n,), no tree, no dice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from core.host import Floats


@dataclass(frozen=True, slots=True)
class Mass:
    """A law: the mass of each token of the alphabet (n,), and of all tokens outside it."""

    inside: Floats
    outside: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """How pairs are decided. `order` (n,): tokens in their order; `rank` (n,): the place of each.

    `free` (s, s), upper triangle: chance that the earlier of two of the first s tokens is selected.
    `winner`: the law of the token selected.
    """

    order: Sequence[int]
    rank: Sequence[int]
    free: Floats
    winner: Mass

    def stays(self, first: int, second: int) -> float:
        """Return the chance that `first` is selected from the two different tokens."""
        i, j = self.rank[first], self.rank[second]
        low, high = min(i, j), max(i, j)
        chance = float(self.free[low, high]) if high < len(self.free) else 1.0
        return chance if i < j else 1.0 - chance


def decide(p: Floats, a: Mass, b: Mass, free: int) -> Pairs:
    """Return how to decide a pair of tokens with the laws `a` and `b` for the target `p` (n,), the
    chances of the `free` first ranked tokens set by the linear program.
    """
    order = _order(p, a.inside, b.inside, free)
    first, second = a.inside[order], b.inside[order]
    size = min(free, len(order))
    behind_first, behind_second = _behind(first, a.outside, size), _behind(second, b.outside, size)
    won = first * second + first * behind_second + second * behind_first
    both = np.triu(np.outer(first[:size], second[:size]) + np.outer(second[:size], first[:size]), 1)
    chances = _chances(p[order][:size], won[:size], both)
    won[:size] += (both * chances).sum(axis=1) + (both * (1 - chances)).sum(axis=0)
    law, rank = np.empty_like(won), np.empty_like(order)
    law[order], rank[order] = won, np.arange(len(order))
    return Pairs(order.tolist(), rank.tolist(), chances, Mass(law, a.outside * b.outside))


def _order(p: Floats, a: Floats, b: Floats, free: int) -> NDArray[np.intp]:
    """Return the tokens (n,) in their order: `free` by p - ab, all others by p / (a + b)."""
    order = np.argsort(-(p - a * b), kind="stable")
    others, both = order[free:], a + b
    ratio = np.divide(p, both, out=np.zeros_like(p), where=both > 0)[others]
    return np.concatenate([order[:free], others[np.argsort(-ratio, kind="stable")]])


def _behind(law: Floats, outside: float, free: int) -> Floats:
    """Return the mass (n,) of all that each token is sure to beat: what is ranked behind it, and
    behind all of the first `free`.
    """
    sums = np.append(law[1:], outside)[::-1].cumsum()[::-1].copy()
    sums[:free] = sums[free - 1]
    return sums


def _chances(p: Floats, sure: Floats, both: Floats) -> Floats:
    """Return the chances (s, s) that cover most of `p` (s,), given what each token wins for sure
    (s,) and the masses `both` (s, s) of the pairs, upper triangle.

    Maximises the sum of t <= p, t <= law of the winner. Where there is nothing to share, or the
    solver gives no answer, the earlier ranked token is selected.
    """
    chances = np.ones_like(both)
    size, total = len(p), float(both.sum())
    if total == 0:
        return chances
    upper, lower = np.triu_indices(size, 1)
    mass, each = both[upper, lower] / total, np.arange(len(upper))
    balance = np.zeros((size, len(mass) + size))
    balance[upper, each], balance[lower, each] = -mass, mass
    balance[np.arange(size), len(mass) + np.arange(size)] = 1
    lost = np.bincount(lower, weights=mass, minlength=size)  # what later ranked tokens can win
    # scaled by what is to be shared, so that the solver's tolerance is small against it
    wanted = ((p - sure) / total).clip(0, 1)
    solved = optimize.linprog(
        np.concatenate([np.zeros(len(mass)), -np.ones(size)]),
        A_ub=balance,
        b_ub=lost,
        bounds=[(0, 1)] * len(mass) + [(0, most) for most in wanted.tolist()],
        method="highs",
    )
    found = cast(Floats | None, solved.x)
    if found is not None:
        chances[upper, lower] = found[: len(mass)].clip(0, 1)
    return chances
