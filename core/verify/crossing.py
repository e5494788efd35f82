"""Where K-SEQ's two curves cross: how much K candidates can take of p, for every factor rho.

    beta(rho) = sum over x of min(q(x), p(x) / rho)     what one candidate takes
    reach     = 1 - (1 - beta)^K                        what K of them take
    spent     = rho beta                                what may be taken at most

reach exceeds spent below the root rho* in [1, K], and no more from there on. With the tokens in
bins of p/q both are known at every edge, and only the bin with the root is sorted. Knows laws (V,)
in float64 on the host, no tree and no dice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.bounds.bins import PER_UNIT, Bins, Part, bins
from core.host import Floats


@dataclass(frozen=True, slots=True)
class Crossing:
    """The curves of `count` candidates; `laws` reach to the ratio `count`."""

    count: int
    laws: Bins

    def beta(self, rho: float) -> float:
        """Return what one candidate takes, for 1 <= rho <= K."""
        last = len(self.laws.edges) - 2
        return _beta(self.laws.part(min(last, int(rho * PER_UNIT))), rho)

    def reach(self, rho: float) -> float:
        return self._reach(self.beta(rho))

    def root(self) -> float:
        """Return rho*, from above: the smallest float seen where no more is taken than may be."""
        if self.count == 1:
            return 1.0
        grid, reach, spent = self._at_edges()
        fits = reach <= spent
        if fits[0]:
            return 1.0
        place = int(fits[1:].argmax()) if fits.any() else len(grid) - 2
        low, high = float(grid[place]), float(grid[place + 1])
        part = self.laws.part(PER_UNIT + place)
        while low < (middle := (low + high) / 2) < high:
            beta = _beta(part, middle)
            low, high = (low, middle) if self._reach(beta) <= middle * beta else (middle, high)
        return high

    def curves(self, points: int) -> tuple[Floats, Floats, Floats]:
        """Return factors from 1 to K, at most `points` of them, with reach and spent of each."""
        grid, reach, spent = self._at_edges()
        shown = np.unique(np.linspace(0, len(grid) - 1, points).round().astype(np.int64))
        return grid[shown], reach[shown], spent[shown]

    def _at_edges(self) -> tuple[Floats, Floats, Floats]:
        """Return the edges from 1 on, with reach and spent at each."""
        laws = self.laws
        grid = laws.edges[PER_UNIT:]
        beta = laws.p_below[PER_UNIT:] / grid + laws.q_above[PER_UNIT:]
        return grid, 1 - (1 - beta) ** self.count, grid * beta

    def _reach(self, beta: float) -> float:
        return 1 - (1 - beta) ** self.count


def crossing(p: Floats, q: Floats, count: int) -> Crossing:
    """Return the curves of `count` >= 1 candidates drawn from q (V,) for the target p (V,)."""
    return Crossing(count, bins(p, q, count))


def _beta(part: Part, rho: float) -> float:
    """Return beta for a factor in the bin of `part`: p / rho of what is below, q of what is not."""
    below = int(np.searchsorted(part.ratio, rho))
    return float(part.p_below[below] / rho + part.q_above[below])
