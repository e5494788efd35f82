"""What a draft model's size is worth: a model of acceptance, cost and speed-up over the size.

A run gives one point: its draft's share of the target's parameters, the acceptance per token β, the
cost c of a draft step and the cost v of checking, both in plain steps. From there acceptance is
taken to be a power of the size, 1 for a drafter as large as the target, and cost to grow in line
with it. `assets/js/draft_size.js` has the same formulas, for the page's sliders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

from core.metrics import acceptance_rate
from core.trace import Round, Trace

SMALLEST = 0.003  # share of the target at which the curves begin
_POINTS = 81


@dataclass(frozen=True, slots=True)
class Published:
    """A draft of the paper: both sizes in parameters; per-token acceptance at temperature 0.6 on
    summaries, stories, instructions and code.
    """

    name: str
    draft: float
    target: float
    acceptance: tuple[float, ...]

    @property
    def size(self) -> float:
        return self.draft / self.target


PUBLISHED = (
    Published("50M for Phi-3-mini", 50e6, 3.8e9, (0.369, 0.306, 0.370, 0.562)),
    Published("150M for Llama-3.1-8B", 150e6, 8.0e9, (0.307, 0.266, 0.334, 0.649)),
)


@dataclass(frozen=True, slots=True)
class DraftSize:
    """One run. `size`: of the draft, in targets; `kept` of `tested` drafted tokens; `length`:
    tokens drafted at most. `cost`, `verify` in plain steps of the target; None where none was
    timed.
    """

    size: float
    kept: int
    tested: int
    length: int
    cost: float | None
    verify: float | None

    @property
    def beta(self) -> float:
        return self.kept / self.tested

    @property
    def c(self) -> float:
        """Cost of a draft step, as measured or else as memory traffic has it."""
        return self.size if self.cost is None else min(1.0, self.cost)

    @property
    def v(self) -> float:
        return 1.0 if self.verify is None else max(1.0, self.verify)

    @property
    def is_timed(self) -> bool:
        return self.cost is not None

    def beta_at(self, size: float) -> float:
        if not self.beta:
            return float(size == 1)
        return size ** (log(self.beta) / log(self.size))

    def cost_at(self, size: float) -> float:
        grown = self.c + (1 - self.c) * (size - self.size) / (1 - self.size)
        return max(0.0, grown)

    def speedup_at(self, size: float) -> float:
        return speedup(self.beta_at(size), self.cost_at(size), self.v, self.length)


def speedup(beta: float, c: float, v: float, length: int) -> float:
    """Return E[τ] / (γ c + v) for drafts of `length` tokens, each accepted with chance β."""
    return expected(beta, length) / (length * c + v)


def expected(beta: float, length: int) -> float:
    """Return E[τ] = (1 - β^(γ+1)) / (1 - β): tokens of a round, the target's own included."""
    return sum(beta**step for step in range(length + 1))


def sizes() -> list[float]:
    """Return the sizes at which curves are drawn, evenly on a log axis, the target's last."""
    step = -log(SMALLEST) / (_POINTS - 1)
    return [SMALLEST * exp(place * step) for place in range(_POINTS - 1)] + [1.0]


def draft_size(trace: Trace) -> DraftSize | None:
    """Return what a run tells of its draft model's size; None where no smaller second model drafted
    chains, or nothing was tested.
    """
    target, draft = trace.models.target, trace.models.draft
    drafted = [r for r in trace.rounds if r.drafted]
    if draft is None or not 0 < draft.parameters < target.parameters or not drafted:
        return None
    if any(r.max_depth != r.drafted for r in drafted):
        return None
    kept, tested = acceptance_rate(trace).counts
    if not tested:
        return None
    cost, verify = _costs(drafted, trace.plain_step_ms)
    return DraftSize(
        size=draft.parameters / target.parameters,
        kept=round(kept),
        tested=round(tested),
        length=max(r.drafted for r in drafted),
        cost=cost,
        verify=verify,
    )


def _costs(drafted: Sequence[Round], plain: float | None) -> tuple[float | None, float | None]:
    """Return the usual cost of a draft step and of a check, in plain steps of `plain` ms. Medians:
    the first draft of a text reads the prompt.
    """
    steps = [r.cost.draft_ms / r.cost.draft_forwards for r in drafted if r.cost.draft_forwards]
    if not plain or not any(steps):
        return None, None
    return median(steps) / plain, median(r.cost.verify_ms for r in drafted) / plain
