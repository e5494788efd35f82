"""The drafter that drafts nothing: every round is one plain step."""

from __future__ import annotations

from collections.abc import Sequence

from core.decode import Feedback
from core.dice import Dice
from core.extras import Extras
from core.models.base import Session
from core.tree import Draft
from core.verify.base import Context, Offer


class NoDrafter:
    taps: Sequence[int] = ()

    def offer(self, greedy: bool) -> Offer:
        return Offer()

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        """Nothing to open."""

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        return ()

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        return Draft.empty(context.root, "plain")
