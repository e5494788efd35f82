"""Recursive rejection of many drafts without replacement, estimated by throwing paths.

A path is one way for the drafts to fail, token by token, as `core.bounds.rejection` has them. All
are thrown side by side: the next token of each is found by halving the line of the pair, where the
running sums of its weights are known in closed form. The seed is fixed, so that the same laws give
the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from core.bounds.pair import Ints, Pair
from core.host import Floats

THROWN = 4096
_INTERVAL = 1.96  # standard errors


@dataclass(frozen=True, slots=True)
class _Thrown:
    """N paths: c before and after the draft under way (N,), and the places of the tokens tried
    (N, j).
    """

    before: Floats
    after: Floats
    tried: Ints


def thrown_distinct(both: Pair, count: int) -> tuple[float, float]:
    """Return (acceptance, half of its 95 % interval) for `count` drafts."""
    dice, start = np.random.default_rng(0), np.zeros(THROWN)
    found = _Thrown(start, start + 1, np.zeros((THROWN, 0), dtype=np.int64))
    for draft in range(count - 1):
        marks = dice.random(THROWN)
        if draft == 0:
            marks = (np.arange(THROWN) + marks) / THROWN  # evenly over the first token
        found = _failed_once_more(both, found, marks)
    failed = both.left(found.after)
    return 1.0 - float(failed.mean()), _INTERVAL * float(failed.std()) / sqrt(THROWN)


def _failed_once_more(both: Pair, found: _Thrown, marks: Floats) -> _Thrown:
    """Reject one more token on every path; `marks` (N,) in [0, 1) say which."""
    tokens = _drawn(both, found, marks * both.left(found.after))
    tried = np.concatenate([found.tried, tokens[:, None]], axis=1)
    left = 1.0 - both.q[tried].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(left > 0, both.left(found.after) / left, np.inf)
    return _Thrown(found.after, found.after + step, tried)


def _drawn(both: Pair, found: _Thrown, marks: Floats) -> Ints:
    """Return the places (N,) where the running sums of the weights pass `marks`."""
    spans = [(c, np.searchsorted(both.ratio, c, side="right")) for c in (found.before, found.after)]
    tried = (found.after - found.before)[:, None] * both.q[found.tried]

    def passed(places: Ints) -> Floats:
        """Return the running sums (N,) over the tokens up to `places`, those included."""
        cuts = [(c, np.minimum(places + 1, end)) for c, end in spans]
        short = [c * both.q_below[cut] - both.p_below[cut] for c, cut in cuts]
        return short[1] - short[0] - (tried * (found.tried <= places[:, None])).sum(axis=1)

    low, high = np.zeros(len(marks), dtype=np.int64), np.maximum(spans[1][1] - 1, 0)
    while bool((low < high).any()):
        middle = (low + high) // 2
        is_past = passed(middle) > marks
        low = np.where(is_past, low, np.minimum(middle + 1, high))
        high = np.where(is_past, middle, high)
    return low
