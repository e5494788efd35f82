"""What a running order tells the browser, message by message: only what is new since the last one.

Messages are numbered; a browser that misses a number asks for the whole again, so that no round is
lost or doubled.
Knows no queue and no model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NotRequired, TypedDict, cast

from core.trace import Trace
from viz.overview import overview
from viz.payload import Overview, RoundView, Scrub, StripRound
from viz.reading import vocabulary
from viz.round import round_view
from viz.words import finish

Phase = Literal["waiting", "loading", "decoding", "done", "cancelled", "error"]
_FIGURES = ("timeline", "acceptance")
_FIGURES_EVERY = 1.0  # seconds; they are drawn from all rounds, so they grow with the text


class Growth(TypedDict):
    """How an overview changed: other values of some keys, and new ends of its two lists."""

    at: int  # rounds of the strip that are still right
    strip: list[StripRound]
    scrub: list[Scrub]
    changed: dict[str, object]


class Message(TypedDict):
    run: str
    number: int  # counts the messages of one run from 0
    phase: Phase
    words: str  # one sentence, or empty
    field: NotRequired[str]  # with an error: the field it speaks of
    done: NotRequired[int]  # bytes, while loading
    total: NotRequired[int]
    growth: NotRequired[Growth]
    rounds: NotRequired[list[RoundView]]
    resumable: NotRequired[bool]


class Teller:
    """Makes the messages of one run."""

    def __init__(self, run: str, origin: str, clock: Callable[[], float], goal: int) -> None:
        self._run = run
        self._origin = origin
        self._clock = clock
        self._goal = goal
        self._began = clock()
        self._number = 0
        self._told: Overview | None = None
        self._rounds = 0
        self._drawn = -_FIGURES_EVERY

    def words(self, phase: Phase, words: str) -> Message:
        """Return a message without rounds."""
        message: Message = {
            "run": self._run,
            "number": self._number,
            "phase": phase,
            "words": words,
        }
        self._number += 1
        return message

    def loading(self, done: int, total: int, words: str) -> Message:
        return {**self.words("loading", words), "done": done, "total": total}

    def error(self, field: str, words: str) -> Message:
        return {**self.words("error", words), "field": field}

    def rounds(self, trace: Trace) -> Message:
        """Return what came since the last message, the text still growing."""
        emitted = sum(len(r.outcome.emitted) for r in trace.rounds)
        seconds = self._clock() - self._began
        line = f"Round {len(trace.rounds)}, {emitted} of {self._goal} tokens, {seconds:.1f} s"
        return self._with_rounds(self.words("decoding", line), trace)

    def end(self, trace: Trace, phase: Phase, resumable: bool = False) -> Message:
        """Return the last message: all that was held back, and why the text ends."""
        message = self._with_rounds(self.words(phase, finish(trace)), trace)
        return {**message, "resumable": resumable}

    def _with_rounds(self, message: Message, trace: Trace) -> Message:
        words = vocabulary(trace)
        whole = overview(trace, self._origin, words)
        whole["id"] = self._run
        whole["finished"] = last = message["phase"] != "decoding"
        views = [
            round_view(trace, index, words) for index in range(self._rounds, len(trace.rounds))
        ]
        self._rounds = len(trace.rounds)
        return {**message, "growth": self._growth(whole, last), "rounds": views}

    def _growth(self, whole: Overview, last: bool) -> Growth:
        """Return how `whole` differs from what was told; figures wait for their time or the end."""
        told = cast("dict[str, object]", self._told or {})
        before = self._told["strip"] if self._told else []
        at = next(
            (i for i, (a, b) in enumerate(zip(before, whole["strip"], strict=False)) if a != b),
            len(before),
        )
        now = self._clock()
        draw = last or now - self._drawn >= _FIGURES_EVERY
        if draw:
            self._drawn = now
        changed = {
            key: value
            for key, value in whole.items()
            if key not in ("strip", "scrub")
            and told.get(key) != value
            and (draw or key not in _FIGURES)
        }
        self._told = cast("Overview", whole | {key: told[key] for key in _FIGURES if not draw})
        return {
            "at": at,
            "strip": whole["strip"][at:],
            "scrub": whole["scrub"][at:],
            "changed": changed,
        }
