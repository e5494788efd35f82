"""EAGLE-2's tree (Li et al., arXiv 2406.16858): expand where the product of confidences is large,
then keep the best nodes of all that was seen.

The root's k likeliest tokens form the first frontier. Each expansion scores the frontier in one
forward; every frontier node offers its k likeliest tokens, and the k of these k x k candidates with
the largest path products are the next frontier. At the end the N - 1 best of the whole pool are
offered. The pool holds k + d k k candidates after d expansions, at depths up to d + 1.

Candidates are a function of the past at every temperature, so that the rule for fixed drafts
applies. Products never grow along a path and ties go to the earlier candidate, so that what is kept
is a tree. A candidate that N - 1 others already beat can only lose: unless the frontier holds it,
the record's pool knows it and the draft tree does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.dice import Dice
from core.extras import PoolExtras
from core.parts import shape
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.shapes.favourites import favourites, products, ranked
from core.tree import Sampling

MOST_LISTED = 64  # candidates that a record keeps beside those kept and those expanded


@dataclass(frozen=True, slots=True)
class ExpandRerank(Steady):
    """`width`: the paper's k; `nodes`: its N, the root included; `expansions`: its depth.

    `temperature`: of the laws that rank candidates; the paper never scales them.
    """

    width: int = 8
    nodes: int = 32
    expansions: int = 4
    temperature: float = 1.0

    @property
    def branches(self) -> bool:
        return self.width > 1

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC

    def begin(self, greedy: bool) -> Grower:
        return _Expanding(self)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A token that could follow `parent`, a place in the pool or -1 for the root."""

    parent: int
    token: int
    step: int
    score: float


@dataclass(slots=True)
class _Expanding:
    """The pool so far, in the order seen. `node`: place in the pool -> node of the draft tree."""

    policy: ExpandRerank
    pool: list[_Candidate] = field(default_factory=lambda: list[_Candidate]())
    sizes: list[int] = field(default_factory=lambda: list[int]())
    frontier: list[int] = field(default_factory=lambda: [-1])
    expanded: set[int] = field(default_factory=lambda: set[int]())
    node: dict[int, int] = field(default_factory=lambda: {-1: 0})

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        first, deepest = len(self.pool), min(self.policy.expansions + 1, grown.limit)
        self._look(grown)
        self.frontier = [] if grown.depth + 1 >= deepest else self._best_since(first)
        self.expanded.update(self.frontier)
        running = {*self._kept(), *self.frontier}
        new = [place for place in range(first, len(self.pool)) if place in running]
        self.node |= {place: len(grown.tree) + i for i, place in enumerate(new)}
        return Growth(
            [self.node[self.pool[place].parent] for place in new],
            [self.pool[place].token for place in new],
            expand=[self.node[place] for place in self.frontier],
        )

    def finish(self, grown: Grown) -> Finished:
        kept = self._kept()
        scores: list[float | None] = [None] * len(grown.tree)
        for place, node in self.node.items():
            scores[node] = self.pool[place].score if node else None
        nodes = [0, *sorted(self.node[place] for place in kept)]
        return Finished(nodes, "reranked", scores, extras=(self._record(kept, nodes),))

    def _look(self, grown: Grown) -> None:
        """Add the candidates below the frontier to the pool."""
        rows = [grown.rows[self.node[place]] for place in self.frontier]
        tokens, shares = favourites(grown.logits[rows], self.policy.width, self.policy.temperature)
        above = [self.pool[place].score if place >= 0 else 1.0 for place in self.frontier]
        scores = products(above, shares)
        self.pool += [
            _Candidate(place, int(token), len(self.sizes), float(score))
            for place, ids, row in zip(self.frontier, tokens, scores, strict=True)
            for token, score in zip(ids, row, strict=True)
        ]
        self.sizes.append(scores.size)

    def _best_since(self, first: int) -> list[int]:
        """Return the next frontier: the best of the candidates from `first` on."""
        best = ranked([candidate.score for candidate in self.pool[first:]], self.policy.width)
        return sorted(first + place for place in best)

    def _kept(self) -> list[int]:
        return ranked([candidate.score for candidate in self.pool], self.policy.nodes - 1)

    def _record(self, kept: Sequence[int], nodes: Sequence[int]) -> PoolExtras:
        """Return the pool without the least of its candidates; `nodes`: those offered."""
        best = ranked([candidate.score for candidate in self.pool], len(kept) + MOST_LISTED)
        listed = sorted({*best, *self.expanded})
        at: dict[int, int | None] = {place: i for i, place in enumerate(listed)}
        number = {node: place for place, node in enumerate(nodes)}
        offered = {place: number[self.node[place]] for place in kept}
        some = [self.pool[place] for place in listed]
        return PoolExtras(
            width=self.policy.width,
            most=self.policy.nodes - 1,
            sizes=self.sizes,
            token=[candidate.token for candidate in some],
            parent=[at.get(candidate.parent) for candidate in some],
            step=[candidate.step for candidate in some],
            score=[candidate.score for candidate in some],
            frontier=[place in self.expanded for place in listed],
            node=[offered.get(place) for place in listed],
        )


PARTS = (
    shape(
        "eagle2",
        "Expand and rerank",
        "Expands the likeliest paths level by level, then keeps the best nodes of all levels.",
        "Li et al. 2024 (EAGLE-2)",
        lambda budget: ExpandRerank(nodes=budget + 1),
    ),
)
