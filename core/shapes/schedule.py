"""Draft lengths that learn from the last round: two longer after a draft that was kept whole, one
shorter after any other, never below one.

The schedule "heuristic" of assisted decoding in transformers; the length of a round depends on
earlier rounds alone, so that the text keeps its law.
"""

from __future__ import annotations

from core.parts import shape
from core.shapes.base import Grower
from core.shapes.levels import Levels
from core.tree import Sampling

LONGEST = 32
_FIRST = 5  # tokens, where only a budget is given


class Scheduled:
    """Chains that begin with `length` tokens and never have more than `longest`; a policy of this
    kind serves one sequence.
    """

    branches = False

    def __init__(self, length: int, longest: int = LONGEST) -> None:
        self._length = length
        self._longest = longest

    @property
    def length(self) -> int:
        """Tokens to draft in the next round."""
        return self._length

    def sampling(self, greedy: bool) -> Sampling:
        return Levels((1,)).sampling(greedy)

    def begin(self, greedy: bool) -> Grower:
        return Levels((1,) * self._length).begin(greedy)

    def observe(self, accepted: int, drafted: int) -> None:
        """Learn from a round; one that was cut short by the end of the text counts as it was."""
        whole = accepted == drafted
        self._length = min(self._length + 2, self._longest) if whole else max(self._length - 1, 1)


PARTS = (
    shape(
        "schedule",
        "Chain by schedule",
        "A chain, two longer after a draft that was kept whole and one shorter after any other.",
        "transformers, assisted decoding",
        lambda budget: Scheduled(min(_FIRST, budget), budget),
    ),
)
