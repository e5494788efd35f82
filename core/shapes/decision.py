"""DynaSD's stop: draft on while a trained model believes in any strand.

The score of a drafted token belongs to the law that it was drawn from, so that it is known before
the token; the level that tripped the rule stays in the draft.
"""

from __future__ import annotations

from core.extras import DecisionExtras, Extras
from core.heads.decision import DecisionModel, score
from core.host import floats
from core.models.base import FINAL
from core.shapes.base import Grown
from core.trace import Stop


class DecisionStop:
    """Stop once no new node scores above `threshold`; keeps the scores of the round."""

    def __init__(self, model: DecisionModel, threshold: float) -> None:
        self._model = model
        self._threshold = threshold

    def __call__(self, grown: Grown) -> Stop | None:
        scores = self._scores(grown, [grown.tree.parents[node] for node in grown.frontier])
        best = max(scores)
        if best > self._threshold:
            return None
        return Stop(reason="decision", value=best, threshold=self._threshold)

    def extras(self, grown: Grown) -> tuple[Extras, ...]:
        """Return the score of every node whose law the drafter gave; None for roots."""
        nodes = [n for n, depth in enumerate(grown.tree.depths) if depth > 1]
        found = self._scores(grown, [grown.tree.parents[node] for node in nodes]) if nodes else []
        scores: list[float | None] = [None] * len(grown.tree)
        for node, value in zip(nodes, found, strict=True):
            scores[node] = value
        return (DecisionExtras(score=scores, threshold=self._threshold),)

    def _scores(self, grown: Grown, parents: list[int]) -> list[float]:
        rows = [grown.rows[parent] for parent in parents]
        found = score(self._model, grown.features[FINAL][rows])
        return [float(f"{value:.6g}") for value in floats(found)]
