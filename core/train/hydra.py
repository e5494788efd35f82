"""Train Hydra's heads to guess several places ahead, each from the target's last state and the true
tokens before its place.

As published, but for: the target's own texts, a trimmed head of the target's for all instead of one
of their own, weights 0.8^i, heads that begin by handing the state through, and minutes instead of
days. The cross-entropy under the target's law alone is what Hydra++ trains with.

Ankner et al., arXiv 2402.05109. Published: 4 heads, rate 5e-4, 10 epochs, decay 0.1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.hydra import KIND, HydraBlocks
from core.heads.hydra_layouts import write_hydra
from core.train.data import Features
from core.train.family import Family
from core.train.lookahead import TAPS, LookaheadTask, Places, add_options, details
from core.train.report import Plan


class HydraTask(LookaheadTask):
    kind = KIND

    def __init__(
        self, features: Features, heads: int, blocks: int, vocabulary: int, size: int
    ) -> None:
        super().__init__(features, heads, vocabulary, size)
        self.module = HydraBlocks(features.target.shape.hidden, heads, blocks)
        self._embedding = features.target.embedding.float()

    def hidden(self, batch: Places, head: int, rows: Tensor) -> Tensor:
        between = batch.tokens[rows[:, None] + torch.arange(head + 1)]
        return self.module(head, batch.states[rows], F.embedding(between, self._embedding))

    def write(self, folder: Path) -> None:
        write_hydra(folder, self.module, self.vocabulary, self.target.name)


def _make(features: Features, options: argparse.Namespace) -> HydraTask:
    return HydraTask(features, options.heads, options.blocks, options.vocabulary, options.batch)


add_parser = Family(
    kind=KIND,
    name="Hydra heads",
    paper="Ankner et al. 2024, arXiv 2402.05109",
    taps=lambda options: TAPS,
    make=_make,
    plan=Plan(rate=1e-3),
    add_options=lambda parser: add_options(parser, blocks=2),
    details=details,
).add_parser
