"""The timeline: up what each round won, down what it paid, on one unit.

A unit is one token up and one plain step down, so a column that reaches higher than deep pays off.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from core.trace import Round, Trace
from viz.columns import Column, Scale, columns, rounds_drawn, scale
from viz.numbers import duration, rate
from viz.payload import Section
from viz.timeline_figure import timeline_figure

_HEAD = "What each round won, and what it cost"


def timeline(trace: Trace) -> Section:
    """Return the section; without a figure when no round followed the prompt pass."""
    rounds = rounds_drawn(trace)
    if not rounds:
        note = "No round followed the prompt pass."
        return {"head": _HEAD, "note": note, "figure": None, "foot": "", "legend": [], "alt": note}
    found = columns(rounds)
    unit = scale(trace, found)
    return {
        "head": _HEAD,
        "note": _note(found, unit),
        "figure": timeline_figure(found, unit),
        "foot": _foot(trace, unit),
        "legend": _legend(trace),
        "alt": _alt(found, unit),
    }


def _note(found: Sequence[Column], unit: Scale) -> str:
    down = (
        f"the time of one plain step ({duration(unit.unit_ms)})"
        if unit.plain
        else duration(unit.unit_ms)
    )
    units = f"One unit up is one token; one unit down is {down}."
    size = found[0].last - found[0].first + 1
    means = f" Each column is the mean of {size} rounds." if size > 1 else ""
    if unit.plain:
        return f"{units} A round pays off when it reaches higher than deep.{means}"
    return f"{units} No plain step was timed, so height and depth do not compare.{means}"


def _foot(trace: Trace, unit: Scale) -> str:
    each = rounds_drawn(trace)
    accept = duration(median(r.cost.accept_ms for r in each))
    prompt = sum(r.cost.verify_ms for r in trace.rounds) - sum(r.cost.verify_ms for r in each)
    left_out = f"Not drawn: accepting, {accept} a round"
    left_out += f", and the prompt pass, {duration(prompt)}." if prompt >= 0.5 else "."
    if not unit.plain:
        return left_out
    drafted = [r for r in each if r.drafted]
    if not drafted:
        return left_out
    paid = sum(len(r.outcome.emitted) * unit.unit_ms > _cost(r) for r in drafted)
    every = paid == len(drafted)
    ratio = "Every" if every else f"{paid:,} of {len(drafted):,}" if paid else "No"
    plural = "" if every or not paid or len(drafted) == 1 else "s"
    return f"{ratio} drafting round{plural} paid off. {left_out}"


def _cost(r: Round) -> float:
    return r.cost.draft_ms + r.cost.verify_ms


def _legend(trace: Trace) -> list[tuple[str, str]]:
    each = rounds_drawn(trace)
    return [
        ("draft", f"draft {duration(median(r.cost.draft_ms for r in each))} a round"),
        ("verify", f"verify {duration(median(r.cost.verify_ms for r in each))} a round"),
    ]


def _alt(found: Sequence[Column], unit: Scale) -> str:
    best = max(found, key=lambda column: column.won)
    worst = max(found, key=lambda column: column.paid_ms)
    paid = (
        f"{rate(unit.units(worst.paid_ms))} plain steps" if unit.plain else duration(worst.paid_ms)
    )
    return (
        f"{best.name} won most, {rate(best.won)} tokens; {worst.name.lower()} cost most, {paid}. "
        f"On average {rate(fmean(c.won for c in found))} tokens for "
        f"{duration(fmean(c.paid_ms for c in found))}."
    )
