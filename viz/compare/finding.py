"""The first line of the page: what the runs show, from their own numbers.

A lossless text that differs comes first. Then: if tokens per pass and time order the methods
differently, that, with the two that differ most; else the fastest with its factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from core.trace import token_ids
from viz.compare.entry import Entry
from viz.compare.measured import ENOUGH, Measured, has_pace, measured_all
from viz.compare.methods import LIVE, is_lossless, listed, names
from viz.compare.verdict import difference, gap_in_words
from viz.numbers import count, milliseconds, rate
from viz.payload import Run
from viz.sentence import Strong, say

_EVEN = 0.05  # numbers closer than this are not told apart: a time was taken once
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class _Clause:
    bold: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A method that is done: what it is called, its numbers, whether its text is the exact one."""

    short: str
    found: Measured
    per_pass: float
    per_token: float
    lossless: bool = True

    @property
    def name(self) -> str:
        return self.short if self.lossless else f"{self.short} (lossy)"


def finding(entries: Sequence[Entry]) -> list[Run]:
    """Return the sentence; its first clause is bold."""
    clauses = [*_under_way(entries), *_different(entries), *_order(entries), *_ended(entries)]
    first, *others = clauses or [_Clause("Nothing is decoded yet.", "")]
    return say(
        Strong(first.bold), first.rest, "".join(f" {each.bold}{each.rest}" for each in others)
    )


def is_inverted(entries: Sequence[Entry]) -> bool:
    """Return whether a method wins more tokens per pass than another, or than plain decoding, and
    yet takes longer.
    """
    return bool(_ranked(entries)) and _furthest(_ranked(entries, first=0)) is not None


def _under_way(entries: Sequence[Entry]) -> Iterator[_Clause]:
    if all(each.status not in LIVE for each in entries):
        return
    if not any(token_ids(each.trace) for each in entries if each.trace):
        yield _Clause("Nothing is decoded yet.", "")
        return
    done = sum(each.status == "done" for each in entries)
    verb = "is" if done == 1 else "are"
    yield _Clause(f"{done} of {len(entries)} methods {verb} done.", "")


def _different(entries: Sequence[Entry]) -> Iterator[_Clause]:
    """Yield the lossless texts that differ though they should not, the unexplained first."""
    near, unexplained = list[_Clause](), list[_Clause]()
    for each, name in zip(entries, names(entries), strict=True):
        found = difference(each, entries[0])
        if found is None or each.trace is None or not is_lossless(each):
            continue
        told = f"{name} writes another text from {found.same:,} on"
        gap = "" if found.gap is None else f", {gap_in_words(found.gap)}"
        if found.cause == "near tie":
            dtype = each.trace.models.target.dtype
            near.append(_Clause(told, f": a near tie in {dtype}{gap}."))
        elif found.cause == "unexplained":
            why = f": it is lossless, and nothing explains that{gap}. Please report this defect."
            unexplained.append(_Clause(told, why))
    yield from (*unexplained, *near)


def _order(entries: Sequence[Entry]) -> Iterator[_Clause]:
    ranked = _ranked(entries)
    if not ranked:
        yield from _plain_alone(entries)
        return
    fastest = min(ranked, key=lambda each: each.per_token)
    most = max(ranked, key=lambda each: each.per_pass)
    speedup, pair = fastest.found.speedup, _furthest(ranked)
    slower = _still_slower(ranked)
    if speedup is not None and speedup < 1 - _EVEN:
        yield _none_faster(fastest, len(ranked))
    elif _differ(most, fastest):
        yield _inverted(most, fastest, ranked)
        yield from slower
    else:
        yield _fastest(entries[0], fastest, len(ranked))
        yield from slower or ([_Clause(_yet(*pair), "")] if pair else [])


def _ended(entries: Sequence[Entry]) -> Iterator[_Clause]:
    told = list(zip(names(entries), entries, strict=True))
    failed = [name for name, each in told if each.status == "error"]
    cancelled = [name for name, each in told if each.status == "cancelled"]
    if failed:
        yield _Clause(f"{listed(failed)} failed.", "")
    if cancelled:
        yield _Clause(
            f"{listed(cancelled)} {'was' if len(cancelled) == 1 else 'were'} cancelled.", ""
        )


def _ranked(entries: Sequence[Entry], first: int = 1) -> list[_Ranked]:
    """Return the methods that are done, from place `first` on: 1 leaves plain decoding out."""
    told = list(zip(entries, names(entries), measured_all(entries), strict=True))
    return [
        _Ranked(name, found, found.per_pass, found.per_token, is_lossless(each))
        for each, name, found in told[first:]
        if each.status == "done" and found and found.per_pass and found.per_token
    ]


