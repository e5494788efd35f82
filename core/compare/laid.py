"""A method's text laid over the exact one: which of its tokens stand where."""

from __future__ import annotations

from collections.abc import Sequence

from core.compare.alignment import Span, align, same_tokens
from core.trace import Trace, token_ids

_LITTLE = 0.5  # of what follows the first difference


def lay(trace: Trace, exact: Sequence[int]) -> list[Span]:
    """Return the spans of the exact text and the method's, aligned. Where little of what follows
    their difference aligns, they are two texts from there on and go place by place. A text that is
    not whole is not laid over what it has not come to.
    """
    own = token_ids(trace)
    reached = exact if is_whole(trace) else exact[: len(own)]
    spans = _spans(reached, own)
    if len(reached) < len(exact):
        spans.append(Span(len(reached), len(exact), len(own), len(own), same=False))
    return spans


def is_whole(trace: Trace) -> bool:
    """Return whether the text came to its own end: not under way, cancelled or failed."""
    return trace.finish_reason not in ("cancelled", "error")


def _spans(exact: Sequence[int], own: Sequence[int]) -> list[Span]:
    head = same_tokens(exact, own)
    spans = align(exact, own)
    found = sum(span.last - span.first for span in spans if span.same) - head
    if found >= _LITTLE * (len(own) - head):
        return spans
    common = [Span(0, head, 0, head, same=True)] if head else []
    return [*common, Span(head, len(exact), head, len(own), same=False)]
