"""Prompt lookup: where the n-gram was found, what was copied from there, and how much of it stayed.

An arc leads from the copied tokens to where they were put; below it stands the source in context.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import LookupExtras
from viz.figure import chart_text, layout
from viz.numbers import count
from viz.payload import Figure, Label, Picture, Section
from viz.reading import Reading, text_before
from viz.text import alone, shortened

ORDER = 10
_CONTEXT = 8  # tokens shown on either side of the source
_HEAD = "Where the draft was copied from"


@dataclass(frozen=True, slots=True)
class _Copy:
    """Positions count the whole text from 0; `end` is the length of the text before the round."""

    ngram: int
    start: int
    begin: int
    length: int
    kept: int
    end: int


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that looked something up."""
    extra = next((e for e in reading.round.extras if isinstance(e, LookupExtras)), None)
    if extra is None:
        return None
    if extra.match_start is None or extra.copy_start is None or not extra.copy_length:
        return {"section": _section(_missing(extra), None, "", "", []), "html": ""}
    copy = _Copy(
        ngram=extra.ngram,
        start=extra.match_start,
        begin=extra.copy_start,
        length=extra.copy_length,
        kept=len(reading.round.outcome.accepted),
        end=reading.round.prefix_length,
    )
    words = _told(copy)
    note = "The arc leads from the copied tokens to where they were put; below, the source."
    legend = [
        ("square-law", "matched"),
        ("square-accepted", "copied and kept"),
        ("square-faint", "copied, not kept"),
    ]
    figure: Figure = {"data": [_spans(reading, copy)], "layout": _layout(copy)}
    section = _section(note, figure, words, words, legend)
    return {"section": section, "html": _source(reading, copy)}


def _section(
    note: str, figure: Figure | None, foot: str, alt: str, legend: list[tuple[str, str]]
) -> Section:
    return {
        "head": _HEAD,
        "note": note,
        "figure": figure,
        "foot": foot,
        "legend": legend,
        "alt": alt or note,
    }


def _missing(extra: LookupExtras) -> str:
    if extra.ngram:
        matched = count(extra.ngram, "token")
        return f"The last {matched} were found again, but nothing could be copied from there."
    return "The end of the text occurs nowhere before: nothing was copied."


def _told(copy: _Copy) -> str:
    back = copy.end - copy.ngram - copy.start
    return (
        f"Matched {count(copy.ngram, 'token')} at position {copy.start:,}, {back:,} back; "
        f"copied {copy.length:,}, kept {copy.kept or 'none'}."
    )


def _spans(reading: Reading, copy: _Copy) -> dict[str, object]:
    """One mark per token of the match, its source and the draft."""
    marks = [(copy.start + i, "@law") for i in range(copy.ngram)]
    marks += [(copy.end - copy.ngram + i, "@law") for i in range(copy.ngram)]
    for first in (copy.begin, copy.end):
        marks += [
            (first + i, "@accepted" if i < copy.kept else "@faint") for i in range(copy.length)
        ]
    colours = dict(marks)
    text = [
        *text_before(reading.trace, reading.round.index, copy.end),
        *reading.round.nodes.token[1:],
    ]
    places = sorted(place for place in colours if place < len(text))
    return {
        "type": "scatter",
        "mode": "markers",
        "x": places,
        "y": [0] * len(places),
        "marker": {"symbol": "square", "size": 7, "color": [colours[place] for place in places]},
        "hoverinfo": "text",
        "hovertext": [
            f"{place:,}: {chart_text(alone(reading.vocabulary.label(text[place])))}"
            for place in places
        ],
    }


def _layout(copy: _Copy) -> dict[str, object]:
    last = copy.end + copy.length
    source, target = copy.begin + (copy.length - 1) / 2, copy.end + (copy.length - 1) / 2
    room = max(1.0, (last - copy.start) * 0.03)
    x: dict[str, object] = {
        "range": [copy.start - room, last + room],
        "tickvals": [copy.begin, copy.end],
        "ticktext": [f"from {copy.begin:,}", f"to {copy.end:,}"],
    }
    y: dict[str, object] = {"range": [-0.25, 1.1], "showticklabels": False}
    figure = layout(84, (8, 8, 4, 20), {"xaxis": x, "yaxis": y})
    arc: dict[str, object] = {
        "type": "path",
        "path": f"M {source},0.14 C {source},1.3 {target},1.3 {target},0.14",
        "line": {"color": "@accepted" if copy.kept else "@faint", "width": 1.4},
    }
    line: dict[str, object] = {
        "type": "line",
        "x0": copy.start - room,
        "x1": last + room,
        "y0": 0,
        "y1": 0,
        "layer": "below",
        "line": {"color": "@hair", "width": 1},
    }
    return figure | {"shapes": [line, arc]}


def _source(reading: Reading, copy: _Copy) -> str:
    """Return the source with its context as safe HTML."""
    first = max(0, copy.start - _CONTEXT)
    text = text_before(reading.trace, reading.round.index, copy.end)
    span = text[first : min(copy.end, copy.begin + copy.length + _CONTEXT)]
    labels = [each.label for each in reading.vocabulary.flow(span)]
    parts = [_tag(label, _kind(first + i, copy)) for i, label in enumerate(labels)]
    before = "… " if first else ""
    after = " …" if first + len(span) < copy.end else ""
    return f'<p class="ds-quote">{before}{_joined(parts)}{after}</p>'


def _kind(place: int, copy: _Copy) -> str:
    if copy.start <= place < copy.start + copy.ngram:
        return "ngram"
    if copy.begin <= place < copy.begin + copy.length:
        return "kept" if place < copy.begin + copy.kept else "copied"
    return ""


def _tag(label: Label, kind: str) -> str:
    space = " " if label["space"] else ""
    text = html.escape(shortened(label)["text"])
    return f'{space}<mark class="ds-quote-{kind}">{text}</mark>' if kind and text else space + text


def _joined(parts: Sequence[str]) -> str:
    return "".join(parts).strip()
