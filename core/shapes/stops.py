"""Stop rules for drafting. The token that trips a rule stays in the draft; only what would follow
is not drafted.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.laws import RAW
from core.parts import stop
from core.shapes.base import Grown, Silent
from core.trace import Stop


@dataclass(frozen=True, slots=True)
class Confidence(Silent):
    """Stop once the drafter gave the token it drew less than `threshold` (assisted decoding in
    transformers: 0.4).

    At temperature 0 the law in use says nothing of confidence; that of temperature 1 does.
    """

    threshold: float = 0.4

    def __call__(self, grown: Grown) -> Stop | None:
        node = grown.frontier[-1]
        row = grown.rows[grown.tree.parents[node]]
        law = grown.q[row]
        if float(law.max()) == 1:
            law = RAW(grown.logits[row : row + 1])[0]
        value = float(f"{float(law[grown.tree.tokens[node]]):.6g}")
        return (
            Stop(reason="confidence", value=value, threshold=self.threshold)
            if value < self.threshold
            else None
        )


PARTS = (
    stop(
        "confidence",
        "Confidence",
        "Stop once the drafter gave its last token too little.",
        "transformers, assisted decoding",
        Confidence,
    ),
)
