"""Tokens outside the alphabet: which of several is selected, and the law of that, in closed form.

They are ranked by p/q, the largest first, in steps of about 0.3 %, and by id within a step. With k
independent drafts, all outside, the highest ranked is selected: with mass G from a token on and H
behind it, that has probability G^k - H^k. One radix sort and a few sums over the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_STEPS = 256  # per factor of two
_LAST = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Tail:
    """All tokens (V,) in their `order`, with p and q in that order, 0 for those of the alphabet.

    `onwards`, `behind` (V,): the mass of q from each token on, and behind it. `step` (V,), by token
    id: what the order goes by.
    """

    step: Tensor
    order: Tensor
    p: Tensor
    q: Tensor
    onwards: Tensor
    behind: Tensor

    def law(self, drafts: int) -> Tensor:
        """Return the law (V,), by token id, of what is selected from `drafts` draws; its sum is the
        chance that all of them lie outside.
        """
        return torch.zeros_like(self.q).scatter(0, self.order, self._law(drafts))

    def covered(self, drafts: int) -> float:
        """Return how much of p that law covers."""
        return float(torch.minimum(self.p, self._law(drafts)).sum())

    def _law(self, drafts: int) -> Tensor:
        if drafts == 1:
            return self.q
        power = self.behind
        factor = self.onwards + power
        for _ in range(drafts - 2):
            power = power * self.behind
            factor = factor * self.onwards + power
        return self.q * factor  # G - H is the token's own mass, so that nothing cancels


def tail(p: Tensor, q: Tensor, alphabet: Tensor) -> Tail:
    """Return the tokens outside the `alphabet` (n,) for the laws (V,)."""
    ratio = torch.where(q > 0, p / q, 1.0).float()
    step = (ratio.log2() * -_STEPS).clamp(-_LAST, _LAST).to(torch.int16)
    order = step.sort(stable=True).indices
    alone, drawn = (law.scatter(0, alphabet, 0.0)[order] for law in (p, q))
    onwards = drawn.flip(0).cumsum(0).flip(0)
    behind = torch.cat([onwards[1:], onwards.new_zeros(1)])
    return Tail(step, order, alone, drawn, onwards, behind)
