"""What a comparison under way tells the browser: each message says all, since some may be missed.

The methods' results are not in it: a browser asks for them when the revision has changed. Knows no
queue and no model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import NotRequired, TypedDict

from app.comparisons import StoredComparison
from app.messages import Phase
from core.trace import Trace
from viz.compare.payload import Status

Clock = Callable[[], float]


class Progress(TypedDict):
    """How far one method is. `share`: of the tokens to come, 0 to 1."""

    name: str
    status: Status
    words: str
    share: float


class CompareMessage(TypedDict):
    """How far a comparison is, all of it: a browser may miss messages. `revision` counts the states
    that it can ask for: the payload holds whole methods only.
    """

    comparison: str
    number: int
    phase: Phase
    words: str
    methods: list[Progress]
    revision: int
    field: NotRequired[str]  # with an error: the field it speaks of
    done: NotRequired[int]  # bytes, while loading
    total: NotRequired[int]


@dataclass(slots=True)
class _Pace:
    """Seconds and tokens of one method."""

    began: float
    tokens: int = 0
    seconds: float = 0.0


class CompareTeller:
    """Makes the messages of one comparison."""

    def __init__(self, made: StoredComparison, goal: int, clock: Clock) -> None:
        self._made = made
        self._goal = goal
        self._clock = clock
        self._number = 0
        self._now: _Pace | None = None
        self._over: list[_Pace] = []

    def words(self, phase: Phase, words: str) -> CompareMessage:
        message: CompareMessage = {
            "comparison": self._made.name,
            "number": self._number,
            "phase": phase,
            "words": words,
            "methods": [
                {
                    "name": entry.name,
                    "status": entry.status,
                    "words": entry.words,
                    "share": float(entry.status == "done"),
                }
                for entry in self._made.entries
            ],
            "revision": self._made.revision,
        }
        self._number += 1
        return message

    def loading(self, done: int, total: int, words: str) -> CompareMessage:
        return {**self.words("loading", words), "done": done, "total": total}

    def error(self, field: str, words: str) -> CompareMessage:
        return {**self.words("error", words), "field": field}

    def begin(self) -> None:
        """A method begins."""
        self._now = _Pace(self._clock())

    def step(self, trace: Trace) -> tuple[str, int]:
        """Return how far a method is: in words, and its tokens."""
        assert self._now is not None
        tokens = self._now.tokens = sum(len(r.outcome.emitted) for r in trace.rounds)
        seconds = self._clock() - self._now.began
        goal = self._goal
        return f"Round {len(trace.rounds)}, {tokens} of {goal} tokens, {seconds:.1f} s", tokens

    def end(self) -> None:
        """The method is over, however it ended."""
        assert self._now is not None
        self._now.seconds = self._clock() - self._now.began
        if self._now.tokens:
            self._over.append(self._now)
        self._now = None

    def method(self, place: int, words: str = "", tokens: int = 0) -> CompareMessage:
        """Return how far the whole is while a method is at work or has just ended."""
        message = self.words("decoding", self._line(place))
        told = message["methods"][place]
        if told["status"] == "running":
            told["words"], told["share"] = words, min(1.0, tokens / self._goal)
        return message

    def _line(self, place: int) -> str:
        line = f"Method {place + 1} of {len(self._made.entries)}"
        seconds = self._left()
        return line if seconds is None else f"{line}, about {max(1, round(seconds))} s left"

    def _left(self) -> float | None:
        """Return the seconds that the rest will take if it is like the methods that are done; None
        before one is.
        """
        if not self._over:
            return None
        usual = fmean(pace.seconds for pace in self._over)
        waiting = sum(entry.status == "waiting" for entry in self._made.entries)
        now = self._now
        spent = self._clock() - now.began if now else 0.0
        return waiting * usual + (max(0.0, usual - spent) if now else 0.0)
