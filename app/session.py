"""The traces of the users: each under a name that cannot be guessed, the last few per user.

In all they take so much memory and no more. Knows no browser and no model. A user is a session's
hash; whoever has a trace's name may read it.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict

from app.limits import Limits
from core.trace import Trace


@dataclass(slots=True)
class Stored:
    """One run or opened file; `trace` is None before the first round, `steps` go on with a run.

    What has one `group` is kept or dropped together.
    """

    name: str
    user: str
    origin: str  # opens the source line: "Your run", "From a file"
    trace: Trace | None = None
    steps: Iterator[Trace] | None = None
    cancelled: Event = field(default_factory=Event)
    running: bool = False
    group: str = ""


Entry = TypeVar("Entry", bound=Stored)


class Shelf:
    """All traces that this server keeps."""

    def __init__(
        self, limits: Limits, name: Callable[[], str] = lambda: secrets.token_urlsafe(9)
    ) -> None:
        self._limits = limits
        self._name = name
        self._stored: OrderedDict[str, Stored] = OrderedDict()  # least recently used first
        self._lock = Lock()

    def add(self, user: str, origin: str, trace: Trace | None = None) -> Stored:
        """Store a trace of `user` under a new name; `tidy` keeps the limits."""
        return self.put(Stored(self.new_name("r"), user, origin, trace))

    def new_name(self, kind: str) -> str:
        """Return a name that begins with `kind` and cannot be guessed."""
        return f"{kind}{self._name()}"

    def put(self, stored: Entry) -> Entry:
        """Store an entry under the name that it has."""
        with self._lock:
            self._stored[stored.name] = stored
        return stored

    def get(self, name: str) -> Stored | None:
        """Return a trace's entry, and count it as used."""
        with self._lock:
            found = self._stored.get(name)
            if found is not None:
                self._stored.move_to_end(name)
            return found

    def of(self, user: str) -> list[Stored]:
        """Return a user's entries, the least recently used first."""
        with self._lock:
            return [stored for stored in self._stored.values() if stored.user == user]

    def forget(self, user: str) -> None:
        """The user is gone: stop what runs and drop all."""
        with self._lock:
            for stored in [s for s in self._stored.values() if s.user == user]:
                self._drop(stored)

    def tidy(self) -> None:
        """Drop what has no trace, then the least recently used; what runs stays. A group counts as
        one of its user's runs.
        """
        with self._lock:
            idle = [group for group in self._groups() if not any(one.running for one in group)]
            users = Counter(group[0].user for group in idle)
            rest = len(self._stored)
            total = sum(numbers(stored.trace) for stored in self._stored.values())
            for place, group in enumerate(idle):
                user = group[0].user
                is_newest = place == len(idle) - 1
                too_many = users[user] > self._limits.runs_per_user
                too_much = total > self._limits.stored_numbers and not is_newest
                too_many = too_many or rest > self._limits.stored_traces
                if too_many or too_much or all(one.trace is None for one in group):
                    rest -= len(group)
                    users[user] -= 1
                    total -= sum(numbers(one.trace) for one in group)
                    for one in group:
                        self._drop(one)

    def _groups(self) -> list[list[Stored]]:
        """Return what is kept together, the least recently used first."""
        groups: dict[str, list[Stored]] = {}
        for stored in self._stored.values():
            key = stored.group or stored.name
            groups[key] = [*groups.pop(key, []), stored]
        return list(groups.values())

    def __len__(self) -> int:
        return len(self._stored)

    def _drop(self, stored: Stored) -> None:
        stored.cancelled.set()
        stored.steps = None
        self._stored.pop(stored.name, None)


def stranger() -> str:
    """Return a name for a caller without a session, whose traces are its own."""
    return f"stranger-{secrets.token_urlsafe(9)}"


def numbers(trace: Trace | None) -> int:
    """Return about how many numbers a trace holds: its columns, the entries of its laws, its words.

    A token of the vocabulary weighs as four, 32 bytes of text as one.
    """
    if trace is None:
        return 0
    letters = len(trace.prompt.text) + len(trace.text) + sum(map(len, trace.vocabulary.values()))
    head = 4 * len(trace.vocabulary) + len(trace.prompt.token_ids) + letters // 32
    return head + sum(
        30
        + sum(map(_entries, r.extras))
        + 30 * len(r.nodes.token)
        + 6 * sum(len(law.token) for law in r.laws)
        + 2 * sum(len(x.token) for x in r.residuals)
        for r in trace.rounds
    )


def _entries(value: object) -> int:
    """Return how many values a block holds, however nested."""
    if isinstance(value, Struct):
        return sum(_entries(part) for part in asdict(value).values())
    if isinstance(value, (list, tuple)):
        return sum(map(_entries, cast("list[object]", value)))
    return 1
