"""What every rule accepts at one node, for 1 to 8 drafts: the ladder of `core.bounds`, with the
selection that the canonical decomposition makes.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from core.bounds.ladder import Acceptance, ladder
from core.verify.selection_law import Selection, choice

MOST_DRAFTS = 8
SELECTION = "independent/selection"


def ladders(p: Tensor, q: Tensor, most: int = MOST_DRAFTS) -> list[Mapping[str, Acceptance]]:
    """Return the acceptance of every rule at a node with laws p and q (V,), for 1 to `most` drafts.

    Rungs are named as in `core.bounds.ladder`. Raises ValueError for p and q that are no laws.
    """
    return [
        {**ladder(p, q, count), SELECTION: Acceptance(selected(p, q, count))}
        for count in range(1, most + 1)
    ]


def selected(p: Tensor, q: Tensor, count: int) -> float:
    """Return the acceptance of selecting one of `count` drafts from q with replacement by a linear
    program, then testing it alone: the overlap of p and the law of the token selected.
    """
    chosen = choice(p, q, [int(q.argmax())] * count, Selection())  # which were drawn has no effect
    return 1.0 - chosen.left
