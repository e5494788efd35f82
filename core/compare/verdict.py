"""Whether a method wrote what plain decoding wrote, and if not, where and why it first differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.compare.alignment import same_tokens
from core.trace import Round, Trace, token_ids

Cause = Literal["lossy rule", "sampling", "near tie", "end", "unexplained"]

# Logits so close may change places when a pass is wider: products are summed in another order.
NEAR_TIE = {"bfloat16": 0.25, "float16": 0.06, "float32": 1e-3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`same` tokens from the start, of `total` that the method wrote. Where the texts differ: the
    token that each wrote there (None: its text had ended), the `gap` in logits between the two
    likeliest tokens of the target there, and the cause.

    Causes: `lossy rule`: the method does not promise this text. `sampling`: above temperature 0 a
    lossless method promises the law, not the text. `near tie`: the gap is within what rounding
    does. `end`: one text ended earlier, by its limits. `unexplained`: none of these, a defect.
    """

    same: int
    total: int
    ours: int | None = None
    theirs: int | None = None
    gap: float | None = None
    cause: Cause | None = None

    @property
    def is_identical(self) -> bool:
        return self.cause is None


def verdict(trace: Trace, plain: Trace) -> Verdict:
    """Compare a method's text with that of plain decoding of the same prompt."""
    ours, theirs = token_ids(trace), token_ids(plain)
    same = same_tokens(ours, theirs)
    if same == len(ours) == len(theirs):
        return Verdict(same, len(ours))
    gap = top2_gap(plain, same)
    return Verdict(
        same,
        len(ours),
        ours[same] if same < len(ours) else None,
        theirs[same] if same < len(theirs) else None,
        gap,
        _cause(trace, plain, min(len(ours), len(theirs)) == same, gap),
    )


def top2_gap(plain: Trace, place: int) -> float | None:
    """Return the gap in logits between the target's two likeliest tokens for answer token `place`,
    where plain decoding came that far.
    """
    written = 0
    for each in plain.rounds:
        if written <= place < written + len(each.outcome.emitted):
            return each.scalars.top2_gap[_parent(each, place - written)]
        written += len(each.outcome.emitted)
    return None


def _parent(each: Round, place: int) -> int:
    """Return the node after which the round's emitted token `place` came."""
    return [0, *each.outcome.accepted][place]


def _cause(trace: Trace, plain: Trace, ended: bool, gap: float | None) -> Cause:
    if ended and "cancelled" in (trace.finish_reason, plain.finish_reason):
        return "end"
    if ended and "error" in (trace.finish_reason, plain.finish_reason):
        return "end"
    if not trace.lossless:
        return "lossy rule"
    if trace.sampling.temperature > 0:
        return "sampling"
    near = NEAR_TIE.get(trace.models.target.dtype, 0.0)
    return "near tie" if gap is not None and gap <= near else "unexplained"