def _differ(more: _Ranked, less: _Ranked) -> bool:
    """Return whether the first wins clearly more per pass, and takes clearly longer."""
    least = 1 + _EVEN
    return more.per_pass > least * less.per_pass and more.per_token > least * less.per_token


def _furthest(ranked: Sequence[_Ranked]) -> tuple[_Ranked, _Ranked] | None:
    """Return the two whose orders differ most: the first wins more per pass, and takes longer."""

    def apart(pair: tuple[_Ranked, _Ranked]) -> float:
        more, less = pair
        return more.per_pass / less.per_pass * more.per_token / less.per_token

    pairs = [pair for pair in permutations(ranked, 2) if _differ(*pair)]
    return max(pairs, key=apart, default=None)


def _inverted(most: _Ranked, fastest: _Ranked, ranked: Sequence[_Ranked]) -> _Clause:
    if most.per_token < max(each.per_token for each in ranked):
        return _Clause("The method accepted most is not the fastest.", f" {_yet(most, fastest)}")
    number, which = len(ranked), "most" if len(ranked) > 2 else "more"
    told = _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
    bold = f"Of {told} methods, the one accepted {which} finishes last."
    return _Clause(bold, f" {_yet(most, fastest)}")


def _yet(more: _Ranked, less: _Ranked) -> str:
    """Return the four numbers of two methods whose orders differ."""
    wins = _rates(more.per_pass, less.per_pass)
    times = _times(less, more)
    return (
        f"{more.name} wins {wins[0]} tokens per target pass, {less.name} {wins[1]}, "
        f"yet {less.short} {times[0]} and {more.short} {times[1]}."
    )


def _none_faster(best: _Ranked, among: int) -> _Clause:
    times = _against_plain(best)
    wins = f"{rate(best.per_pass)} tokens per target pass"
    if among == 1:
        return _Clause(f"{best.name} is slower than plain decoding", f": {times}, with {wins}.")
    return _Clause(
        "No method is faster than plain decoding here.",
        f" {best.name} comes nearest: {times}, with {wins}.",
    )


def _fastest(plain: Entry, best: _Ranked, among: int) -> _Clause:
    speedup = best.found.speedup
    if speedup is None:
        return _untold(plain, best, among)
    first = ", the fastest," if among > 1 else ""
    much = "as fast" if speedup <= 1 + _EVEN else f"{rate(speedup)} times as fast"
    wins = f"{rate(best.per_pass)} tokens per target pass"
    return _Clause(
        f"{best.name}{first} is {much} as plain decoding",
        f": {_against_plain(best)}, with {wins}.",
    )


def _untold(plain: Entry, fastest: _Ranked, among: int) -> _Clause:
    """Say who is fastest where no speed-up can be told."""
    took = f"{milliseconds(fastest.found.ms)} for {count(fastest.found.tokens, 'token')}"
    bold = f"{fastest.name} {'is the fastest:' if among > 1 else 'took'} {took}."
    if plain.status in LIVE or has_pace(plain.trace):
        return _Clause(bold, "")
    why = f" Plain decoding was not timed over {ENOUGH} tokens, so that no speed-up is told."
    return _Clause(bold, why)


def _still_slower(ranked: Sequence[_Ranked]) -> list[_Clause]:
    """Name the methods that plain decoding beats, with what they win per pass."""
    slow = [each for each in ranked if each.found.speedup and each.found.speedup < 1 - _EVEN]
    unit = " tokens per target pass"
    told = [f"{r.name} with {rate(r.per_pass)}{'' if i else unit}" for i, r in enumerate(slow)]
    return [_Clause(f"Slower than plain decoding: {listed(told)}.", "")] if told else []


def _plain_alone(entries: Sequence[Entry]) -> Iterator[_Clause]:
    plain = entries[0] if entries else None
    found = measured_all(entries)[0] if entries else None
    if plain is not None and plain.status == "done" and found and found.tokens:
        took = milliseconds(found.ms)
        yield _Clause(
            f"Plain decoding took {took}", f" for {count(found.tokens, 'token')}, one per pass."
        )


def _against_plain(each: _Ranked) -> str:
    assert each.found.plain_ms is not None
    return f"{milliseconds(each.found.ms)} against {milliseconds(each.found.plain_ms)}"


def _times(less: _Ranked, more: _Ranked) -> tuple[str, str]:
    """Return what two methods took; per token where one wrote more."""
    if less.found.tokens == more.found.tokens:
        first, second = milliseconds(less.found.ms), milliseconds(more.found.ms)
        return f"is done after {first}", f"after {second}"
    return f"takes {less.per_token:,.1f} ms per token", f"{more.per_token:,.1f} ms"


def _rates(first: float, second: float) -> tuple[str, str]:
    """Return two numbers that differ in as many decimals as show it."""
    if rate(first) != rate(second):
        return rate(first), rate(second)
    return f"{first:.2f}", f"{second:.2f}"
