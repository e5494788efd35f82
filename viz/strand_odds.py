"""Which of several strands wins, over all darts and all orders in which their roots can be drawn,
and how far that is from what an exact rule would write. Draws nothing.

An exact rule would keep the root that the target drew first. The longest-run rule keeps the root
whose strand keeps most, the first of them on a tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from viz.reading import Reading

_SIDE = 64  # most roots, and deepest level, of a tree whose chances are computed
_MOST = 5  # roots whose orders are all looked at
_ROOTS = 1  # their depth
_LEAST = 1e-12  # mass of a root that was drawn, whatever its rounded numbers say

Within = Mapping[int, Sequence[float]]  # per root: chance that its strand keeps at most so many


@dataclass(frozen=True, slots=True)
class Drift:
    """Chance of each root to be the next token, once these were drawn: `exact` and by the rule."""

    exact: Mapping[int, float]
    longest: Mapping[int, float]

    @property
    def distance(self) -> float:
        """Return the total variation between the two laws."""
        return sum(abs(self.exact[root] - chance) for root, chance in self.longest.items()) / 2


def roots_of(reading: Reading) -> list[int]:
    """Return the roots in the order drawn."""
    return [node for node in range(1, reading.size) if reading.parent(node) == 0]


def chances(reading: Reading) -> dict[int, float]:
    """Return for each root the chance, over all darts, that it is kept; none for a tree larger than
    any drafter makes.
    """
    roots = roots_of(reading)
    if max(len(roots), *reading.depths) > _SIDE:
        return {}
    return winning(roots, _within_all(reading, roots))


def drift(reading: Reading) -> Drift | None:
    """Return both laws of the next token over every order of these roots; None where there is no
    choice, or where there are too many orders or no laws to weigh them by.
    """
    roots = roots_of(reading)
    if not 1 < len(roots) <= _MOST or max(reading.depths) > _SIDE:
        return None
    within = _within_all(reading, roots)
    if reading.greedy:  # the likeliest come in order
        return Drift({root: float(root == roots[0]) for root in roots}, winning(roots, within))
    masses = _masses(reading, roots)
    return None if masses is None else over_orders(masses, within)


def over_orders(masses: Mapping[int, float], within: Within) -> Drift:
    """Return both laws over every order in which roots of these masses can be drawn without
    replacement.
    """
    exact, longest = dict.fromkeys(masses, 0.0), dict.fromkeys(masses, 0.0)
    orders = list(_orders(masses))
    total = math.fsum(weight for _, weight in orders)
    for order, weight in orders:
        exact[order[0]] += weight / total
        for root, chance in winning(order, within).items():
            longest[root] += weight / total * chance
    return Drift(exact, longest)


def winning(order: Sequence[int], within: Within) -> dict[int, float]:
    """Return for each root the chance that its strand is the longest: roots before it must be
    shorter, and roots after it no longer.
    """
    found: dict[int, float] = {}
    for place, root in enumerate(order):
        total = 0.0
        for run, so_far in enumerate(within[root]):
            before = within[root][run - 1] if run else 0.0
            shorter = [within[other][run - 1] if run else 0.0 for other in order[:place]]
            others = [*shorter, *(within[other][run] for other in order[place + 1 :])]
            total += (so_far - before) * math.prod(others)
        found[root] = total
    return found


def _orders(masses: Mapping[int, float]) -> Iterator[tuple[tuple[int, ...], float]]:
    for order in permutations(masses):
        weight, left = 1.0, 1.0
        for root in order:
            weight *= min(1.0, masses[root] / max(left, _LEAST))
            left -= masses[root]
        yield order, weight


def _masses(reading: Reading, roots: Sequence[int]) -> dict[int, float] | None:
    """Return what the law that the roots were drawn from gives each: p after the text so far, or
    what p has beyond q there, where the last round lost a token.
    """
    law = reading.law_of.get(0)
    if law is None:
        return None
    p = dict(zip(law.token, law.p, strict=True))
    q, scale = dict.fromkeys(law.token, 0.0), 1.0
    if _has_lost(reading):
        overlap = reading.round.scalars.overlap[0]
        if law.q is None or overlap is None:
            return None
        q, scale = dict(zip(law.token, law.q, strict=True)), 1 - overlap
    tokens = {root: reading.token(root) for root in roots}
    if scale <= 0 or any(token not in p for token in tokens.values()):
        return None
    return {root: max(_LEAST, p[token] - q[token]) / scale for root, token in tokens.items()}


def _has_lost(reading: Reading) -> bool:
    """Return whether the round before ended at a token whose followers all failed."""
    sequence, index = reading.round.sequence, reading.round.index
    earlier = [r for r in reading.trace.rounds if r.sequence == sequence and r.index < index]
    if not earlier or not earlier[-1].outcome.accepted:
        return False
    last = earlier[-1]
    path = last.outcome.accepted
    return len(path) > _ROOTS and path[-1] in last.nodes.parent


def _within_all(reading: Reading, roots: Sequence[int]) -> dict[int, list[float]]:
    longest = max(reading.depths)
    return {root: [_within(reading, root, run) for run in range(longest + 1)] for root in roots}


def _within(reading: Reading, node: int, run: int) -> float:
    """Return the chance that no path below `node` keeps more than `run` tokens in a row."""
    chance = 1.0
    for child in reading.children[node]:
        check = reading.check(child)
        keep = check.accept_probability if check is not None else 0.0
        deeper = _within(reading, child, run - 1) if run else 0.0
        chance *= 1 - keep + keep * deeper
    return chance
