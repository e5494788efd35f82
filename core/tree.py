"""The draft tree and what a drafter hands over. Node 0 is the last committed token; parents precede
children.

A chain is a tree of width one, plain decoding a tree of size one. Knows nothing of models or rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import torch
from torch import Tensor

from core.trace import Extras, Role, Stop


class Sampling(Enum):
    """How the children of a node came about; the verification rule must match it."""

    DETERMINISTIC = "deterministic"  # a function of the past: arg-max, top-k, a lookup
    INDEPENDENT = "independent"  # drawn from q with replacement
    DISTINCT = "distinct"  # drawn from q without replacement, draw order kept
    TOP_AND_ONE = "top_and_one"  # the top k-1 and one drawn from the rest


@dataclass(frozen=True)
class DraftTree:
    """Tokens (N,) and parents (N,); siblings stand in the order in which they are to be tried.

    Raises ValueError when a parent does not precede its child or the columns differ in length.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...] = (-1,)
    counts: tuple[int, ...] = ()
    roles: tuple[Role, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.tokens)
        object.__setattr__(self, "counts", self.counts or (1,) * size)
        object.__setattr__(self, "roles", self.roles or ("draft",) * size)
        if not size or not size == len(self.parents) == len(self.counts) == len(self.roles):
            raise ValueError(
                "a draft tree needs a root, and tokens, parents, counts and roles of one length"
            )
        if self.parents[0] != -1 or any(not 0 <= p < i for i, p in enumerate(self.parents) if i):
            raise ValueError("node 0 is the root, and every other node's parent comes before it")

    @staticmethod
    def root(token: int) -> DraftTree:
        return DraftTree((token,))

    def __len__(self) -> int:
        return len(self.tokens)

    def extended(
        self, parents: Iterable[int], tokens: Iterable[int], counts: Iterable[int] = ()
    ) -> DraftTree:
        """Return the tree with one more node per (parent, token), appended in this order."""
        more = tuple(tokens)
        return DraftTree(
            self.tokens + more,
            self.parents + tuple(parents),
            self.counts + (tuple(counts) or (1,) * len(more)),
            self.roles + ("draft",) * len(more),
        )

    def children(self, node: int) -> tuple[int, ...]:
        """Return the children offered at `node`, in the order to try; probes are not offered."""
        return self._children[node]

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
        kept = [i for i, depth in enumerate(self.depths) if depth <= max_depth]
        place = {node: i for i, node in enumerate(kept)} | {-1: -1}
        return DraftTree(
            tuple(self.tokens[i] for i in kept),
            tuple(place[self.parents[i]] for i in kept),
            tuple(self.counts[i] for i in kept),
            tuple(self.roles[i] for i in kept),
        )


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
class Draft:
    """A proposal for one round.

    `q` (M, V) holds the laws that children were drawn from and `logits` (M, V) what they came from,
    one row per node that the drafter scored; `rows` maps node -> row. Leaves that nobody scored
    have no row, which is why M can be smaller than N. Both are None where there is no law (a
    lookup).
    """

    tree: DraftTree
    sampling: Sampling = Sampling.DETERMINISTIC
    mixed: dict[int, Sampling] = field(
        default_factory=lambda: dict[int, Sampling]()
    )  # parents that differ
    q: Tensor | None = None
    logits: Tensor | None = None
    rows: dict[int, int] = field(default_factory=lambda: dict[int, int]())
    sources: Sequence[str] = ()
    scores: Sequence[float | None] = ()
    stop: Stop | None = None
    resume: Resume | None = None
    work: Work = Work()
    extras: tuple[Extras, ...] = ()

    def sampling_at(self, parent: int) -> Sampling:
        """Return how the children of `parent` came about."""
        return self.mixed.get(parent, self.sampling)

    @staticmethod
    def empty(root: int, reason: str = "none") -> Draft:
        """Return the draft that proposes nothing: one plain step."""
        return Draft(DraftTree.root(root), stop=Stop(reason=reason))
