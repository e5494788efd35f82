"""Text that can be shown before it is finished: nothing in it will have to be taken back.

A character or a stop string that has only begun is held back. Knows no model and no terminal.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence


class LiveText:
    """Collects tokens; all that was returned so far is always a beginning of the finished text."""

    def __init__(
        self, spell: Callable[[int], bytes], special: frozenset[int], stops: Sequence[str] = ()
    ) -> None:
        """Begin a text.

        `spell` gives a token's bytes, `special` tokens add nothing, the text ends before `stops`.
        """
        self._spell = spell
        self._special = special
        self._stops = stops
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self.shown = ""

    def add(self, tokens: Iterable[int]) -> str:
        """Return what can be shown now that `tokens` joined the text."""
        data = b"".join(self._spell(token) for token in tokens if token not in self._special)
        self._text += self._decode(data)
        return self._show(self._text[: self._safe()])

    def rest(self, text: str) -> str:
        """Return what is missing of the finished `text`."""
        return self._show(text)

    def _show(self, text: str) -> str:
        new = text[len(self.shown) :]
        self.shown += new
        return new

    def _safe(self) -> int:
        """Return the place before which no stop string begins, found already or still to come."""
        places = [self._text.find(stop) for stop in self._stops]
        found = [place for place in places if place >= 0]
        if found:
            return min(found)
        return len(self._text) - max((_begun(self._text, stop) for stop in self._stops), default=0)


def _begun(text: str, stop: str) -> int:
    """Return the length of the longest end of `text` with which `stop` begins."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)
