"""Trained heads for the tiny transformers models: random weights of every kind, read by nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from core.heads.base import Head, Heads
from core.heads.eagle import EagleHead, eagle
from core.heads.eagle3 import Eagle3Head, default_taps, eagle3
from core.heads.hydra import HydraBlocks, Reader, hydra
from core.heads.kangaroo import Adapter, Kangaroo
from core.heads.medusa import MedusaBlocks, medusa
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.hf import HFModel
from tests.toy_heads import shaken, some_rows


def _eagle(target: TargetWeights) -> Head:
    module = EagleHead(target.shape)
    shaken(module, 1, 0.3)
    return eagle(module, target)


def _eagle3(target: TargetWeights) -> Head:
    module, vocabulary = Eagle3Head(target.shape), _half(target)
    shaken(module, 2, 0.3)
    rows = some_rows(len(vocabulary), target.shape.hidden, 3)
    return eagle3(module, rows, default_taps(target.layers), target, vocabulary)


def _medusa(target: TargetWeights) -> Head:
    module, vocabulary = MedusaBlocks(target.shape.hidden, 3), _half(target)
    shaken(module, 4, 0.3)
    return medusa(module, [vocabulary.rows(target.head)], vocabulary)


def _hydra(target: TargetWeights) -> Head:
    module, vocabulary = HydraBlocks(target.shape.hidden, 3), _half(target)
    shaken(module, 5, 0.3)
    readers = [Reader(vocabulary.rows(target.head))]
    return hydra(module, readers, vocabulary, target.embedding)


def _kangaroo(target: TargetWeights) -> Head:
    adapter = Adapter(target.shape)
    shaken(adapter, 6, 0.3)
    return Kangaroo.of(adapter, 1, target, _half(target))


def _half(target: TargetWeights) -> DraftVocabulary:
    return DraftVocabulary.of(torch.arange(0, target.vocabulary_size, 2), target.vocabulary_size)


BUILDERS: Mapping[str, Callable[[TargetWeights], Head]] = {
    "eagle": _eagle,
    "eagle3": _eagle3,
    "medusa": _medusa,
    "hydra": _hydra,
    "kangaroo": _kangaroo,
}


def tiny_heads(model: HFModel) -> Heads:
    """Return heads of a tiny target; each call makes new ones."""
    return lambda kind, weights="": BUILDERS[kind](TargetWeights.of(model))
