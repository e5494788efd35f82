"""What a round's record keeps of a trimmed draft vocabulary: the counts that it was cut from, what
it costs, and what the target had outside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from msgspec.structs import replace

from core.decode import Feedback
from core.drafters.trim import Size, Trim
from core.extras import Extras, TrimExtras
from core.host import Floats, floats
from core.reduce import six_digits

_PLACES = 48  # of the curve


class TrimWatch:
    """Asked after every round that drafted. `target`: its parameters, 0 where nobody knows."""

    def __init__(self, trim: Trim, size: Size, target: int) -> None:
        self._ids = trim.vocabulary.ids
        self._inside = frozenset(cast("list[int]", self._ids.tolist()))
        self._blank = _blank(trim, size, target)

    def __call__(self, feedback: Feedback) -> Sequence[Extras]:
        nodes = [0, *feedback.outcome.path]
        laws = feedback.table.p[nodes]
        inside = laws[:, self._ids.to(laws.device)].sum(-1).cpu()
        lost = (1 - inside.double()).clamp(0, 1)
        return [
            replace(
                self._blank,
                node=nodes,
                lost=_told(lost.numpy()),
                outside=[token not in self._inside for token in feedback.committed],
            )
        ]


def _blank(trim: Trim, size: Size, target: int) -> TrimExtras:
    """Return the block without what a single round adds."""
    vocabulary, counts = trim.vocabulary, trim.frequencies.counts
    total = int(counts.sum())
    falling = counts.sort(descending=True).values
    even = np.geomspace(1, vocabulary.size, _PLACES).round().astype(int)
    rank = sorted({len(vocabulary), *map(int, even)})
    places = torch.tensor(rank) - 1
    share = falling.cumsum(0)[places].double() / max(1, total)
    return TrimExtras(
        kept=len(vocabulary),
        size=vocabulary.size,
        counted=total,
        covered=int(counts[vocabulary.ids.cpu()].sum()) / max(1, total),
        rank=rank,
        count=cast("list[int]", falling[places].tolist()),
        share=_told(share.numpy()),
        rest=size.rest,
        row=size.row,
        target=target,
        node=[],
        lost=[],
        outside=[],
    )


def _told(values: Floats) -> list[float]:
    return floats(six_digits(values))
