"""OPT-Tree (Wang et al., arXiv 2406.17276): of all trees of n nodes, the one with the largest
expected accepted length under the draft's own confidences.

p^ of a node is the product of confidences from the root down, and E(A) the sum of p^ over the tree.
Each draft step scores one layer and finds the n best candidates below it; drafting goes on while a
step adds more than `threshold` to the E(A) of the n best nodes so far. Products never grow along a
path and ties go to the earlier candidate, so that the n best are a tree, and no tree of that depth
has a larger sum.

Candidates are a function of the past at every temperature: the rule for fixed drafts applies, which
has the law of the paper's (take one token of the target, follow it while it is a child). A
candidate that n others already beat can neither be kept nor have children that are: it is not
scored, which changes no E(A) and no tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from core.dice import Dice
from core.extras import OptLayer, OptTreeExtras
from core.parts import shape
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.shapes.favourites import favourites, products, ranked
from core.trace import Stop
from core.tree import Sampling

_DIGITS = 6  # of E(A) and of what a step adds
MOST_LISTED = 32  # candidates of a layer that a record keeps, beside nodes of the draft tree


@dataclass(frozen=True, slots=True)
class OptTree(Steady):
    """`nodes`: the paper's n, the root not included; `threshold`: its delta.

    `lags`: judge a step only once the next one is made, and make the last in vain, as the authors'
    program does. `temperature`: of the laws that rank candidates.
    """

    nodes: int = 25
    threshold: float = 0.5
    deepest: int = 10
    lags: bool = False
    temperature: float = 1.0

    @property
    def branches(self) -> bool:
        return self.nodes > 1

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC

    def begin(self, greedy: bool) -> Grower:
        return _Growing(self)


@dataclass(slots=True)
class _Candidate:
    """A token that could follow `parent`, a place in the layer before (None: the root); `node` of
    the draft tree, where it is part of it.
    """

    parent: int | None
    token: int
    value: float
    node: int | None = None


@dataclass(slots=True)
class _Growing:
    """`counted`: candidates of all layers that were once among the n best; `frontier`: those of the
    last layer, which are its first; `expected`: E(A) layer by layer.
    """

    policy: OptTree
    layers: list[list[_Candidate]] = field(default_factory=lambda: list[list[_Candidate]]())
    counted: list[_Candidate] = field(default_factory=lambda: list[_Candidate]())
    frontier: list[_Candidate] = field(default_factory=lambda: list[_Candidate]())
    expected: list[float] = field(default_factory=lambda: list[float]())
    stop: Stop | None = None

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        layer, policy = self._layer(grown), self.policy
        last = grown.depth + 1 >= min(policy.deepest, grown.limit)
        self.layers.append(layer)
        if policy.lags and self.expected:
            self.stop = self._judged(last)
            if self.stop is not None:
                return Growth()
        above, self.frontier = self.frontier, self._count(layer, len(grown.tree))
        if last or not policy.lags or not self.frontier:
            self.stop = self._judged(last)
        new = range(len(grown.tree), len(grown.tree) + len(self.frontier))
        return Growth(
            [_node(above, candidate.parent) for candidate in self.frontier],
            [candidate.token for candidate in self.frontier],
            expand=() if self.stop else new,
        )

    def finish(self, grown: Grown) -> Finished:
        scores: list[float | None] = [None] * len(grown.tree)
        for candidate in self.counted:
            if candidate.node is not None:
                scores[candidate.node] = candidate.value
        nodes = [0, *self._kept()]
        return Finished(nodes, "reranked", scores, stop=self.stop, extras=(self._record(nodes),))

    def _layer(self, grown: Grown) -> list[_Candidate]:
        """Return the n best candidates below the nodes scored last, the best first."""
        rows = [grown.rows[node] for node in grown.frontier]
        tokens, shares = favourites(grown.logits[rows], self.policy.nodes, self.policy.temperature)
        values = products([each.value for each in self.frontier] or [1.0], shares)
        ids, flat, width = tokens.ravel(), values.ravel(), values.shape[1]
        return [
            _Candidate(i // width if self.frontier else None, int(ids[i]), float(flat[i]))
            for i in ranked(flat, self.policy.nodes)
        ]

    def _count(self, layer: Sequence[_Candidate], first: int) -> list[_Candidate]:
        """Note E(A) with `layer`; return those of it that are among the n best, now nodes."""
        before = len(self.counted)
        values = [candidate.value for candidate in (*self.counted, *layer)]
        best = ranked(values, self.policy.nodes)
        self.expected.append(round(fsum(values[place] for place in best), _DIGITS))
        new = [layer[place - before] for place in sorted(best) if place >= before]
        for node, candidate in enumerate(new, start=first):
            candidate.node = node
        self.counted += new
        return new

    def _kept(self) -> list[int]:
        """Return the nodes of the n best, which came in with their layers."""
        best = ranked([candidate.value for candidate in self.counted], self.policy.nodes)
        return sorted(_node(self.counted, place) for place in best)

    def _judged(self, last: bool) -> Stop | None:
        """Return why drafting ends by what the last layer added to E(A), or by its depth."""
        gain = round(self.expected[-1] - (self.expected[-2] if self.expected[1:] else 0.0), _DIGITS)
        if gain <= self.policy.threshold:
            return Stop(reason="gain", value=gain, threshold=self.policy.threshold)
        return Stop(reason="depth") if last else None

    def _record(self, nodes: Sequence[int]) -> OptTreeExtras:
        place_of = {node: place for place, node in enumerate(nodes)}
        return OptTreeExtras(
            budget=self.policy.nodes,
            threshold=self.policy.threshold,
            lags=self.policy.lags,
            expected=self.expected,
            layers=[_listed(layer, place_of) for layer in self.layers],
        )


def _node(layer: Sequence[_Candidate], place: int | None) -> int:
    node = 0 if place is None else layer[place].node
    assert node is not None
    return node


def _listed(layer: Sequence[_Candidate], place_of: Mapping[int, int]) -> OptLayer:
    nodes = sum(candidate.node is not None for candidate in layer)
    some = layer[: max(nodes, MOST_LISTED)]
    return OptLayer(
        token=[candidate.token for candidate in some],
        parent=[candidate.parent for candidate in some],
        value=[candidate.value for candidate in some],
        node=[None if c.node is None else place_of.get(c.node) for c in some],
    )


PARTS = (
    shape(
        "opt_tree",
        "OPT-Tree",
        "Keeps the nodes with the largest expected accepted length; stops once a step adds little.",
        "Wang et al. 2024 (OPT-Tree)",
        lambda budget: OptTree(nodes=budget),
    ),
)
