"""Target-initialised roots: the first level of a draft comes from the target's own last law.

A round of this kind draws no token of the target's own at its end. The law that it would have come
from is kept instead, and the next draft begins with several tokens of it; which of them joins the
text is decided by the next verification (Lu et al., arXiv 2409.10644).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from core.decode import Feedback
from core.dice import Dice
from core.drafters.model import Growing, ModelDrafter
from core.drafters.source import Source
from core.extras import Extras
from core.host import int_rows
from core.reduce import top_tokens
from core.shapes.base import Growth, StopPolicy, TreePolicy
from core.tree import Draft
from core.verify.base import Context


class StrandDrafter(ModelDrafter):
    """A model drafter whose drafts begin with `roots` tokens of the target's law: drawn without
    replacement, at temperature 0 the likeliest.
    """

    def __init__(
        self,
        source: Source,
        shape: TreePolicy,
        stops: Sequence[StopPolicy] = (),
        draft_taps: Sequence[int] = (),
        temperature: float | None = None,
        roots: int = 2,
    ) -> None:
        super().__init__(
            source.open,
            shape,
            source.name,
            stops,
            draft_taps,
            temperature,
            source.taps,
            source.watch,
        )
        self._roots = roots
        self._ahead: Tensor | None = None  # (V,) law of what comes next
        self._logits: Tensor | None = None  # (V,) of the same place

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        if self._ahead is None:  # the last round ended with a token of the target's own
            return Draft.empty(context.root, "no_law")
        return super().propose(context, limit, dice)

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        learnt = super().observe(feedback)
        end, known = feedback.outcome.end, feedback.outcome.final is None
        self._ahead = feedback.table.final_law(end) if known else None
        self._logits = feedback.scores.logits[end] if known else None
        return learnt

    def _plant(self, growing: Growing, dice: Dice, context: Context) -> None:
        """Add the roots, so that they are scored together with node 0."""
        assert self._ahead is not None
        assert self._logits is not None
        count = min(self._roots, self._ahead.shape[0])
        if context.law.is_greedy:
            drawn = top_tokens(self._logits[None], count)
        else:
            drawn = dice.at("roots").draw(self._ahead[None], count, replace=False)
        tokens = [token for token in int_rows(drawn)[0] if token >= 0]
        growing.add(Growth([0] * len(tokens), tokens, expand=range(1, 1 + len(tokens))))
        growing.schedule()
