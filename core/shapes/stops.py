"""Stop rules for drafting. The token that trips a rule stays in the draft; only what would follow
is not drafted.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.shapes.base import Grown, Silent
from core.trace import Stop


@dataclass(frozen=True, slots=True)
class Confidence(Silent):
    """Stop once the drafter gave the token it drew less than `threshold` (assisted decoding in
    transformers: 0.4).
    """

    threshold: float

    def __call__(self, grown: Grown) -> Stop | None:
        node = grown.frontier[-1]
        if node == 0:
            return None
        row = grown.rows[grown.tree.parents[node]]
        value = float(grown.q[row, grown.tree.tokens[node]])
        return (
            Stop(reason="confidence", value=value, threshold=self.threshold)
            if value < self.threshold
            else None
        )
