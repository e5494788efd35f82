"""Hydra's heads: as Medusa's, but each reads the tokens before its place as well.

Head d reads s_n, the embedding of the root and those of the d tokens drafted after it, so that the
children of a node are children of its own path: one batched forward per level of the tree. In
Hydra++ a decoder layer runs over the states of the text first, with keys and values of its own, and
its last output stands for s_n.

Ankner et al.: Hydra: Sequentially-Dependent Draft Heads for Medusa Decoding, COLM 2024, arXiv
2402.05109. How checkpoints are laid out is told in `hydra_layouts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from core.extras import Extras, GroundedExtras, Hidden
from core.heads.accuracy import Accuracy
from core.heads.ahead import AheadSession
from core.heads.layer import RMSNorm, rotary
from core.heads.medusa import ResBlock
from core.heads.pairs import PairLayer
from core.heads.target import Shape
from core.heads.vocabulary import DraftVocabulary
from core.host import float_rows, int_rows
from core.models.base import FINAL, Session
from core.models.cache import TreeCache
from core.reduce import six_digits
from core.shapes.favourites import favourites
from core.tree import DraftTree

KIND = "hydra"
_TOLD = 10  # candidates without the parent's token that a record keeps


class JoinBlock(nn.Module):
    """SiLU(W z + b) + R z + c over states and embeddings end to end.

    Until it is trained it hands the state through: W, b and c are 0, R is the identity there.
    """

    def __init__(self, width: int, parts: int) -> None:
        super().__init__()
        self.linear = nn.Linear(parts * width, width)
        self.res_connection = nn.Linear(parts * width, width)
        for zero in (self.linear.weight, self.linear.bias, self.res_connection.bias):
            nn.init.zeros_(zero)
        with torch.no_grad():
            self.res_connection.weight.copy_(torch.eye(width, parts * width))

    def forward(self, joined: Tensor) -> Tensor:
        passed = cast(Tensor, self.res_connection(joined))
        return F.silu(cast(Tensor, self.linear(joined))) + passed


class HydraBlocks(nn.Module):
    """`heads` heads: a block that joins the state with d + 1 embeddings, then residual blocks."""

    def __init__(self, width: int, heads: int, blocks: int = 2) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(JoinBlock(width, head + 2), *(ResBlock(width) for _ in range(blocks - 1)))
            for head in range(heads)
        )
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.heads)

    def forward(self, head: int, states: Tensor, embedded: Tensor) -> Tensor:
        """Map states (R, D) and the embeddings (R, head + 1, D) of the tokens after each to what is
        read (R, D).
        """
        joined = torch.cat([states, embedded.flatten(1)], dim=1)
        return cast(Tensor, self.heads[head](joined))


class PrefixLayer(nn.Module):
    """Hydra++: a decoder layer of the target's sizes with norms before, between and after it."""

    def __init__(self, shape: Shape, bias: bool = False) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden, shape.eps)
        self.layer = PairLayer(shape, shape.hidden, bias)
        self.norm = RMSNorm(shape.hidden, shape.eps)
        self._shape = shape

    def forward(self, states: Tensor, cache: TreeCache) -> Tensor:
        """Map the states (k, D) of the next positions to outputs (k, D); rows enter `cache`."""
        first, size = cache.offset, len(states)
        places = torch.arange(first, first + size, device=states.device)
        attention = self.layer.self_attn
        inputs = self.input_layernorm.forward(states[None])
        turns = rotary(places[None], self._shape, inputs.dtype)
        queries, keys, values = attention.project(inputs, turns)
        keys, values = cache.update(keys, values, 0)
        seen = None
        if first and size > 1:
            seen = places[:, None] >= torch.arange(first + size, device=states.device)
        mixed = attention.mix(queries, keys, values, seen)
        cache.offset += size
        return self.norm.forward(self.layer.leave(states[None], mixed))[0]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads tokens off a head's output: `weight` (k, D) and, in published ones, `bias`."""

    weight: Tensor
    bias: Tensor | None = None

    def only(self, rows: Tensor) -> Reader:
        """Return what is left of it where `rows` (k,) holds."""
        rows = rows.to(self.weight.device)
        return Reader(self.weight[rows], None if self.bias is None else self.bias[rows])


