"""SVIP: stop drafting once the draft laws of the last tokens were all too uncertain.

Acceptance at a position is 1 - TV(p, q) >= 1 - sqrt(KL(q||p) / 2). With the cross-entropy taken as
a fixed multiple of the drafter's own entropy H this is 1 - sqrt(c H), which needs no target. The
stop depends on the law that the kept token came from, not on which token came, so that the text
keeps its law. In a tree drafting goes on while one of the laws that the new tokens came from is
sure enough; in a chain, the paper's setting, there is one.

Zhang et al.: Draft Model Knows When to Stop, arXiv 2411.18462. The paper says sqrt(H) > 0.3, the
released code sqrt(0.15 H) > 0.3; both are `scale` and `threshold` here. H is taken at temperature
1, in nats, also for greedy drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from core.extras import Extras, SvipExtras
from core.laws import widen
from core.parts import stop
from core.shapes.base import Grown
from core.trace import Stop


@dataclass(frozen=True, slots=True)
class EntropyStop:
    """Stop when sqrt(`scale` H) > `threshold` for the surest of the laws that the tokens to be
    scored next came from.
    """

    scale: float = 0.15
    threshold: float = 0.3

    def __call__(self, grown: Grown) -> Stop | None:
        rows = sorted({grown.rows[grown.tree.parents[node]] for node in grown.frontier})
        logs = widen(grown.logits[rows]).log_softmax(dim=1)
        entropies = -(logs.exp() * logs.clamp(min=-1e30)).sum(dim=1)  # 0 x log 0 is 0
        value = sqrt(self.scale * max(float(entropies.min()), 0.0))
        if value <= self.threshold:
            return None
        return Stop(reason="entropy", value=float(f"{value:.6g}"), threshold=self.threshold)

    def extras(self, grown: Grown) -> tuple[Extras, ...]:
        return (SvipExtras(scale=self.scale, threshold=self.threshold),)


PARTS = (
    stop(
        "entropy",
        "Entropy of the draft",
        "Stop once the drafter was too unsure of its last tokens.",
        "Zhang et al. 2024, arXiv 2411.18462",
        EntropyStop,
    ),
)
