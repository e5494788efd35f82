"""The table of a comparison: a row per method, its numbers beside those of the others, and CSV.

Best and worst are marked among the methods that are done; numbers that grow with the text are
ranked only where all texts are equally long.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from csv import writer

from core.trace import Trace
from viz.compare.columns import Figure, figures_of
from viz.compare.entry import Entry
from viz.compare.measured import ENOUGH, Measured, has_pace, measured_all
from viz.compare.methods import is_lossless, notes
from viz.compare.payload import Best, Cell, Column, Row, Table, Verdict
from viz.compare.verdict import difference, verdicts
from viz.export import Cell as CsvCell
from viz.export import safe
from viz.numbers import factor
from viz.reading import vocabulary
from viz.sentence import plain as as_text
from viz.text import alone

_NONE = "–"
_LEAST_AXIS = 2


def table(entries: Sequence[Entry]) -> Table:
    """Return the rows by time, those that are done first; a method without a record has none."""
    numbers = measured_all(entries)
    level = _equally_long(entries, numbers)
    figures = figures_of(level)
    marks = [_marks(entries, numbers, figure, level) for figure in figures]
    told = verdicts(entries)
    rows = [
        _row(place, found, told[place], _cells(figures, found, [best[place] for best in marks]))
        for place in order(entries, numbers)
        if (found := numbers[place]) is not None
    ]
    drawn = [x for row in rows for x in (row["delivered"], row["promised"]) if x is not None]
    return {
        "columns": [_column(figure) for figure in figures],
        "rows": rows,
        "axis": max(_LEAST_AXIS, math.ceil(max(drawn, default=0))),
        "note": _note(entries, level, any(row["method"] and row["delivered"] for row in rows)),
    }


def order(entries: Sequence[Entry], numbers: Sequence[Measured | None]) -> list[int]:
    """Return the methods by time per token, those that are done first, the others as chosen."""

    def key(place: int) -> tuple[int, float]:
        found = numbers[place]
        if entries[place].status == "done" and found is not None and found.per_token is not None:
            return 0, found.per_token
        return 1, 0.0

    return sorted(range(len(entries)), key=key)


def _row(place: int, found: Measured, verdict: Verdict, cells: list[Cell]) -> Row:
    delivered, promised = found.speedup, found.per_pass
    text = "1.00, by definition" if place == 0 else factor(delivered or 0)
    return {
        "method": place,
        "verdict": verdict,
        "delivered": delivered,
        "delivered_text": "" if delivered is None else text,
        "promised": promised,
        "promised_text": "" if promised is None else f"{promised:.2f}",
        "cells": cells,
    }


def _column(figure: Figure) -> Column:
    return {
        "key": figure.key,
        "label": figure.label,
        "definition": figure.definition,
        "falls": figure.falls,
    }


def _cells(figures: Sequence[Figure], found: Measured, marks: Sequence[Best]) -> list[Cell]:
    values = [figure.value(found) for figure in figures]
    return [
        {"text": _NONE if value is None else figure.write(value), "value": value, "best": best}
        for figure, value, best in zip(figures, values, marks, strict=True)
    ]


def _marks(
    entries: Sequence[Entry], numbers: Sequence[Measured | None], figure: Figure, level: bool
) -> list[Best]:
    """Return per method whether its number is the best or the worst; equal numbers share that."""
    values = [
        None if found is None or each.status != "done" else figure.value(found)
        for each, found in zip(entries, numbers, strict=True)
    ]
    known = {value for value in values if value is not None}
    if len(known) < 2 or not figure.ranked or (figure.sums and not level):
        return [""] * len(values)
    low, high = ("best", "worst") if figure.falls else ("worst", "best")
    return [low if v == min(known) else high if v == max(known) else "" for v in values]


def _equally_long(entries: Sequence[Entry], numbers: Sequence[Measured | None]) -> bool:
    """Return whether the texts that are done have as many tokens as each other."""
    done = zip(entries, numbers, strict=True)
    return len({n.tokens for each, n in done if n and each.status == "done"}) < 2


def _note(entries: Sequence[Entry], level: bool, is_drawn: bool) -> str:
    dotted = "The dotted line is the price of drafting and of wider target passes."
    parts = [dotted] if is_drawn else []
    plain = entries[0] if entries else None
    if plain is not None and plain.status == "done" and not has_pace(plain.trace):
        parts.append(
            f"Plain decoding was not timed over {ENOUGH} tokens, so that no speed-up is told."
        )
    if not level:
        parts.append(
            "The texts differ in length: rows go by time per token, and sums are not ranked."
        )
    return " ".join(parts)


_CSV = (
    *("method", "name", "settings", "lossless", "status", "verdict"),
    *("first_difference", "exact_token", "exact_text", "token", "text", "gap", "cause"),
    *("tokens", "ms", "plain_ms", "speedup", "tokens_per_pass", "target_passes", "draft_passes"),
    *("drafted", "accepted", "draft_efficiency", "acceptance_rate", "thrown_away"),
)


def csv(entries: Sequence[Entry]) -> str:
    """Return a line per method with full numbers, in the order of the table; as `viz.export`."""
    numbers, found, told = measured_all(entries), verdicts(entries), notes(entries)
    out = io.StringIO()
    lines = writer(out)
    lines.writerow(_CSV)
    for place in order(entries, numbers):
        each = entries[place]
        verdict = found[place]
        words = ": ".join(part for part in (verdict["head"], as_text(verdict["line"])) if part)
        head = (each.key, each.name, told[place], is_lossless(each), each.status, words)
        differs = _difference(each, entries[0])
        row: list[CsvCell] = [*head, *differs, *_numbers(numbers[place])]
        lines.writerow([safe(cell) for cell in row])
    return out.getvalue()


def _difference(entry: Entry, plain: Entry) -> list[CsvCell]:
    found = difference(entry, plain)
    if found is None or entry.trace is None or plain.trace is None:
        return [None] * 7
    exact, own = _spelled(plain.trace, found.theirs), _spelled(entry.trace, found.ours)
    return [found.same, found.theirs, exact, found.ours, own, found.gap, found.cause]


def _spelled(trace: Trace, token: int | None) -> str | None:
    return None if token is None else alone(vocabulary(trace).label(token))


def _numbers(found: Measured | None) -> list[CsvCell]:
    if found is None:
        return [None] * 12
    m = found
    return [
        *(m.tokens, m.ms, m.plain_ms, m.speedup, m.per_pass, m.passes, m.draft_passes),
        *(m.drafted, m.accepted, m.share_accepted, m.acceptance, m.drafted - m.accepted),
    ]
