"""Where a text ends before its length is used up: an end token, or a string that the person asked
to stop at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.trace import FinishReason


@dataclass(frozen=True, slots=True)
class Endings:
    """`ends`: end tokens. `strings`: stop strings, found across token borders in the bytes that
    `spell` gives.
    """

    ends: frozenset[int] = frozenset()
    strings: tuple[str, ...] = ()
    spell: Callable[[int], bytes] | None = None

    def __call__(self, generated: Sequence[int], new: int) -> tuple[int, FinishReason] | None:
        """Return how many of the `generated` tokens remain and why, if one of the last `new` ends
        the text.
        """
        for count in range(len(generated) - new + 1, len(generated) + 1):
            if generated[count - 1] in self.ends:
                return count, "eos"
            if self.strings and self._stops(generated[:count]):
                return count, "stop"
        return None

    def trimmed(self, text: str) -> str:
        """Return `text` up to the first stop string."""
        places = [place for string in self.strings if (place := text.find(string)) >= 0]
        return text[: min(places)] if places else text

    def _stops(self, tokens: Sequence[int]) -> bool:
        if self.spell is None:
            raise ValueError("stop strings need the bytes of tokens")
        longest = max(len(string.encode()) for string in self.strings)
        tail = b""
        for token in reversed(
            tokens
        ):  # a stop string ends in the last token, so look back no further than needed
            tail = self.spell(token) + tail
            if len(tail) >= longest + len(self.spell(tokens[-1])):
                break
        return any(string.encode() in tail for string in self.strings)
