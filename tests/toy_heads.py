"""Trained heads for toy targets: random weights in float64, so that what they draft depends on all
that they read, and chance can be enumerated.

A toy's hidden states are its laws: D = V. One builder per kind of head, from the vocabulary's size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor, nn

from core.heads.accuracy import Accuracy
from core.heads.base import Head, Heads
from core.heads.eagle import EagleHead, eagle
from core.heads.eagle3 import Eagle3Head, default_taps, eagle3
from core.heads.frequencies import Counts, Frequencies
from core.heads.hydra import HydraBlocks, PrefixLayer, Reader, hydra
from core.heads.kangaroo import Adapter, Kangaroo, KangarooSession
from core.heads.medusa import MedusaBlocks, medusa
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.base import Scores, Session
from core.models.views import View
from core.tree import DraftTree

LAYERS = 6  # that a toy claims to have


def toy_target(size: int, seed: int = 0) -> TargetWeights:
    """Return weights for a toy target of `size` tokens: random embedding and head."""
    chance = torch.Generator().manual_seed(seed)
    embedding, head = torch.randn((2, size, size), generator=chance, dtype=torch.float64)
    shape = Shape(size, heads=2, groups=1, head_dim=2, inner=5, eps=1e-6, theta=100.0)
    return TargetWeights("toy", shape, LAYERS, size, embedding, 2 * head, lambda states: states)


def shaken(module: nn.Module, seed: int, scale: float = 1.0) -> nn.Module:
    """Draw every parameter anew, the norms' too."""
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=chance))
    return module


def some_rows(count: int, width: int, seed: int) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return 2 * torch.randn((count, width), generator=chance, dtype=torch.float64)


def toy_eagle(size: int) -> Head:
    target = toy_target(size)
    module = EagleHead(target.shape)
    shaken(module, 1, 0.4)
    return eagle(module, target)


def toy_eagle3(size: int) -> Head:
    """Return a head that cannot name the first token, where there are others enough."""
    target = toy_target(size)
    module = Eagle3Head(target.shape)
    shaken(module, 2, 0.6)
    vocabulary = DraftVocabulary.of(torch.arange(1 if size > 2 else 0, size), size)
    rows = some_rows(len(vocabulary), size, 3)
    return eagle3(module, rows, default_taps(LAYERS), target, vocabulary)


MEASURED = Accuracy(tried=[10, 10], hits=[[5, 3], [4, 1]])


def toy_medusa(size: int) -> Head:
    """Return two heads with a measurement that makes a tree of two by two."""
    target = toy_target(size)
    module = MedusaBlocks(size, heads=2, blocks=2)
    shaken(module, 4)
    vocabulary = DraftVocabulary.whole(size)
    return medusa(module, [target.head], vocabulary, accuracy=MEASURED)


def toy_hydra(size: int) -> Head:
    """Return two heads behind a prefix layer that cannot name the first token, unmeasured."""
    target = toy_target(size)
    module, prefix = HydraBlocks(size, heads=2), PrefixLayer(target.shape)
    shaken(module, 5)
    shaken(prefix, 6)
    vocabulary = DraftVocabulary.of(torch.arange(1 if size > 2 else 0, size), size)
    readers = [Reader(some_rows(len(vocabulary), size, seed)) for seed in (7, 8)]
    return hydra(module, readers, vocabulary, target.embedding, prefix)


@dataclass
class EarlyLayers:
    """Stands in for the early layers of a toy, which has no layers: their states are its laws."""

    target: Session

    @property
    def length(self) -> int:
        return self.target.length

    @property
    def context(self) -> int:
        return self.target.context

    def score(
        self, tree: DraftTree, start: int, taps: Sequence[int], resume: None, *_: object
    ) -> Scores:
        scores = self.target.score(tree, start, taps)
        nodes = {tap: rows[start - len(tree) :] for tap, rows in scores.features.items()}
        return replace(scores, features=nodes)


class ToyKangaroo(Kangaroo):
    """The real session over a stand-in: adapter, cache and what is kept are those under test."""

    def open(self, text: Sequence[int], target: Session) -> Session:
        plan = View(exit_layer=self.exit_layer).plan(LAYERS)
        return KangarooSession(EarlyLayers(target), plan, self)


def toy_kangaroo(size: int) -> Head:
    """Return an adapter that cannot name the first token, where there are others enough."""
    target = toy_target(size)
    adapter = Adapter(target.shape)
    shaken(adapter, 9, 0.6)
    vocabulary = DraftVocabulary.of(torch.arange(1 if size > 2 else 0, size), size)
    made = Kangaroo.of(adapter, 2, target, vocabulary)
    return ToyKangaroo(made.adapter, made.exit_layer, made.rows, made.vocabulary)


BUILDERS: Mapping[str, Callable[[int], Head]] = {
    "eagle": toy_eagle,
    "eagle3": toy_eagle3,
    "medusa": toy_medusa,
    "hydra": toy_hydra,
    "kangaroo": toy_kangaroo,
}


@cache
def toy_heads(size: int) -> Heads:
    """Return the heads of a toy target of `size` tokens; each is built once."""
    built: dict[str, Head] = {}

    def find(kind: str, weights: str = "") -> Head:
        if kind not in built:
            built[kind] = BUILDERS[kind](size)
        return built[kind]

    return find


def toy_counts(size: int) -> Counts:
    """Return made-up counts; the second of three tokens is the rarest."""
    counts = torch.tensor([1 + (7 * token + 3) % 5 for token in range(size)])
    return lambda: Frequencies(counts, frozenset())
