"""Where K-SEQ's two curves cross: how much K candidates can take of p, for every factor rho.

    beta(rho) = sum over x of min(q(x), p(x) / rho)     what one candidate takes
    reach     = 1 - (1 - beta)^K                        what K of them take
    spent     = rho beta                                what may be taken at most

reach exceeds spent below the root rho* in [1, K], and no more from there on. Only tokens with p/q
between 1 and K change sides as rho runs from 1 to K; the others are summed once. Knows laws (V,) in
float64 on the host, no tree and no dice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.host import Floats


@dataclass(frozen=True, slots=True)
class Crossing:
    """The curves of `count` candidates. `ratio` (n,): p/q of the tokens between 1 and K, rising.

    `target`, `offered` (n + 1,): with k of them below rho, the mass of p that counts by p/rho, and
    the mass of q that counts in full.
    """

    count: int
    ratio: Floats
    target: Floats
    offered: Floats

    def beta(self, rho: Floats | float) -> Floats:
        below = np.searchsorted(self.ratio, rho)
        return self.target[below] / rho + self.offered[below]

    def reach(self, rho: Floats | float) -> Floats:
        return 1 - (1 - self.beta(rho)) ** self.count

    def root(self) -> float:
        """Return rho*, from above: the smallest float seen where no more is taken than may be."""
        low, high = 1.0, float(self.count)
        if self._fits(low):
            return low
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self._fits(middle) else (middle, high)
        return high

    def _fits(self, rho: float) -> bool:
        return bool(self.reach(rho) <= rho * self.beta(rho))


def crossing(p: Floats, q: Floats, count: int) -> Crossing:
    """Return the curves of `count` >= 1 candidates drawn from q (V,) for the target p (V,)."""
    low = p <= q
    high = (p >= count * q) & ~low
    middle = ~(low | high)
    target, offered = p[middle], q[middle]
    ratio = target / offered
    order = np.argsort(ratio)
    return Crossing(
        count,
        ratio[order],
        p[low].sum() + np.concatenate([[0.0], target[order].cumsum()]),
        q[high].sum() + np.concatenate([offered[order][::-1].cumsum()[::-1], [0.0]]),
    )