@dataclass(frozen=True, slots=True)
class HydraHead:
    """Heads ready for a target (`core.heads.base.Head`). `readers`: one per head, or one for all;
    `embedding` (V, D) is the target's.

    `hides`: the heads see zeros in place of every embedding, to show what these are worth.
    """

    module: HydraBlocks
    readers: tuple[Reader, ...]
    vocabulary: DraftVocabulary
    embedding: Tensor
    prefix: PrefixLayer | None = None
    accuracy: Accuracy | None = None
    taps: tuple[int, ...] = (FINAL,)
    hides: bool = False

    @property
    def ahead(self) -> int:
        return len(self.module)

    @property
    def parameters(self) -> int:
        parts = [self.module, *([self.prefix] if self.prefix else [])]
        return sum(number.numel() for part in parts for number in part.parameters())

    def trimmed(self, vocabulary: DraftVocabulary) -> HydraHead:
        both, kept = self.vocabulary.common(vocabulary)
        return replace(self, vocabulary=both, readers=tuple(r.only(kept) for r in self.readers))

    def open(self, text: Sequence[int], target: Session) -> Session:
        return HydraSession(self, target)

    def blind(self) -> HydraHead:
        """Return the same heads without eyes for the path."""
        return replace(self, hides=True)

    def read(self, head: int, states: Tensor, embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Return what head number `head` makes of states (R, D) and embeddings (R, head + 1, D),
        and its logits (R, k) over the draft vocabulary.
        """
        if self.hides:
            embedded = torch.zeros_like(embedded)
        hidden = self.module(head, states, embedded)
        reader = self.readers[head if len(self.readers) > 1 else 0]
        return hidden, F.linear(hidden, reader.weight, reader.bias)


class HydraSession(AheadSession):
    """One forward per level; rows are the nodes of a depth. What a node's head would have said
    without the node's own token rides along, once for all children of a parent.
    """

    def __init__(self, head: HydraHead, target: Session) -> None:
        super().__init__(target, head.ahead, head.taps[0])
        self._head = head
        self._names = head.vocabulary.ids.cpu().numpy()  # no round has to fetch them
        self._cache = TreeCache()
        self._state: Tensor | None = None  # (1, D) that the heads read
        self._parents: Sequence[int] = ()  # of what was scored last
        self._unseen: dict[int, Tensor] = {}  # parent -> (k,)

    def _begin(self, states: Sequence[Tensor]) -> None:
        new = torch.cat(list(states)).to(self._head.embedding)
        prefix = self._head.prefix
        self._state = (new if prefix is None else prefix(new, self._cache))[-1:]

    def _read(self, tree: DraftTree, start: int) -> tuple[Tensor, Tensor, int, int]:
        self._parents = tree.parents
        found: dict[int, tuple[Tensor, Tensor]] = {}
        depth = tree.depths.__getitem__
        forwards = ran = 0
        for _, level in groupby(sorted(range(start, len(tree)), key=depth), key=depth):
            nodes = list(level)
            found |= dict(zip(nodes, self._level(tree, nodes), strict=True))
            forwards, ran = forwards + 1, ran + self._head.module.blocks
        hidden, logits = zip(*(found[node] for node in range(start, len(tree))), strict=True)
        spread = self._head.vocabulary.spread(torch.stack(logits))
        return torch.stack(hidden), spread, forwards, ran

    def review(self, states: Mapping[int, Tensor], places: Mapping[int, int]) -> Extras | None:
        """Return what each scored node's children would have been without its own token."""
        parents = list(dict.fromkeys(self._parents[place] for place in places.values()))
        rows, shares = favourites(torch.stack([self._unseen[each] for each in parents]), _TOLD)
        tokens = int_rows(self._names[rows])
        likely = float_rows(six_digits(shares))
        row_of = {parent: row for row, parent in enumerate(parents)}
        nodes: list[Hidden] = []
        for node, place in sorted(places.items(), key=lambda item: item[1]):
            row = row_of[self._parents[place]]
            nodes.append(Hidden(node=node, token=tokens[row], q=likely[row]))
        return GroundedExtras(is_hidden=self._head.hides, nodes=nodes)

    def _level(self, tree: DraftTree, nodes: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """Run the head of one depth; yield its output (D,) and logits (k,) per node."""
        assert self._state is not None
        paths = self._paths(tree, nodes)
        one_of = {tree.parents[node]: row for row, node in enumerate(nodes)}
        unseen = paths[list(one_of.values())]
        unseen[:, -1] = 0
        states = self._state.expand(len(nodes) + len(unseen), -1)
        depth = tree.depths[nodes[0]]
        hidden, logits = self._head.read(depth, states, torch.cat([paths, unseen]))
        self._unseen |= dict(zip(one_of, logits[len(nodes) :], strict=True))
        yield from zip(hidden[: len(nodes)], logits[: len(nodes)], strict=True)

    def _paths(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Return the embeddings (R, depth + 1, D) of what leads to nodes of one depth."""
        ids = [[tree.tokens[step] for step in tree.path(node)] for node in nodes]
        embedding = self._head.embedding
        return F.embedding(torch.tensor(ids, device=embedding.device), embedding)


def hydra(
    module: HydraBlocks,
    readers: Sequence[Reader],
    vocabulary: DraftVocabulary,
    embedding: Tensor,
    prefix: PrefixLayer | None = None,
    accuracy: Accuracy | None = None,
    tap: int = FINAL,
) -> HydraHead:
    """Return heads on the device and in the numbers of `embedding`."""
    place = embedding.device, embedding.dtype
    if prefix is not None:
        prefix = prefix.to(*place).eval().requires_grad_(False)
    return HydraHead(
        module.to(*place).eval().requires_grad_(False),
        tuple(readers),
        vocabulary.on(embedding.device),
        embedding,
        prefix,
        accuracy,
        (tap,),
    )
