"""What rounds cost on this machine, by the number of threads: timed on real rounds.

A draft's time is that of its first level, of each further one, and of each node beside the first of
a level. A check's is the target's for so many tokens, times what the drafter saves it: a part of
the target leaves layers behind that need not run again. The clock comes in; knows no file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from core.decode import Clock, Decoder, Drafter, decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.base import LanguageModel
from core.shapes.base import TreePolicy
from core.shapes.levels import Levels, node_count
from core.trace import Round
from core.verify.rejection import RecursiveRejection

ROUNDS = 8  # timed; one more warms up
_CHAIN = 4  # tokens of the longer chain
_TREE = (4, 4)
_FEWEST = 3  # rounds that a median needs

Grow = Callable[[TreePolicy], Drafter]


@dataclass(frozen=True, slots=True)
class Widths:
    """Milliseconds of the target for so many tokens at once, 1 first; between them along lines."""

    widths: Sequence[int]
    ms: Sequence[float]

    def at(self, tokens: int) -> float:
        place = bisect_left(self.widths, tokens)
        if place == 0:
            return self.ms[0]
        place = min(place, len(self.widths) - 1)
        (x0, y0), (x1, y1) = ((self.widths[i], self.ms[i]) for i in (place - 1, place))
        return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)

    @property
    def most(self) -> int:
        return self.widths[-1]

    def scaled(self, factor: float) -> Widths:
        """Return the times of a machine that takes `factor` times as long."""
        return Widths(self.widths, [factor * ms for ms in self.ms])


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds of a drafter's rounds. `share`: of the target's time that a check takes; `rest`:
    deciding and recording.
    """

    first: float
    level: float
    node: float
    share: float
    rest: float

    def scaled(self, factor: float) -> Pace:
        """Return the pace on a machine that takes `factor` times as long."""
        first, level, node, rest = (
            factor * ms for ms in (self.first, self.level, self.node, self.rest)
        )
        return Pace(first, level, node, self.share, rest)

    def draft_ms(self, nodes: int, depth: int) -> float:
        return self.first + self.level * (depth - 1) + self.node * (nodes - depth)

    def round_ms(self, nodes: int, depth: int, target: Widths) -> float:
        """Return the time of a round that drafts so many nodes, so deep."""
        return self.draft_ms(nodes, depth) + self.share * target.at(nodes + 1) + self.rest


@dataclass(frozen=True, slots=True)
class Stage:
    """Where rounds are timed: the target, a text to go on from, and the law."""

    target: LanguageModel
    prompt: Sequence[int]
    law: Law
    clock: Clock
    rounds: int = ROUNDS


def plain_ms(stage: Stage, nothing: Drafter) -> float:
    """Return the time of a plain round, recording included."""
    made = _timed(stage, nothing, 0)
    return median(r.cost.verify_ms + r.cost.accept_ms + r.cost.record_ms for r in made)


def pace(stage: Stage, grow: Grow, deepest: int, target: Widths) -> Pace:
    """Return the pace of the drafter that `grow` gives for a shape; it sees `deepest` tokens ahead.

    Raises ValueError where it cannot draft.
    """
    deep = min(_CHAIN, deepest)
    short, long = (_chain(stage, grow, length) for length in (1, deep))
    first = _draft_ms(short)
    level = max(0.0, _draft_ms(long) - first) / max(1, deep - 1)
    tree = _TREE[: min(len(_TREE), deepest)]
    wide = _timed(stage, grow(Levels(tree)), node_count(tree))
    beside = node_count(tree) - len(tree)
    node = max(0.0, _draft_ms(wide) - first - level * (len(tree) - 1)) / beside
    share = median(r.cost.verify_ms for r in long) / target.at(deep + 1)
    rest = median(r.cost.accept_ms + r.cost.record_ms for r in long)
    return Pace(first, level, node, share, rest)


def _chain(stage: Stage, grow: Grow, length: int) -> list[Round]:
    return _timed(stage, grow(Levels((1,) * length)), length)


def _draft_ms(rounds: Sequence[Round]) -> float:
    return median(r.cost.draft_ms for r in rounds)


def _timed(stage: Stage, drafter: Drafter, nodes: int) -> list[Round]:
    """Return rounds that drafted as much as was asked for, after one that warms up."""
    decoder = Decoder(drafter, RecursiveRejection())
    most = 2 + (stage.rounds + 1) * (nodes + 1)  # tokens, if all is accepted
    state = start(stage.prompt, stage.target, decoder, stage.law, most)
    made = (r for r in decode(state, SeededDice(0), stage.clock) if r.index)
    found = [r for r in islice(made, 1, 1 + stage.rounds) if r.drafted >= min(nodes, 1)]
    if len(found) < _FEWEST:
        raise ValueError("too few rounds drafted to time them")
    return found
