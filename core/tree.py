"""The draft tree and what a drafter hands over. Node 0 is the last committed token; parents precede
children.

A chain is a tree of width one, plain decoding a tree of size one. Knows nothing of models or rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import torch
from torch import Tensor

from core.extras import Extras
from core.laws import Law
from core.trace import Role, Stop


class Sampling(Enum):
    """How the children of a node came about; the verification rule must match it."""

    DETERMINISTIC = "deterministic"  # a function of the past: arg-max, top-k, a lookup
    INDEPENDENT = "independent"  # drawn from q with replacement
    DISTINCT = "distinct"  # drawn from q without replacement, draw order kept
    TOP_AND_ONE = "top_and_one"  # the top k-1 and one drawn from the rest
    SEPARATE = "separate"  # each drawn from a law of its own


@dataclass(frozen=True)
class DraftTree:
    """Tokens (N,) and parents (N,); siblings stand in the order in which they are to be tried.

    `offers` {parent: children in the order drawn} is given where draws repeat: a child that was
    drawn twice is one node, tried twice. Raises ValueError when a parent does not precede its
    child, the columns differ in length, or an offer names other nodes than the children.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...] = (-1,)
    roles: tuple[Role, ...] = ()
    offers: Mapping[int, tuple[int, ...]] = field(
        default_factory=lambda: dict[int, tuple[int, ...]]()
    )

    def __post_init__(self) -> None:
        size = len(self.tokens)
        object.__setattr__(self, "roles", self.roles or ("draft",) * size)
        if not size or not size == len(self.parents) == len(self.roles):
            raise ValueError("a draft tree needs a root, and tokens, parents, roles of one length")
        if self.parents[0] != -1 or any(not 0 <= p < i for i, p in enumerate(self.parents) if i):
            raise ValueError("node 0 is the root, and every other node's parent comes before it")
        if any(set(drawn) != set(self.children(node)) for node, drawn in self.offers.items()):
            raise ValueError("what was drawn at a node are its children, each at least once")

    @staticmethod
    def root(token: int) -> DraftTree:
        return DraftTree((token,))

    def __len__(self) -> int:
        return len(self.tokens)

    def extended(
        self,
        parents: Iterable[int],
        tokens: Iterable[int],
        offers: Mapping[int, Sequence[int]] | None = None,
    ) -> DraftTree:
        """Return the tree with one more node per (parent, token), appended in this order."""
        more = tuple(tokens)
        return DraftTree(
            self.tokens + more,
            self.parents + tuple(parents),
            self.roles + ("draft",) * len(more),
            {**self.offers, **{node: tuple(drawn) for node, drawn in (offers or {}).items()}},
        )

    def children(self, node: int) -> tuple[int, ...]:
        """Return the children offered at `node`, in the order to try; probes are not offered."""
        return self._children[node]

    def tries(self, node: int) -> tuple[int, ...]:
        """Return the children of `node` in the order drawn, one as often as it was drawn."""
        return self.offers.get(node) or self.children(node)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from the root to `node`, both included."""
        nodes = [node]
        while nodes[-1]:
            nodes.append(self.parents[nodes[-1]])
        return tuple(reversed(nodes))

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents):
            if node and self.roles[node] == "draft":
                found[parent].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Place of each node among its siblings."""
        ranks = [0] * len(self)
        for children in self._children:
            for rank, child in enumerate(children):
                ranks[child] = rank
        return tuple(ranks)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Drafts that each node stands for."""
        counts = [1] * len(self)
        for drawn in self.offers.values():
            for child in set(drawn):
                counts[child] = drawn.count(child)
        return tuple(counts)

    @property
    def is_chain(self) -> bool:
        return all(parent == node - 1 for node, parent in enumerate(self.parents))

    @property
    def max_depth(self) -> int:
        return max(
            (d for d, role in zip(self.depths, self.roles, strict=True) if role == "draft"),
            default=0,
        )

    @property
    def drafted(self) -> int:
        """Draft nodes, the root and probes not counted."""
        return self.roles.count("draft") - 1

    def ancestor_mask(self) -> Tensor:
        """Return bool (N, N): row i marks the nodes on the path from the root to i, i included."""
        mask = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents[1:], start=1):
            mask[node] |= mask[parent]
        return mask

    def pruned(self, max_depth: int) -> DraftTree:
        """Return the tree without nodes deeper than `max_depth`."""
        if max(self.depths) <= max_depth:
            return self
        return self.selected([i for i, depth in enumerate(self.depths) if depth <= max_depth])

    def selected(self, kept: Sequence[int]) -> DraftTree:
        """Return the tree of the nodes `kept`: ascending, and a parent with each."""
        place = {node: i for i, node in enumerate(kept)} | {-1: -1}
        offers = {
            place[node]: tuple(place[child] for child in drawn if child in place)
            for node, drawn in self.offers.items()
            if node in place
        }
        return DraftTree(
            tuple(self.tokens[i] for i in kept),
            tuple(place[self.parents[i]] for i in kept),
            tuple(self.roles[i] for i in kept),
            {node: drawn for node, drawn in offers.items() if drawn},
        )


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was drafted and not offered: the record keeps it, the target never sees it.

    Columns of one length; these nodes follow the N of the tree, and `parents` counts both. `reason`
    is a short key, such as `budget` or `reranked`.
    """

    tokens: Sequence[int]
    parents: Sequence[int]
    scores: Sequence[float | None]
    q: Sequence[float | None]
    reason: str


