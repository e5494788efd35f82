"""Two texts laid over each other, token by token. Knows ids only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `start` to `stop` of the one text stand where `first` to `last` of the other do;
    either may be empty.
    """

    start: int
    stop: int
    first: int
    last: int
    same: bool

    @property
    def columns(self) -> int:
        """Return how many places the span takes where both texts are written in full."""
        return max(self.stop - self.start, self.last - self.first)


def same_tokens(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """Return how many tokens two texts have in common from their start."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def align(ours: Sequence[int], theirs: Sequence[int]) -> list[Span]:
    """Return the spans of both texts in order, with as many equal tokens as a matcher of longest
    blocks finds. What they have in common from the start stays common, whatever comes later.
    """
    head = same_tokens(ours, theirs)
    matcher = SequenceMatcher(None, ours[head:], theirs[head:], autojunk=False)
    spans = [Span(0, head, 0, head, same=True)] if head else []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal" and spans and spans[-1].same:
            spans[-1] = Span(spans[-1].start, head + b, spans[-1].first, head + d, same=True)
        else:
            spans.append(Span(head + a, head + b, head + c, head + d, tag == "equal"))
    return spans
