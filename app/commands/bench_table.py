"""The medians of `bench` as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from app.commands.benched import About, BenchedAll, Failure, Interval, Middle
from viz.numbers import count, factor, percent

_NONE = "–"
_HEAD = ("", "prompts", "identical", "tokens per pass", "speed-up", "thrown away")
_HOW = (
    "Medians over prompts; in brackets what holds the median in 95 % of cases, from six prompts "
    "on.\n"
)
_SAMPLED = (
    f"{_HOW}Above temperature 0 a lossless method promises the law of the text, not the text.\n"
)


def render(told: BenchedAll) -> str:
    """Return the medians as lines for a terminal, then what failed."""
    names = dict.fromkeys(name for each in told.methods for name in each.categories)
    tables = [_table("all prompts", [(each.key, each.all) for each in told.methods])]
    for name in names:
        rows = [(e.key, e.categories[name]) for e in told.methods if name in e.categories]
        tables.append(_table(name, rows))
    head = told.about and _told_about(told.about)
    how = _SAMPLED if told.about and told.about.temperature else _HOW
    parts = [head, *tables, how, _told_failures(told.failures)]
    return "\n".join(part for part in parts if part)


def _told_about(about: About) -> str:
    threads = count(about.threads, "thread")
    return (
        f"{about.model} on {about.processor}, {about.dtype}, {threads}, temperature "
        f"{about.temperature:g}, seed {about.seed}, up to {about.max_new_tokens} tokens\n"
    )


def _told_failures(failures: Sequence[Failure]) -> str:
    """Return a line per method and reason."""
    found = Counter((each.key, each.message) for each in failures)
    return "".join(
        f"{key}, {count(number, 'prompt')}: {message}\n" for (key, message), number in found.items()
    )


def _table(name: str, rows: Sequence[tuple[str, Middle]]) -> str:
    cells = [(name, *_HEAD[1:]), *(_cells(key, row) for key, row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(_HEAD))]
    return "".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in cells
    )


def _cells(key: str, row: Middle) -> tuple[str, ...]:
    return (
        key,
        f"{row.prompts:,}",
        f"{row.identical:,}",
        _interval(row.tokens_per_pass, lambda value: f"{value:.2f}"),
        _interval(row.speedup, factor),
        _interval(row.wasted, percent),
    )


def _interval(found: Interval | None, write: Callable[[float], str]) -> str:
    if found is None:
        return _NONE
    if found.low is None or found.high is None:
        return write(found.median)
    return f"{write(found.median)} [{write(found.low)}, {write(found.high)}]"
