"""A comparison as text for a terminal: what it shows, then a line per method. Writes no control
sequence; see `viz.terminal`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from viz.compare.comparison import compare
from viz.compare.entry import Entry
from viz.compare.measured import Measured, measured_all
from viz.compare.methods import names
from viz.compare.payload import Method, Verdict
from viz.compare.table import order
from viz.compare.verdict import verdicts
from viz.numbers import factor, milliseconds, percent
from viz.sentence import plain
from viz.text import visible

_LONGEST = 44  # characters of a method's key with its settings
_NONE = "–"
_HEADS = ("", "speed-up", "tokens per pass", "drafted", "thrown away", "time", "text")


def render(entries: Sequence[Entry], width: int = 100, origin: str = "") -> str:
    """Return the finding, where it is from, the table, the fastest method first, and why each took
    the time that it did.
    """
    found = compare(entries, "", "", origin)
    called, numbers, said = names(entries), measured_all(entries), verdicts(entries)
    cells: list[Sequence[str]] = [_HEADS]
    told = [""]
    for place in order(entries, numbers):
        method, verdict = found["methods"][place], said[place]
        cells.append((_named(method), *_cells(place, numbers[place], verdict)))
        told.append(_told(method, verdict))
    parts = [
        _wrapped(plain(found["finding"]), width),
        _wrapped(found["source"], width),
        "\n".join(_lines(cells, told, width)),
        "\n".join(
            _wrapped(f"{called[each['method']]}: {plain(each['sentence'])}", width)
            for each in found["waterfalls"]
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _named(method: Method) -> str:
    """Return a method as the command line names it, with its settings in a few words."""
    lossy = "" if method["badge"]["lossless"] else "lossy"
    whole = _shown(", ".join(part for part in (method["key"], lossy, method["note"]) if part))
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"


def _cells(place: int, found: Measured | None, verdict: Verdict) -> tuple[str, ...]:
    text = _shown(f"{verdict['sign']} {verdict['head']}".strip()) or _NONE
    if found is None:
        return (*[_NONE] * (len(_HEADS) - 2), text)
    share = found.share_accepted
    return (
        _NONE if found.speedup is None else factor(found.speedup),
        _NONE if found.per_pass is None or place == 0 else f"{found.per_pass:.2f}",
        f"{found.drafted:,}" if found.drafted else _NONE,
        _NONE if share is None else percent(1 - share),
        milliseconds(found.ms) if found.tokens else _NONE,
        text,
    )


def _told(method: Method, verdict: Verdict) -> str:
    """Return what is said of a method below its line: where its text differs, or what failed."""
    differs = plain(verdict["line"]) if verdict["sign"] == "≠" else ""
    return " ".join(part for part in (differs, method["words"]) if part)


def _lines(cells: Sequence[Sequence[str]], told: Sequence[str], width: int) -> list[str]:
    widths = [max(len(row[place]) for row in cells) for place in range(len(_HEADS))]
    last = len(_HEADS) - 1
    lines: list[str] = []
    for row, words in zip(cells, told, strict=True):
        parts = [
            cell.ljust(room) if place in (0, last) else cell.rjust(room)
            for place, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
        if words:
            lines.append(_wrapped(words, width, "    "))
    return lines


def _wrapped(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        _shown(text), max(width, 40), initial_indent=indent, subsequent_indent=indent or "  "
    )


def _shown(text: str) -> str:
    """Return a line with marks for what cannot be seen; its leading space stays."""
    label = visible(text)
    return (" " if label["space"] else "") + label["text"]
