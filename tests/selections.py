"""Ways to select, laws to select for, and the table of one node, for the tests of selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from core.host import Floats
from core.laws import Law
from core.models.base import Scores
from core.shapes.base import once_each
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.selection import CanonicalDecomposition, SelectionTable
from core.verify.selection_law import Choice, Selection, choice

RAW = Context((0,), Law(1))
FULL = Selection(free=15, alphabet=0)
SNIS = Selection(alphabet=0, scheme="importance")
WAYS = {
    "linear": Selection(),
    "one free": Selection(free=1),
    "short alphabet": Selection(free=2, alphabet=2),
    "one token": Selection(alphabet=1),
    "importance": SNIS,
    "short importance": Selection(alphabet=2, scheme="importance"),
}

ACCEPTED = [
    # one draft; two: importance, optimum; three: importance, optimum; as the sheet has them
    ("F1", 0.7, 0.798128, 0.86, 0.852577, 0.988),
    ("F2", 0.5, 0.75, 0.75, 0.875, 0.875),
    ("F3", 1, 1, 1, 1, 1),
    ("F4", 0.5, 0.57775, 0.59, 0.639053, 0.671),
    ("F6", 5 / 6, 0.911111, 1, 0.941005, 1),
]


def tensor(law: Sequence[float] | Floats) -> Tensor:
    return torch.tensor(list(law), dtype=torch.float64)


def chosen(
    p: Sequence[float] | Floats, q: Sequence[float] | Floats, count: int, way: Selection
) -> Choice:
    """Return the choice among `count` drafts; which tokens they are plays no part in its law."""
    return choice(tensor(p), tensor(q), [0] * count, way)


def random_laws(seed: int, size: int, zeros: float = 0.25) -> tuple[Floats, Floats]:
    """Return two laws (size,), some of their entries zero."""
    rng = np.random.default_rng(seed)
    weights = rng.random((2, size)) ** 3 * (rng.random((2, size)) > zeros)
    weights[:, rng.integers(size)] += 0.05
    p, q = weights / weights.sum(axis=1, keepdims=True)
    return p, q


def table(p: Floats, q: Floats, tokens: Sequence[int], way: Selection) -> SelectionTable:
    """Return the table of a root whose drafts are `tokens`."""
    parents, merged, offers = once_each([(0, tokens)], 1)
    draft = Draft(
        DraftTree.root(0).extended(parents, merged, offers),
        Sampling.INDEPENDENT,
        q=tensor(q)[None],
        rows={0: 0},
    )
    logits = tensor(p).log().expand(len(draft.tree), -1)
    return CanonicalDecomposition(way).prepare(draft, Scores(logits), RAW)
