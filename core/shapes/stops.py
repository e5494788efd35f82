"""Stop rules for drafting. The token that trips a rule stays in the draft; only what would follow
is not drafted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.laws import RAW
from core.parts import stop
from core.shapes.base import Grown, Silent
from core.trace import Stop


@dataclass(frozen=True, slots=True)
class Confidence(Silent):
    """Stop once the drafter gave each of the tokens to be scored next less than `threshold`; in a
    chain there is one (assisted decoding in transformers: 0.4).

    At temperature 0 the law in use says nothing of confidence; that of temperature 1 does.
    """

    threshold: float = 0.4

    def __call__(self, grown: Grown) -> Stop | None:
        tree, new = grown.tree, list(grown.frontier)
        rows = [grown.rows[tree.parents[node]] for node in new]
        laws = grown.q[rows]
        is_certain = laws.amax(dim=1, keepdim=True) == 1
        laws = torch.where(is_certain, RAW(grown.logits[rows]).to(laws), laws)
        given = laws[list(range(len(new))), [tree.tokens[node] for node in new]]
        value = float(f"{float(given.max()):.6g}")
        return (
            Stop(reason="confidence", value=value, threshold=self.threshold)
            if value < self.threshold
            else None
        )


PARTS = (
    stop(
        "confidence",
        "Confidence",
        "Stop once the drafter gave its last tokens too little.",
        "transformers, assisted decoding",
        Confidence,
    ),
)
