"""What every rule accepts at one node, for 1 to 8 drafts: the ladder of `core.bounds`, with the
selection that the canonical decomposition makes, by the settings of the run where it made one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from core.bounds.ladder import Acceptance, ladder
from core.methods import canonical_decomposition
from core.registry import get
from core.trace import Trace
from core.verify.selection_law import Selection, choice
from core.verify.selection_plan import largest_alphabet

MOST_DRAFTS = 8
SELECTION = "independent/selection"


def ladders(
    p: Tensor, q: Tensor, most: int = MOST_DRAFTS, selection: Selection | None = None
) -> list[Mapping[str, Acceptance]]:
    """Return the acceptance of every rule at a node with laws p and q (V,), for 1 to `most` drafts.

    Rungs are named as in `core.bounds.ladder`. `selection`: how to select; None: the method's
    defaults. Raises ValueError for p and q that are no laws.
    """
    way = selection or Selection()
    return [
        {**ladder(p, q, count), SELECTION: Acceptance(selected(p, q, count, way))}
        for count in range(1, most + 1)
    ]


def selected(p: Tensor, q: Tensor, count: int, selection: Selection) -> float:
    """Return the acceptance of selecting one of `count` drafts from q with replacement, then
    testing it alone: the overlap of p and the law of the token selected.
    """
    way = _possible(selection, count, len(q))
    chosen = choice(p, q, [int(q.argmax())] * count, way)  # which were drawn has no effect
    return 1.0 - chosen.left


def selection_of(trace: Trace) -> Selection | None:
    """Return how the run selected among its drafts; None where it did not. Raises ValueError for a
    method or settings that are not known.
    """
    config = get(trace.method).configure(trace.config)
    return config.way if isinstance(config, canonical_decomposition.Config) else None


def _possible(selection: Selection, count: int, size: int) -> Selection:
    """Return the selection with no larger an alphabet than importance weights can be gone through
    for `count` drafts, of `size` tokens in all.
    """
    if selection.scheme != "importance" or count < 2:
        return selection
    asked = selection.alphabet or size
    return replace(selection, alphabet=min(asked, largest_alphabet(count)))
