"""Train Kangaroo's adapter to make the target's law of its early states.

The adapter's law at a place is to be the target's own at the same place: cross-entropy under the
target's law over the draft vocabulary. As published, but for: the target's own texts, the trimmed
vocabulary, a learning rate for minutes instead of days, clipping by norm, and an output norm that
begins by giving every direction the size that it has in the target's own last states: a few of an
early state's are thousands of times as large as all others, and would leave nothing of them.

Liu et al., arXiv 2404.18911. Published: AdamW, rate 5e-5, 20 epochs, clipping by value 0.5.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.kangaroo import KIND, Adapter, write_kangaroo
from core.models.base import FINAL
from core.train.data import Features, Text
from core.train.family import Family
from core.train.report import Plan
from core.train.unrolled import Rows, batches, chained, soft_cross_entropy

EXIT = 8  # layers that run before the adapter
DEPTH = 6  # of the chains that acceptance is measured with
SEEN = 64  # texts whose states say how the output norm begins
LEAST_SIZE = 1e-4  # of a direction, after the norm


class KangarooTask:
    """`size`: texts per batch."""

    kind = KIND

    def __init__(self, features: Features, exit_layer: int, vocabulary: int, size: int) -> None:
        self.taps = (exit_layer, FINAL)
        self.module = begun(features, exit_layer)
        self.vocabulary = features.vocabulary(vocabulary)
        self._exit = exit_layer
        self._size = size
        self._target = features.target.name
        self._weight = self.vocabulary.rows(features.target.head).float()

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[Rows]:
        return batches(texts, self._size, seed)

    def loss(self, batch: Rows) -> Tensor:
        places = predicting(batch)
        with torch.no_grad():
            known = F.linear(batch.states[FINAL][places].float(), self._weight)
            laws = known.float().softmax(-1)
        logits = F.linear(self._outputs(batch)[places], self._weight)
        return soft_cross_entropy(logits, laws).mean()

    @torch.no_grad()
    def accepted(self, texts: Sequence[Text]) -> list[tuple[int, int]]:
        total = [(0, 0)] * DEPTH
        for batch in batches(texts, self._size, 0):
            places = predicting(batch) & after(batch)
            right = torch.zeros_like(places)
            best = F.linear(self._outputs(batch)[places], self._weight).argmax(-1)
            right[places] = self.vocabulary.ids[best] == batch.tokens.roll(-1, 1)[places]
            found = chained(right, places, DEPTH)
            total = [(a + r, b + t) for (a, b), (r, t) in zip(total, found, strict=True)]
        return total

    def save(self, folder: Path) -> None:
        write_kangaroo(folder, self.module, self._exit, self.vocabulary, self._target)

    def _outputs(self, batch: Rows) -> Tensor:
        """Return what the head reads (B, T, D), at every place of a batch."""
        states = batch.states[self._exit].float()
        return self.module(states, torch.arange(states.shape[1])[None])


def begun(features: Features, exit_layer: int) -> Adapter:
    """Return a new adapter, whose output norm makes every direction of some texts' early states as
    large as it is in the target's last states.
    """
    adapter = Adapter(features.target.shape)
    some = features.training[:SEEN]
    early, late = (
        torch.cat([text.states[tap][text.answer :].float() for text in some])
        for tap in (exit_layer, FINAL)
    )
    with torch.no_grad():
        size = _size(adapter.norm.forward(early)).clamp(min=LEAST_SIZE)
        adapter.norm.weight.copy_(_size(late) / size)
    return adapter


def _size(states: Tensor) -> Tensor:
    """Return the root mean square (D,) of states (N, D)."""
    return states.square().mean(0).sqrt()


def predicting(batch: Rows) -> Tensor:
    """Return bool (B, T): the places whose next token is one of the answer."""
    places = torch.arange(batch.tokens.shape[1])
    return (places + 1 >= batch.answers[:, None]) & (places + 1 < batch.lengths[:, None])


def after(batch: Rows) -> Tensor:
    """Return bool (B, T): the places that can be the root of a draft."""
    return torch.arange(batch.tokens.shape[1]) >= batch.answers[:, None]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=16, help="texts per step")
    parser.add_argument("--exit", type=int, default=EXIT, help="layers that run before the adapter")


def _make(features: Features, options: argparse.Namespace) -> KangarooTask:
    return KangarooTask(features, options.exit, options.vocabulary, options.batch)


def _details(options: argparse.Namespace) -> Mapping[str, str]:
    return {
        "exit": f"after {options.exit} layers",
        "loss": "cross-entropy under the target's law at the same place",
        "draft vocabulary": f"{options.vocabulary:,} tokens",
    }


add_parser = Family(
    kind=KIND,
    name="Kangaroo adapter",
    paper="Liu et al. 2024, arXiv 2404.18911",
    taps=lambda options: (options.exit, FINAL),
    make=_make,
    plan=Plan(rate=1e-3, epochs=8, minutes=30.0),
    add_options=_add_options,
    details=_details,
).add_parser
