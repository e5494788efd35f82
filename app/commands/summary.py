"""What is told of a whole trace: one JSON object for programs, a few lines for people."""

from __future__ import annotations

import textwrap

from msgspec import Struct

from core.metrics import METRICS, Metric
from core.trace import FinishReason, Round, Trace, token_ids
from viz.acceptance import not_counted
from viz.sentence import plain
from viz.verdict import verdict_on
from viz.words import finish

SHOWN = (
    "tokens_per_pass",
    "acceptance_rate",
    "draft_efficiency",
    "accepted_length",
    "tokens_per_second",
    "speedup",
)
_NOTHING = "–"


class Summary(Struct, frozen=True):
    """What `--json` prints. `token_ids`: those generated. A metric without a value is None."""

    text: str
    token_ids: list[int]
    metrics: dict[str, float | None]
    rounds: list[Round]
    finish_reason: FinishReason


def summary(trace: Trace) -> Summary:
    metrics = {name: metric.function(trace).value for name, metric in METRICS.items()}
    return Summary(trace.text, token_ids(trace), metrics, trace.rounds, trace.finish_reason)


def summary_lines(trace: Trace, width: int) -> list[str]:
    """Return whether it paid, why it ended, and the metrics with what they are quotients of; last,
    what the acceptance rate leaves out.
    """
    told = textwrap.wrap(plain(verdict_on(trace)), width)
    if trace.finish_reason != "error":  # an error is told on standard error
        told += textwrap.wrap(finish(trace), width)
    names = [METRICS[name] for name in SHOWN]
    room = max(len(metric.label) for metric in names)
    return [
        *told,
        "",
        *(f"  {metric.label:<{room}}  {_quotient(metric, trace)}" for metric in names),
        *textwrap.wrap(not_counted(trace), width),
    ]


def _quotient(metric: Metric, trace: Trace) -> str:
    ratio = metric.function(trace)
    above, below = ratio.counts
    if ratio.value is None:
        return f"{_NOTHING:>7}"
    return f"{_valued(ratio.value, metric):>7}  {_number(above)} / {_number(below)}"


def _valued(value: float, metric: Metric) -> str:
    if metric.unit == "share":
        return f"{100 * value:.1f} %"
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:,.2f}"
