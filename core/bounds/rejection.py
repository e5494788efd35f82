"""What recursive rejection accepts of drafts without replacement (RSD, Sequoia, MCSD).

Before draft j, tokens of q-mass m are tried and gone. What remains of p is (p - c q)+ with mass
H(c), for one number c; the next draft is accepted with the mass by which H falls when c grows by
H(c) / (1 - m). So the chance that all K drafts fail is the mean of H(c_K) over the tokens that were
rejected on the way, x being the j-th with probability proportional to (c_j q_x - p_x)+ less
(c_{j-1} q_x - p_x)+, if it was not tried before. c_K depends on the first K - 1 of them alone.

For two drafts, and where paths are few, all of them are summed: that is exact. Else the
likeliest tokens of q are told apart, and all others count as one token of their mean q, which can
come again. That is an estimate. Its margin comes from the two ends, others that weigh nothing and
as much as the heaviest of them, and from telling half as many apart. More than five drafts would
take too many paths: they are thrown (`core.bounds.thrown`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, perm

import numpy as np

from core.bounds.pair import Ints, Pair, likeliest
from core.bounds.thrown import thrown_distinct
from core.host import Floats

PATHS = 262_144  # up to this many are summed: any vocabulary for two drafts
_ESTIMATED = 32_768  # up to this many for an estimate
_SUMMED = 5  # drafts; more are thrown
_ENDS = 3  # others count as their mean, as nothing, as the heaviest


@dataclass(frozen=True, slots=True)
class _Paths:
    """Ways (N,) to be rejected so far: c before and after the draft under way, the tokens tried
    (N, j) as places among those told apart (the last is any other), their mass, and the chance.

    `end` (N,): as which of the three the others count.
    """

    before: Floats
    after: Floats
    tried: Ints
    gone: Floats
    chance: Floats
    end: Ints


@dataclass(frozen=True, slots=True)
class _Rejection:
    """The pair, p and q (L,) of the tokens told apart, and what any other counts as (3,)."""

    both: Pair
    p: Floats
    q: Floats
    other: Floats

    def begun(self) -> _Paths:
        ends = len(self.other) or 1
        none = np.zeros((ends, 0), dtype=np.int64)
        start = np.zeros(ends)
        return _Paths(start, start + 1, none, start, start + 1, np.arange(ends))

    def grown(self, found: _Paths) -> _Paths:
        """Return the ways by which one more draft fails."""
        weights = self._weights(found)
        total = weights.sum(axis=1, keepdims=True)
        share = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        rows, places = np.nonzero(share)
        ends, after = found.end[rows], found.after[rows]
        apart = np.append(self.q, 0.0)[places]
        other = self.other[ends] if len(self.other) else 0.0
        gone = found.gone[rows] + np.where(places < len(self.q), apart, other)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(gone < 1, self.both.left(after) / (1 - gone), np.inf)
        tried = np.concatenate([found.tried[rows], places[:, None]], axis=1)
        chance = found.chance[rows] * share[rows, places]
        return _Paths(after, after + step, tried, gone, chance, ends)

    def _weights(self, found: _Paths) -> Floats:
        """Return how likely each token told apart, and any other, is to be drawn next and rejected
        (N, L + 1), up to a factor.
        """
        short = [np.maximum(c[:, None] * self.q - self.p, 0) for c in (found.before, found.after)]
        weights = np.zeros((len(found.after), len(self.q) + 1))
        weights[:, :-1] = short[1] - short[0]
        np.put_along_axis(weights, found.tried, 0.0, axis=1)
        if len(self.other):  # all together weigh as much as is left of p
            apart = weights.sum(axis=1)
            weights[:, -1] = np.maximum(self.both.left(found.after) - apart, 0.0)
        return weights

    def failed(self, found: _Paths) -> Floats:
        """Return the chance (E,) that all drafts fail, for each end."""
        failed = np.zeros(max(1, len(self.other)))
        np.add.at(failed, found.end, found.chance * self.both.left(found.after))
        return failed


def recursive_distinct(both: Pair, count: int, paths: int = PATHS) -> tuple[float, float | None]:
    """Return (acceptance, margin) for `count` drafts; no margin where the value is exact.

    At most so many `paths` are summed.
    """
    count = min(count, len(both))
    apart = _told_apart(len(both), count - 1, paths)
    if apart < len(both) and count > _SUMMED:
        return thrown_distinct(both, count)
    failed = _failed(both, count, apart)
    value = 1.0 - float(failed[0])
    if apart == len(both):
        return value, None
    coarse = 1.0 - float(_failed(both, count, apart // 2)[0])
    return value, float(np.ptp(failed)) / 2 + abs(value - coarse)


def _failed(both: Pair, count: int, apart: int) -> Floats:
    made = _rejection(both, apart)
    found = made.begun()
    for _ in range(count - 1):
        found = made.grown(found)
    return made.failed(found)


def _told_apart(size: int, rejected: int, paths: int) -> int:
    """Return how many of `size` tokens can be told apart within so many `paths`."""
    if perm(size, rejected) <= paths:
        return size
    likely, most = 1, min(paths, _ESTIMATED) // _ENDS
    while likely + 1 < size and _ways(likely + 1, rejected) <= most:
        likely += 1
    return likely


def _ways(likely: int, rejected: int) -> int:
    """Count the paths on which the others can come again, and none of the likely tokens."""
    return sum(comb(rejected, j) * perm(likely, j) for j in range(rejected + 1))


def _rejection(both: Pair, apart: int) -> _Rejection:
    if apart == len(both):
        return _Rejection(both, both.p, both.q, np.zeros(0))
    likely = likeliest(both.q, apart)
    others = np.ones(len(both), dtype=bool)
    others[likely] = False
    short = np.maximum(both.q - both.p, 0.0)[others]  # what the first draft rejects of them
    q, total = both.q[others], float(short.sum())
    mean = float(short @ q) / total if total > 0 else 0.0
    return _Rejection(both, both.p[likely], both.q[likely], np.array([mean, 0.0, q.max()]))
