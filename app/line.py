"""A waiting line: some run, the others know how many are before them. Knows not what is run."""

from __future__ import annotations

from threading import Lock


class LineFullError(Exception):
    """Nobody else may wait; the message is one sentence."""


class Line:
    """First come, first served; `at_once` tickets may run, `waiting` more may stand behind them."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._most = at_once + waiting
        self._tickets: list[str] = []
        self._lock = Lock()

    def join(self, ticket: str) -> None:
        """Stand at the end. Raises LineFullError."""
        with self._lock:
            if len(self._tickets) >= self._most:
                raise LineFullError(
                    f"{len(self._tickets)} runs are in line, which is full: try again soon."
                )
            self._tickets.append(ticket)

    def ahead(self, ticket: str) -> int:
        """Return how many must end before `ticket` may run; 0 = it is its turn."""
        with self._lock:
            return max(0, self._tickets.index(ticket) - self._at_once + 1)

    def leave(self, ticket: str) -> None:
        """Step out, wherever the ticket stands."""
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)

    def __len__(self) -> int:
        return len(self._tickets)
