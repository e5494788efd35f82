"""Where drafts come from: what opens a draft session, under which name, and which of the target's
hidden states it reads.

A second model or a part of the target needs no states. A trained head follows the target: after
every pass it learns the target's states of the text that was settled (a `Follower`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from core.decode import Feedback
from core.extras import Extras
from core.models.base import Session

Opener = Callable[[Sequence[int], Session], Session]  # (text, target) -> draft session
Watch = Callable[[Feedback], Sequence[Extras]]  # what a round's record keeps of its outcome


@runtime_checkable
class Follower(Protocol):
    """A draft session that reads the target's hidden states."""

    def learn(self, states: Mapping[int, Tensor], tokens: Sequence[int]) -> None:
        """Take the states {tap: (k, D)} of the next k positions of the text, and the token (k,)
        that follows each: the last of them is the root of the next draft.
        """
        ...


@runtime_checkable
class Reviewer(Protocol):
    """A draft session that can tell how its own states compare with the target's."""

    def review(self, states: Mapping[int, Tensor], places: Mapping[int, int]) -> Extras | None:
        """Return what the record keeps of the draft's states beside the target's {tap: (N, D)} at
        its nodes; `places`: node -> place in what this session scored. Asked before the next
        `learn`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is that of the trace; `taps`: layers of the target whose states the session wants;
    `watch` is asked after every round that drafted.
    """

    open: Opener
    name: str
    taps: tuple[int, ...] = ()
    watch: Watch | None = None

    def opened(
        self, text: Sequence[int], root: int, target: Session, states: Mapping[int, Tensor]
    ) -> Session:
        """Return a session that stands before `root`, after a text that the target has run:
        `states` {tap: (len(text) or more, D)} are its states of it.
        """
        session = self.open(text, target)
        if isinstance(session, Follower):
            known = {tap: states[tap][: len(text)] for tap in self.taps}
            session.learn(known, [*text[1:], root])
        return session
