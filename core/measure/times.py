"""What verifying many tokens at once costs, and what a forward of the drafter costs.

A time is the median of several forwards over one text. Knows no file; the clock comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from core.decode import Clock
from core.models.base import Session
from core.tree import DraftTree

WIDTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of the target for each of the widths, and of one forward of the drafter."""

    verify_ms: tuple[float, ...]
    draft_ms: float


def measure(
    target: Session,
    drafter: Session,
    token: int,
    clock: Clock,
    widths: Sequence[int] = WIDTHS,
    repeats: int = 9,
) -> Costs:
    """Return the costs after the text of both sessions, which must hold at least one more token for
    each width.
    """
    verify = verify_times(target, token, clock, widths, repeats)
    return Costs(verify, _median_ms(drafter, _chain(token, 1), clock, repeats))


def verify_times(
    target: Session,
    token: int,
    clock: Clock,
    widths: Sequence[int] = WIDTHS,
    repeats: int = 9,
) -> tuple[float, ...]:
    """Return the target's milliseconds for each of the widths, after its text."""
    return tuple(_median_ms(target, _chain(token, width), clock, repeats) for width in widths)


def _chain(token: int, length: int) -> DraftTree:
    return DraftTree((token,) * length, tuple(range(-1, length - 1)))


def _run(session: Session, tree: DraftTree) -> None:
    session.score(tree).logits[0, 0].item()  # waits for the device


def _median_ms(session: Session, tree: DraftTree, clock: Clock, repeats: int) -> float:
    _run(session, tree)  # the first one of a width warms up
    times: list[float] = []
    for _ in range(repeats):
        began = clock()
        _run(session, tree)
        times.append(1000 * (clock() - began))
    return median(times)
