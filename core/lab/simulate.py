"""Many rounds of one step at one node, at once: what recursive rejection writes there, also with a
mistake in it.

Each round draws K drafts from q without replacement and tries them in the order drawn. What misses
leave of p is norm((p - c q)+) for one number c per round, so that a round needs no law of its own:
a table of p and q in order of p / q serves all of them. Laws are (V,) in float64 on the host,
summing to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.bounds.pair import Ints, Pair, pair
from core.host import Floats

ROUNDS = 20_000
MOST_DRAFTS = 8
OFF = 0.7  # temperature that a mistake applies where it should not
_HUGE = 1e300  # stands for infinity: its product with no mass is no mass

Bug = Literal["none", "other_q", "greedy", "siblings", "likeliest", "one_side"]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Setup:
    """What to throw. `temperature`: that of the laws, which the bug `one_side` forgets for p.

    Bugs: `other_q`, the test reads q at another temperature than the drafts were drawn at;
    `greedy`, the target's favourite replaces the token from what remains; `siblings`, q is not
    rescaled to one after a miss; `likeliest`, of two drafts the one that q favours is tested alone;
    `one_side`, the test reads p at another temperature. Raises ValueError for what is out of range.
    """

    drafts: int = 1
    bug: Bug = "none"
    seed: int = 0
    temperature: float = 1.0
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        if not 1 <= self.drafts <= MOST_DRAFTS:
            raise ValueError(f"Drafts are {self.drafts}; there may be 1 to {MOST_DRAFTS}.")
        if not 1 <= self.rounds <= ROUNDS:
            raise ValueError(f"Rounds are {self.rounds:,}; there may be 1 to {ROUNDS:,}.")
        if self.bug == "siblings" and self.drafts < 2:
            raise ValueError("A draft without siblings has no q to rescale: take 2 or more.")


@dataclass(frozen=True, slots=True)
class Thrown:
    """The token (R,) that each round wrote, and whether it was one of the drafts."""

    tokens: Ints
    kept: Bools


def simulate(p: Floats, q: Floats, setup: Setup) -> Thrown:
    """Return what `setup.rounds` rounds write at a node with laws p and q (V,)."""
    dice = np.random.default_rng(setup.seed)
    count = min(setup.drafts, int(np.count_nonzero(q)))
    if setup.bug == "likeliest":
        both = drawn(q, setup.rounds, min(2, int(np.count_nonzero(q))), dice)
        best = np.argmax(q[both], axis=1)
        drafts = both[np.arange(setup.rounds), best][:, None]
    else:
        drafts = drawn(q, setup.rounds, count, dice)
    seen_p = tempered(p, _forgotten(setup.temperature)) if setup.bug == "one_side" else p
    seen_q = tempered(q, OFF) if setup.bug == "other_q" else q
    return _decided(seen_p, seen_q, drafts, setup.bug, dice)


def drawn(q: Floats, rounds: int, count: int, dice: np.random.Generator) -> Ints:
    """Return tokens (R, K) drawn from q (V,) without replacement, in the order drawn.

    A mark on the line that the untried tokens fill is moved over those that are gone, one by one in
    the order in which they stand.
    """
    ends = np.cumsum(q)
    last = int(np.flatnonzero(q)[-1])
    tokens = np.zeros((rounds, count), dtype=np.int64)
    for draft in range(count):
        gone = np.sort(tokens[:, :draft], axis=1)
        mark = dice.random(rounds) * np.maximum(ends[-1] - q[gone].sum(axis=1), 0.0)
        for place in gone.T:
            mark += np.where(mark >= ends[place] - q[place], q[place], 0.0)
        tokens[:, draft] = np.searchsorted(ends, mark, side="right").clip(max=last)
    return tokens


def tempered(law: Floats, temperature: float) -> Floats:
    """Return a law (V,) as it would be at `temperature` times its own."""
    warm = np.power(law / law.max(), 1.0 / temperature)
    return warm / warm.sum()


def _forgotten(temperature: float) -> float:
    """Return the factor by which p is wrong: it stays at 1; where that is right, goes to OFF."""
    return OFF if temperature in (0.0, 1.0) else 1.0 / temperature


@dataclass(slots=True)
class _Walk:
    """R rounds under way. After misses (p - scale q)+ is left of p, of mass `left`, and tokens of
    mass `gone` were tried. `tokens`: what was written, where `kept` says that a draft was.
    """

    scale: Floats
    left: Floats
    gone: Floats
    tokens: Ints
    kept: Bools

    @staticmethod
    def begun(rounds: int) -> _Walk:
        nothing, nowhere = np.zeros(rounds), np.zeros(rounds, dtype=np.int64)
        return _Walk(nothing, np.ones(rounds), nothing, nowhere, np.zeros(rounds, dtype=np.bool_))

    def tried(self, both: Pair, p: Floats, q: Floats, luck: Floats, rescales: bool) -> Bools:
        """Test one draft of each round, with p and q (R,) of its token; return which pass now."""
        untried = np.maximum(1.0 - self.gone, 0.0) if rescales else np.ones(len(p))
        given = np.maximum(p - self.scale * q, 0.0)
        passes = ~self.kept & np.less(luck * q * self.left, given * untried)
        self.kept = self.kept | passes
        self.gone = self.gone + q
        step = np.divide(self.left, untried, out=np.full(len(p), _HUGE), where=untried > 0)
        self.scale = np.where(self.kept, self.scale, self.scale + step)
        self.left = np.where(self.kept, self.left, both.left(self.scale))
        return passes


def _decided(p: Floats, q: Floats, drafts: Ints, bug: Bug, dice: np.random.Generator) -> Thrown:
    """Try the `drafts` (R, K) of each round against the laws that the test reads."""
    both, walk = pair(p, q), _Walk.begun(len(drafts))
    for token in drafts.T:
        luck = dice.random(len(drafts))
        passes = walk.tried(both, p[token], q[token], luck, rescales=bug != "siblings")
        walk.tokens = np.where(passes, token, walk.tokens)
    rest = np.flatnonzero(~walk.kept)
    if bug == "greedy":
        walk.tokens[rest] = int(p.argmax())
    else:
        walk.tokens[rest] = _written(p, q, both, walk.scale[rest], dice.random(len(rest)))
    return Thrown(walk.tokens, walk.kept)


def _written(p: Floats, q: Floats, both: Pair, scale: Floats, luck: Floats) -> Ints:
    """Return the token (R,) that `luck` (R,) picks from (p - scale q)+.

    Where rounding left nothing of p, acceptance was certain, and p itself is drawn from.
    """
    total = both.left(scale)
    scale = np.where(total > 0, scale, 0.0)
    total = np.where(total > 0, total, 1.0)
    size = len(both)
    begin = np.searchsorted(both.ratio, scale, side="right")

    def below(places: Ints) -> Floats:
        mass = both.p_below[places] - both.p_below[begin]
        return np.maximum(mass - scale * (both.q_below[places] - both.q_below[begin]), 0.0)

    marks = luck * total
    inside = below(np.full(len(marks), size))
    low, high = begin.copy(), np.full(len(marks), size)
    while bool((low < high).any()):
        middle = (low + high) // 2
        is_past = below(np.minimum(middle + 1, size)) > marks
        low = np.where(is_past, low, np.minimum(middle + 1, high))
        high = np.where(is_past, middle, high)
    found = both.tokens[np.minimum(low, size - 1)]
    outside = np.where(q > 0, 0.0, p)
    if not outside.any():
        return found
    ends = np.cumsum(outside)
    other = np.searchsorted(ends, np.minimum(marks - inside, ends[-1] * (1 - 1e-12)), side="right")
    return np.where(low < size, found, other)
