"""One node's choice among its drafts: the alphabet in which the selection is planned, and the exact
law of the token selected over the whole vocabulary.

The alphabet holds the tokens with the largest p - q^2. A draft in it goes before any draft outside;
among drafts that all lie outside the one with the largest p/q is selected. So the law is known for
every token, however short the alphabet is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from core.host import Floats, floats
from core.reduce import top_tokens
from core.verify.selection_pairs import Mass
from core.verify.selection_plan import Plan, Tournament, fixed, importance, tournament
from core.verify.selection_tail import Tail, tail

Scheme = Literal["linear", "importance"]


@dataclass(frozen=True, slots=True)
class Selection:
    """How to select. `free`: tokens whose pairs the linear program decides; `alphabet`: tokens that
    are planned for, 0 for all.
    """

    free: int = 5
    alphabet: int = 40
    scheme: Scheme = "linear"


@dataclass(frozen=True)
class Choice:
    """The laws `p` and `q` (V,) at one node, q None for fixed children; `drafts` were drawn there.

    `tokens`: the alphabet, `known` (n,): p of its tokens; `outside`: the tail, None where nothing
    is outside, and `steps`: the step in it of each token drafted.
    """

    p: Tensor
    q: Tensor | None
    drafts: int
    tokens: Sequence[int]
    known: Floats
    plan: Plan
    outside: Tail | None
    steps: Mapping[int, float]

    @cached_property
    def place(self) -> dict[int, int]:
        return {token: place for place, token in enumerate(self.tokens)}

    @cached_property
    def law(self) -> Tensor:
        """The law (V,) of the token selected."""
        if self.q is not None and self.plan.used == 1:
            return self.q
        inside = torch.tensor(self.plan.law).to(self.p)
        index = torch.tensor(list(self.tokens), dtype=torch.long, device=self.p.device)
        rest = self.outside
        law = torch.zeros_like(self.p) if rest is None else rest.law(self.plan.used)
        return law.scatter(0, index, inside)

    @cached_property
    def left(self) -> float:
        """Mass of p that the law of the selected token does not cover."""
        return float(self._less.sum().clamp(max=1))

    @cached_property
    def residual(self) -> Tensor:
        """The law (V,) of the token that comes when the selected one is rejected."""
        total = self._less.sum()
        # nothing left: acceptance was certain up to rounding
        return torch.where(total > 0, self._less / total.clamp(min=_TINY), self.p)

    @cached_property
    def _less(self) -> Tensor:
        return (self.p - self.law).clamp(min=0)

    def at(self, token: int) -> tuple[float, float]:
        """Return p and the law of the selected token at `token`."""
        place = self.place.get(token)
        if place is not None:
            return float(self.known[place]), float(self.plan.law[place])
        return float(self.p[token]), float(self.law[token])

    def stays(self, number: int, held: int, new: int, met: Sequence[int]) -> float:
        """Return the chance that the token `held` stays when draft `number` (from 1) brings `new`;
        `met` are the tokens before.
        """
        if held == new:
            return 1.0
        mine, other = self.place.get(held), self.place.get(new)
        if mine is not None and other is not None:
            inside = [self.place[token] for token in met if token in self.place]
            return self.plan.stays(number, mine, other, inside)
        if mine is None and other is None:
            return float((self.steps[held], held) < (self.steps[new], new))
        return float(other is None)


_TINY = torch.finfo(torch.float32).tiny


def choice(p: Tensor, q: Tensor | None, drafts: Sequence[int], selection: Selection) -> Choice:
    """Plan the selection among the tokens `drafts` for the laws (V,); `q` None: they were chosen
    without chance. Raises ValueError where importance weights cannot be gone through.
    """
    p = _exact(p)
    if q is None:
        tokens = list(dict.fromkeys(drafts))
        known = _host(p[tokens])
        return Choice(p, None, len(drafts), tokens, known, fixed(known, len(drafts)), None, {})
    q = _exact(q.to(p.device))
    if len(drafts) == 1:
        only = _host(torch.stack([p[drafts[0]], q[drafts[0]]]))
        plan = Tournament(Mass(only[1:], 0.0), [])
        return Choice(p, q, 1, drafts, only[:1], plan, None, {})
    return _planned(p, q, drafts, selection)


def _planned(p: Tensor, q: Tensor, drafts: Sequence[int], selection: Selection) -> Choice:
    index = top_tokens((p - q * q)[None], selection.alphabet or len(p))[0]
    rest = tail(p, q, index)
    drawn = torch.tensor(drafts, device=p.device)
    numbers = torch.cat([index, p[index], q[index], rest.step[drawn], rest.q.sum()[None]])
    host = _host(numbers)  # the one transfer before the plan
    ids, known, mass = host[: 3 * len(index)].reshape(3, -1)
    law, count = Mass(mass, float(host[-1])), len(drafts)
    if selection.scheme == "importance":
        plan: Plan = importance(known, law, count)
    else:
        plan = tournament(known, law, count, selection.free, rest.covered)
    tokens = [int(token) for token in floats(ids)]
    steps = dict(zip(drafts, floats(host[3 * len(index) : -1]), strict=True))
    return Choice(p, q, count, tokens, known, plan, rest, steps)


def _host(numbers: Tensor) -> Floats:
    return numbers.cpu().double().numpy()


def _exact(law: Tensor) -> Tensor:
    """Return the law in the widest type that its device has, summing to one."""
    wide = law if law.device.type == "mps" else law.double()
    return wide / wide.sum()
