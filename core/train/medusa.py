"""Train Medusa's heads to guess several places ahead, each from the target's last state alone.

As published, but for: the target's own texts, its whole law instead of the token that came, a
trimmed head of the target's for all instead of one of their own, and heads that begin as the
identity with their biases as well.

Cai et al., arXiv 2401.10774. Published: AdamW, rate 1e-3, warm-up a tenth, cosine, 1 to 2 epochs,
weights 0.8^i.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

from torch import Tensor

from core.heads.medusa import KIND, MedusaBlocks
from core.heads.medusa_layouts import write_medusa
from core.train.data import Features
from core.train.family import Family
from core.train.lookahead import TAPS, LookaheadTask, Places, add_options, details
from core.train.report import Plan


class MedusaTask(LookaheadTask):
    kind = KIND

    def __init__(
        self, features: Features, heads: int, blocks: int, vocabulary: int, size: int
    ) -> None:
        super().__init__(features, heads, vocabulary, size)
        self.module = MedusaBlocks(features.target.shape.hidden, heads, blocks)

    def hidden(self, batch: Places, head: int, rows: Tensor) -> Tensor:
        return cast(Tensor, self.module.heads[head](batch.states[rows]))

    def write(self, folder: Path) -> None:
        write_medusa(folder, self.module, self.vocabulary, self.target.name)


def _make(features: Features, options: argparse.Namespace) -> MedusaTask:
    return MedusaTask(features, options.heads, options.blocks, options.vocabulary, options.batch)


add_parser = Family(
    kind=KIND,
    name="Medusa heads",
    paper="Cai et al. 2024, arXiv 2401.10774",
    taps=lambda options: TAPS,
    make=_make,
    plan=Plan(rate=1e-3, warmup=0.1),
    add_options=lambda parser: add_options(parser, blocks=1),
    details=details,
).add_parser
