"""Prompt lookup: copy what followed the same n-gram earlier in the text.

Two published conventions. Saxena (github.com/apoorvumang/prompt-lookup-decoding): sizes 3 to 1, the
first match from the left whose continuation is complete and begins before the n-gram itself.
transformers 5.24: sizes 2 to 1, the first match from the left, the continuation may be shorter and
runs up to the end of the text, cut before an end-of-text token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.decode import Feedback
from core.dice import Dice
from core.extras import Extras, LookupExtras
from core.models.base import Session
from core.trace import Stop
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Offer

Convention = Literal["transformers", "original"]
Which = Literal["leftmost", "rightmost"]


@dataclass(frozen=True, slots=True)
class Match:
    """`start`: where the n-gram of `size` tokens was found; what follows it was copied from `copy`
    on.
    """

    size: int
    start: int
    tokens: tuple[int, ...]

    @property
    def copy(self) -> int:
        return self.start + self.size


def find(
    tokens: Sequence[int],
    size: int,
    length: int,
    convention: Convention,
    which: Which = "leftmost",
    ends: frozenset[int] = frozenset(),
) -> Match | None:
    """Look for the last `n` tokens, n from `size` down to 1; return the first match that can be
    copied.
    """
    for n in range(min(size, len(tokens) - 1), 0, -1):
        ngram = list(tokens[-n:])
        last = len(tokens) - n - 1  # the n-gram itself is no match
        starts = range(last + 1) if which == "leftmost" else range(last, -1, -1)
        for start in starts:
            if list(tokens[start : start + n]) == ngram:
                copied = _continuation(tokens, start + n, n, length, convention, ends)
                if copied is not None:
                    return Match(n, start, copied)
    return None


def _continuation(
    tokens: Sequence[int],
    begin: int,
    size: int,
    length: int,
    convention: Convention,
    ends: frozenset[int],
) -> tuple[int, ...] | None:
    """Return what to copy from `begin`, None where the convention rejects the match."""
    if convention == "original":
        complete = begin + length <= len(tokens) and begin < len(tokens) - size
        return tuple(tokens[begin : begin + length]) if complete else None
    copied = list(tokens[begin : begin + length])
    cut = next((i for i, token in enumerate(copied) if token in ends), len(copied))
    return tuple(copied[:cut])


class LookupDrafter:
    """Drafts by lookup; has no law q, so its tokens count as fixed."""

    taps: Sequence[int] = ()

    def __init__(
        self, size: int, length: int, convention: Convention, which: Which, ends: frozenset[int]
    ) -> None:
        self._size = size
        self._length = length
        self._convention: Convention = convention
        self._which: Which = which
        self._ends = ends

    def offer(self, greedy: bool) -> Offer:
        return Offer(frozenset({Sampling.DETERMINISTIC}))

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        """Nothing to open: the text itself is the store."""

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        return ()

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        length = min(self._length, limit)
        found = find(
            context.tokens, self._size, self._length, self._convention, self._which, self._ends
        )
        if found is None:
            nothing = LookupExtras(ngram=0, match_start=None, copy_start=None, copy_length=0)
            return Draft(
                DraftTree.root(context.root), stop=Stop(reason="no_match"), extras=(nothing,)
            )
        copied = found.tokens[:length]
        tree = DraftTree.root(context.root).extended(range(len(copied)), copied)
        reason = "copied" if len(found.tokens) == self._length else "text_ended"
        return Draft(
            tree,
            sources=["", *[f"match@{found.start}"] * len(copied)],
            stop=Stop(reason=reason, value=float(found.size)),
            extras=(
                LookupExtras(
                    ngram=found.size,
                    match_start=found.start,
                    copy_start=found.copy,
                    copy_length=len(copied),
                ),
            ),
        )
