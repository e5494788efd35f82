"""Whether each method wrote what plain decoding wrote, in words.

Above temperature 0 a lossless method promises the law of the text, not the text, so that another
text is no error there.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.compare.verdict import Verdict as Difference
from core.compare.verdict import verdict
from core.trace import Trace, token_ids
from viz.compare.entry import Entry
from viz.compare.methods import LIVE
from viz.compare.payload import Verdict
from viz.numbers import count
from viz.payload import Label
from viz.reading import vocabulary
from viz.sentence import Part, say

_UNFINISHED = 4  # tokens before a token that can still begin its character


def verdicts(entries: Sequence[Entry]) -> list[Verdict]:
    """Return the verdict on each method; the first is the reference."""
    return [
        _reference() if place == 0 else _verdict(each, entries[0])
        for place, each in enumerate(entries)
    ]


def difference(entry: Entry, plain: Entry) -> Difference | None:
    """Return where and why a text differs from plain decoding's; None as long as it does not. A
    text that is under way, or was cut off, does not differ by its end.
    """
    if entry.trace is None or plain.trace is None:
        return None
    found = verdict(entry.trace, plain.trace)
    ended = found.ours is None or found.theirs is None
    if found.is_identical or (ended and (found.cause == "end" or _is_cut(entry, plain))):
        return None
    return found


def cause_in_words(found: Difference, trace: Trace) -> str:
    """Return why a text differs, as a part of a sentence."""
    sampled = trace.sampling.temperature > 0
    return {
        "lossy rule": "lossy rule, sampled" if sampled else "lossy rule",
        "sampling": "sampling",
        "near tie": f"near tie in {trace.models.target.dtype}",
        "end": "cut off",
        "unexplained": "unexplained: please report this defect",
    }[found.cause or "unexplained"]


def gap_in_words(gap: float) -> str:
    """Return the gap between the target's two likeliest tokens, in logits."""
    return f"gap {'<0.01' if 0 < gap < 0.005 else f'{gap:.2f}'} logits"


def _is_cut(*entries: Entry) -> bool:
    return any(each.status in LIVE or each.status in ("cancelled", "error") for each in entries)


def _reference() -> Verdict:
    return {
        "sign": "",
        "head": "reference",
        "line": say("what the target writes alone"),
        "place": None,
    }


def _verdict(entry: Entry, plain: Entry) -> Verdict:
    trace, exact = entry.trace, plain.trace
    if trace is None or exact is None:
        return {"sign": "", "head": "", "line": [], "place": None}
    found = difference(entry, plain)
    if found is not None:
        return _differs(found, trace, exact)
    return _same(entry, plain, len(token_ids(trace)), len(token_ids(exact)))


def _same(entry: Entry, plain: Entry, ours: int, theirs: int) -> Verdict:
    """Say how far both texts agree, and whether that is all of them."""
    same = min(ours, theirs)
    if not same:
        head = "" if entry.status in LIVE or plain.status in LIVE else "nothing to compare"
        return {"sign": "", "head": head, "line": [], "place": None}
    if ours == theirs and entry.status not in LIVE and plain.status not in LIVE:
        line = f"{ours:,} of {count(theirs, 'token')}"
        return {"sign": "=", "head": "identical", "line": say(line), "place": None}
    whole = plain.status == "done"
    line = f"{same:,} of {count(theirs, 'token')}" if whole else count(same, "token")
    return {"sign": "", "head": "identical so far", "line": say(line), "place": None}


def _differs(found: Difference, trace: Trace, exact: Trace) -> Verdict:
    pair: list[Part] = [_token(exact, found.theirs, found), " → ", _token(trace, found.ours, found)]
    why = cause_in_words(found, trace)
    if found.gap is not None:
        why = f"{gap_in_words(found.gap)}, {why}"
    place = f"{found.same:,}"
    head, start = (
        ("same law, another text", f"from {place} on: ")
        if found.cause == "sampling"
        else (f"differs from {place} on", "")
    )
    return {
        "sign": "≠",
        "head": head,
        "line": say(start, *pair, f", {why}"),
        "place": found.same,
    }


def _token(trace: Trace, token: int | None, found: Difference) -> Label | str:
    """Return a token as it stands after the text that both have in common."""
    if token is None:
        return "end of text"
    words = vocabulary(trace)
    before = b""
    common = [*trace.prompt.token_ids, *token_ids(trace)[: found.same]]
    for each in common[-_UNFINISHED:]:
        before = words.after(before, each)
    return words.label(token, before)
