"""What every rule accepts at one node, for 1 to 8 drafts: the ladder of `core.bounds`, with the
selection that the canonical decomposition makes, by the settings of the run where it made one.

Else more tokens are free in its linear program than the method has by default: one node can wait,
and with few of them the program, not the rule, decides what is accepted.
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
from core.verify.selection_plan import Tournament, largest_alphabet

MOST_DRAFTS = 8
SELECTION = "independent/selection"
OWN = Selection(free=30, alphabet=0)


def ladders(
    p: Tensor, q: Tensor, most: int = MOST_DRAFTS, selection: Selection | None = None
) -> list[Mapping[str, Acceptance]]:
    """Return the acceptance of every rule at a node with laws p and q (V,), for 1 to `most` drafts.

    Rungs are named as in `core.bounds.ladder`. `selection`: how to select; None: as in `OWN`.
    Raises ValueError for p and q that are no laws.
    """
    chosen = _selections(p, q, most, selection or OWN)
    return [
        {**ladder(p, q, count), SELECTION: Acceptance(value)}
        for count, value in enumerate(chosen, start=1)
    ]


def _selections(p: Tensor, q: Tensor, most: int, selection: Selection) -> list[float]:
    """Return the acceptance of selecting one of 1 to `most` drafts.

    A tournament of fewer drafts is the beginning of the one of all, which is planned once.
    """
    if selection.scheme == "importance" or most < 2:
        return [selected(p, q, count, selection) for count in range(1, most + 1)]
    whole = choice(p, q, [int(q.argmax())] * most, selection)
    assert isinstance(whole.plan, Tournament)
    parts = [Tournament(whole.plan.first, whole.plan.stages[:n]) for n in range(most)]
    return [1.0 - replace(whole, plan=part).left for part in parts]


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
