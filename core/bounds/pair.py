"""Two laws side by side: tokens in order of rising p / q, with the mass of both along that order.

Every bound and nearly every rule needs no more of p and q than these running sums. Knows no draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.host import Floats

Ints = NDArray[np.int64]

_HUGE = 1e300  # stands for infinity: its product with no mass is no mass


@dataclass(frozen=True, slots=True)
class Line:
    """Tokens (S,) in a row, with p and q of each.

    `p_below`, `q_below` (S + 1,): mass of the first k tokens. `p_above`, `q_above` (S + 1,): mass
    of all others of the vocabulary.
    """

    tokens: Ints
    p: Floats
    q: Floats
    p_below: Floats
    q_below: Floats
    p_above: Floats
    q_above: Floats

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class Pair(Line):
    """The tokens that q can draw, in order of rising `ratio` p / q (S,)."""

    ratio: Floats

    def left(self, scale: Floats) -> Floats:
        """Return sum (p - scale q)+, what `scale` times q leaves of p, for scales of any shape."""
        scale = np.minimum(scale, _HUGE)
        size = np.searchsorted(self.ratio, scale, side="right")
        return np.maximum(self.p_above[size] - scale * self.q_above[size], 0.0)


def laws(p: Tensor, q: Tensor) -> tuple[Floats, Floats]:
    """Return both laws (V,) in float64, summing to one.

    Raises ValueError where they are no laws over one vocabulary.
    """
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError("p and q must be two laws (V,) over one vocabulary.")
    return _law(p), _law(q)


def pair(p: Floats, q: Floats) -> Pair:
    """Sort two laws (V,) by p / q."""
    tokens = np.flatnonzero(q > 0)
    ratio = p[tokens] / q[tokens]
    return sorted_pair(p, q, tokens[np.argsort(ratio)])


def sorted_pair(p: Floats, q: Floats, tokens: Ints) -> Pair:
    """Return the pair of weights p and a law q (V,) whose `tokens` are in order already."""
    row = line(p, q, tokens)
    sums = (row.p_below, row.q_below, row.p_above, row.q_above)
    return Pair(row.tokens, row.p, row.q, *sums, row.p / row.q)


def line(p: Floats, q: Floats, tokens: Ints) -> Line:
    """Lay the `tokens` of two laws (V,) in a row."""
    here_p, here_q = p[tokens], q[tokens]
    beyond = max(0.0, float(p.sum() - here_p.sum())) if len(tokens) < len(p) else 0.0
    return Line(
        tokens,
        here_p,
        here_q,
        _below(here_p),
        _below(here_q),
        _below(np.append(here_p, beyond)[::-1])[:0:-1],
        _below(here_q[::-1])[::-1],
    )


def likeliest(q: Floats, count: int) -> Ints:
    """Return the `count` likeliest tokens of a law (V,) that have mass, the lowest id first among
    equals.
    """
    count = min(count, int(np.count_nonzero(q)))
    if not count:
        return np.zeros(0, dtype=np.int64)
    least = np.partition(q, len(q) - count)[len(q) - count]
    among = np.flatnonzero(q >= least)
    return among[np.argsort(-q[among], kind="stable")][:count]


def without(q: Floats, tokens: Sequence[int] | Ints) -> Floats:
    """Return q (V,) without `tokens`, rescaled to one; all zero where nothing is left."""
    rest = q.copy()
    rest[tokens] = 0.0
    total = rest.sum()
    return rest / total if total > 0 else rest


def _law(weights: Tensor) -> Floats:
    found: Floats = weights.detach().cpu().double().numpy()
    total = float(found.sum())
    if not np.isfinite(total) or total <= 0 or bool((found < 0).any()):
        raise ValueError("A law holds no negative number, and some mass.")
    return found / total


def _below(masses: Floats) -> Floats:
    """Return the running sums (S + 1,) of masses (S,), from 0."""
    sums = np.zeros(len(masses) + 1)
    np.cumsum(masses, out=sums[1:])
    return sums
