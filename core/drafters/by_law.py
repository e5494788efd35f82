"""A drafter that is made once the law in use is known: what was measured at one temperature does
not fit another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.decode import Drafter, Feedback
from core.dice import Dice
from core.extras import Extras
from core.laws import Law
from core.models.base import Session
from core.tree import Draft
from core.verify.base import Context, Offer


class ByLaw:
    """Drafts with what `make` returns for the law of the first round that drafts; `like` is a
    drafter of its kind, asked for what does not depend on the law.
    """

    def __init__(self, like: Drafter, make: Callable[[Law], Drafter]) -> None:
        self._like = like
        self._make = make
        self._drafter: Drafter | None = None
        self._target: Session | None = None
        self._prompt: Sequence[int] = ()
        self._before: list[Feedback] = []  # what came before the law was known

    @property
    def taps(self) -> Sequence[int]:
        return self._like.taps

    def offer(self, greedy: bool) -> Offer:
        return self._like.offer(greedy)

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        self._like.begin(prompt, target)  # what cannot draft is told before the first round
        self._drafter, self._target = None, target
        self._prompt, self._before = prompt, []

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        if self._drafter is None:
            if self._target is None:
                raise ValueError("begin a sequence before drafting")
            self._drafter = self._make(context.law)
            self._drafter.begin(self._prompt, self._target)
            for feedback in self._before:
                self._drafter.observe(feedback)
        return self._drafter.propose(context, limit, dice)

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        if self._drafter is None:
            self._before.append(feedback)
            return ()
        return self._drafter.observe(feedback)