@dataclass(frozen=True, slots=True)
class Work:
    """What drafting cost, beside its time: forward calls and sublayers run."""

    forwards: int = 0
    sublayers: int = 0


@dataclass(frozen=True, slots=True)
class Resume:
    """States from which the target can go on: output of its first `layer` layers for the first M
    nodes, (M, D).
    """

    layer: int
    hidden: Tensor


@dataclass(frozen=True, slots=True)
class Apart:
    """Which law is whose, where several drafters stand at one node: `nodes` (M,) the node of each
    row of q, `tries` per parent the row of q of each of its tries, in their order.
    """

    nodes: Sequence[int]
    tries: Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal for one round.

    `q` (M, V) holds the laws that children were drawn from and `logits` (M, V) what they came from,
    one row per node that the drafter scored; `rows` maps node -> row. Leaves that nobody scored
    have no row, which is why M can be smaller than N. Both are None where there is no law (a
    lookup). Where siblings were drawn from laws of their own, `apart` tells these, and `rows` names
    that of the first one tried.
    """

    tree: DraftTree
    sampling: Sampling = Sampling.DETERMINISTIC
    mixed: dict[int, Sampling] = field(
        default_factory=lambda: dict[int, Sampling]()
    )  # parents that differ
    q: Tensor | None = None
    logits: Tensor | None = None
    law: Law | None = None  # from logits to q; None: as the target's
    rows: dict[int, int] = field(default_factory=lambda: dict[int, int]())
    apart: Apart | None = None
    sources: Sequence[str] = ()
    scores: Sequence[float | None] = ()
    pruned: Pruned | None = None
    stop: Stop | None = None
    resume: Resume | None = None
    work: Work = Work()
    extras: tuple[Extras, ...] = ()

    @property
    def scored(self) -> list[int]:
        """Return the node of each row of `q`."""
        if self.apart is not None:
            return list(self.apart.nodes)
        return sorted(self.rows, key=self.rows.__getitem__)

    def row_of(self, node: int) -> int:
        """Return the row of `q` that a node's token was drawn from, at its first try."""
        parent = self.tree.parents[node]
        if self.apart is None:
            return self.rows[parent]
        return self.apart.tries[parent][self.tree.tries(parent).index(node)]

    def sampling_at(self, parent: int) -> Sampling:
        """Return how the children of `parent` came about."""
        return self.mixed.get(parent, self.sampling)

    @staticmethod
    def empty(root: int, reason: str = "none") -> Draft:
        """Return the draft that proposes nothing: one plain step."""
        return Draft(DraftTree.root(root), stop=Stop(reason=reason))
