"""Counts over a list of prompts which child stays, and tells how far it is.

What one prompt gave is kept on disk (`core.measure.kept`), and taken from there the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.decode import Clock, Drafter
from core.dice import SeededDice
from core.laws import Law
from core.measure.acceptance import Ranks, places
from core.measure.kept import keep, kept
from core.run import Engine

_SHOWN = 4  # places that a line of progress has

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What to count: `texts` at `law`, at most `tokens` of an answer, `children` drafted per
    node.
    """

    texts: Sequence[str]
    law: Law
    children: int
    tokens: int
    seed: int


def count(
    engine: Engine, make: Callable[[], Drafter], task: Task, folder: Path, say: Say, clock: Clock
) -> Ranks:
    """Return the counts over all prompts; `make` gives a fresh drafter, `folder` keeps them.

    Raises MeasuredError where the disk refuses.
    """
    known = {n: kept(folder, n, task.children) for n in range(len(task.texts))}
    open_ = [number for number, places_ in known.items() if places_ is None]
    found = [place for places_ in known.values() for place in places_ or ()]
    if len(open_) < len(task.texts):
        say(f"{len(task.texts) - len(open_)} of {len(task.texts)} prompts were counted before")
    began = clock()
    for done, number in enumerate(open_, start=1):
        made = list(_counted(engine, make(), task, number))
        keep(folder, number, made)
        found += made
        left = (clock() - began) / done * (len(open_) - done)
        at = len(task.texts) - len(open_) + done
        say(f"{at} of {len(task.texts)} prompts, {told(found, task.children)}{_time(left)}")
    return Ranks.of(found, task.children)


def told(found: Sequence[int | None], children: int) -> str:
    """Return the share of nodes where the first children stayed, and where none did."""
    ranks = Ranks.of(found, children)
    shares = " ".join(_shares(ranks.accepted[:_SHOWN], len(found)))
    more = " ..." if children > _SHOWN else ""
    (none,) = _shares([ranks.rejected], len(found))
    return f"{len(found):,} nodes: {shares}{more}, none {none}"


def _shares(counts: Iterable[int], total: int) -> list[str]:
    return [f"{hits / max(1, total):.3f}" for hits in counts]


def _time(seconds: float) -> str:
    if seconds < 1:
        return ""
    return f"; {seconds:.0f} s left" if seconds < 90 else f"; {seconds / 60:.0f} min left"


def _counted(engine: Engine, drafter: Drafter, task: Task, number: int) -> Iterator[int | None]:
    dice = SeededDice(task.seed).at("acceptance", number)
    ids = engine.text.encode(task.texts[number], True)
    return places(ids, engine.target, drafter, task.law, task.tokens, engine.text.ends, dice)
