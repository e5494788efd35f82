"""What a wide verify call costs: T(n) / T(1) for chains of n tokens after a given text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from core.models.base import LanguageModel
from core.tree import DraftTree

WIDTHS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)


def width_curve(target: LanguageModel, text: Sequence[int], repeats: int = 15) -> dict[int, float]:
    """Return milliseconds per width, the median over interleaved repeats; the text stays in the
    cache throughout.
    """
    session = target.open(text[:-1])
    session.score(DraftTree.root(text[-1]))  # fills the cache
    trees = {
        width: DraftTree.root(text[-1]).extended(range(width - 1), [text[0]] * (width - 1))
        for width in WIDTHS
    }
    times: dict[int, list[float]] = {width: [] for width in WIDTHS}
    for _ in range(repeats):
        for width, tree in trees.items():
            began = time.perf_counter()
            session.score(tree).logits[0, 0].item()
            times[width].append(time.perf_counter() - began)
    return {width: 1000 * median(values) for width, values in times.items()}
