"""VocabTrim: which tokens the drafter can name, what the text wanted beside them, and what the cut
is worth.

Above the frequency of the target's tokens, the most frequent first, with the cut; below, over the
same axis, the memory-bound speed-up for every cut. Under both the text so far: a token outside the
draft vocabulary is outlined, since no draft could have been kept there.
"""

from __future__ import annotations

import html
from math import log10

from core.extras import TrimExtras
from viz.chart_tokens import note
from viz.figure import CLEAR, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import shortened
from viz.trim_gains import Gains, gains, trim_block

ORDER = 12
_CURVE, _GAIN, _HEAD, _FOOT = 104, 104, 24, 26  # px: the two panels, a head over each, the axis
_TOKENS = 96  # of the text
_LATE = 0.94  # share of the axis from which there is no room for words on the right
_NEAR = 0.62  # share of the axis from which words stand on the left of what they name


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose drafter names a part of the vocabulary."""
    extra = trim_block(reading.round)
    if extra is None or not extra.rank:
        return None
    found = gains(reading, extra)
    told = " ".join([_covered(extra), *_worth(extra, found)])
    return {
        "section": {
            "head": "A draft vocabulary cut short",
            "note": "Tokens by how often the target writes them; the drafter has rows for those "
            "left of the line."
            + (" Below: speed-up for any cut, by the memory that is read." if found else "")
            + " Outlined in the text: the target's token had no row, so that a draft there was "
            "lost for sure.",
            "figure": _figure(extra, found),
            "foot": told,
            "legend": [],
            "alt": told,
        },
        "html": _text(reading),
    }


def _figure(extra: TrimExtras, found: Gains | None) -> Figure:
    seen = [i for i, number in enumerate(extra.count) if number]
    curve: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "frequency",
        "x": [extra.rank[i] for i in seen],
        "y": [extra.count[i] for i in seen],
        "line": {"color": "@law", "width": 1.8},
        "hoverinfo": "text",
        "hovertext": [
            f"Token {extra.rank[i]:,}: written {count(extra.count[i], 'time')}; up to it "
            f"{probability(extra.share[i])} of the text"
            for i in seen
        ],
    }
    return {
        "data": [curve, *([] if found is None else _speedups(extra, found))],
        "layout": _layout(extra, found),
    }


def _speedups(extra: TrimExtras, found: Gains) -> list[dict[str, object]]:
    line: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "speed-up",
        "x": list(found.ranks),
        "y": list(found.modelled),
        "yaxis": "y2",
        "line": {"color": "@law", "width": 1.8},
        "hoverinfo": "text",
        "hovertext": [
            f"{count(rank, 'token')}: {gain:.2f} times"
            for rank, gain in zip(found.ranks, found.modelled, strict=True)
        ],
    }
    best = found.best
    most = _point("best", found.ranks[best], found.modelled[best], "@paper", "@law")
    own = _point("this run", extra.kept, found.own, "@accepted", "@accepted")
    return [line, most, own]


def _point(name: str, x: int, y: float, fill: str, line: str) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x],
        "y": [y],
        "yaxis": "y2",
        "marker": {"size": 10, "color": fill, "line": {"width": 2, "color": line}, "opacity": 1},
        "hoverinfo": "text",
        "hovertext": [f"{name}: {count(x, 'token')}, {y:.2f} times"],
        "cliponaxis": False,
    }


def _layout(extra: TrimExtras, found: Gains | None) -> dict[str, object]:
    panels = 1 if found is None else 2
    inner = panels * _HEAD + _CURVE + (_GAIN if found else 0)
    low, gap = (_GAIN / inner, (_GAIN + _HEAD) / inner) if found else (0.0, 0.0)
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "type": "log",
            "range": [0, _log(extra.size) + 0.02],
            "tickvals": [10**power for power in range(_digits(extra.size))],
            "ticktext": [f"{10**power:,}" for power in range(_digits(extra.size))],
            "anchor": "y2" if found else "y",
        },
        "yaxis": {
            "type": "log",
            "domain": [gap, gap + _CURVE / inner],
            "range": [0, _log(max(10, *extra.count)) + 0.06],
            "tickvals": [10**p for p in range(0, _digits(max(10, *extra.count)), 2)],
        },
    }
    if found is not None:
        every = [*found.modelled, found.own, 1.0]
        margin = 0.12 * (max(every) - min(every)) or 0.1
        axes["yaxis2"] = {
            "domain": [0, low],
            "range": [min(every) - margin, max(every) + 2 * margin],  # room for a word on top
            "nticks": 4,
        }
    return layout(inner + _FOOT, (40, 8, 0, _FOOT), axes) | {
        "shapes": [_gone(extra), _cut(extra), *([_plain()] if found else [])],
        "annotations": _names(extra, found, gap + _CURVE / inner, low),
    }


def _log(value: int) -> float:
    """Return the place of a number on an axis of powers of ten."""
    return log10(max(1, value))


def _digits(value: int) -> int:
    return len(str(value))


def _gone(extra: TrimExtras) -> dict[str, object]:
    """Return the ground behind the tokens that have no row."""
    return {
        "type": "rect",
        "yref": "paper",
        "x0": extra.kept,
        "x1": max(extra.kept, extra.size),
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "fillcolor": "@panel",
        "line": {"width": 0},
    }


def _cut(extra: TrimExtras) -> dict[str, object]:
    return {
        "type": "line",
        "yref": "paper",
        "x0": extra.kept,
        "x1": extra.kept,
        "y0": 0,
        "y1": 1,
        "line": {"color": "@rejected", "width": 1.6},
    }


def _plain() -> dict[str, object]:
    return {
        "type": "line",
        "xref": "paper",
        "yref": "y2",
        "x0": 0,
        "x1": 1,
        "y0": 1,
        "y1": 1,
        "line": {"color": "@hair", "width": 1},
    }


def _names(
    extra: TrimExtras, found: Gains | None, top: float, low: float
) -> list[dict[str, object]]:
    """Name the panels, the cut, and the best of the cuts."""
    above: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 5,
        "xshift": -2,
    }
    heads = [note(0, top, "How often the target writes it", "@ink", bold=True) | above]
    if found is None:
        return [*heads, _beside_cut(extra)]
    heads.append(note(0, low, "Memory-bound speed-up for a cut there", "@ink", bold=True) | above)
    return [*heads, _beside_cut(extra), _best(extra, found), _own(extra, found)]


def _beside_cut(extra: TrimExtras) -> dict[str, object]:
    is_late = _log(extra.kept) > _NEAR * _log(extra.size)
    side: dict[str, object] = {"xanchor": "right", "xshift": -5} if is_late else {"xshift": 5}
    where: dict[str, object] = {"yref": "paper", "yanchor": "top", "yshift": -_HEAD}
    return note(_log(extra.kept), 1, f"cut at {extra.kept:,}", "@rejected") | where | side


def _best(extra: TrimExtras, found: Gains) -> dict[str, object]:
    """Name the best cut, above its point; the text below says where it is."""
    rank, gain = found.ranks[found.best], found.modelled[found.best]
    is_last = _log(rank) > _LATE * _log(extra.size)
    side: dict[str, object] = {"xanchor": "right" if is_last else "center"}
    above: dict[str, object] = {"yref": "y2", "yanchor": "bottom", "yshift": 5, "bgcolor": CLEAR}
    return note(_log(rank), gain, f"best {gain:.2f}", "@ink") | above | side


def _own(extra: TrimExtras, found: Gains) -> dict[str, object]:
    is_early = _log(extra.kept) < (1 - _NEAR) * _log(extra.size)
    side: dict[str, object] = {"xshift": 9} if is_early else {"xanchor": "right", "xshift": -9}
    words = note(_log(extra.kept), found.own, f"this run {found.own:.2f}", "@accepted")
    return words | {"yref": "y2", "bgcolor": "@paper", "borderpad": 0} | side


def _covered(extra: TrimExtras) -> str:
    return (
        f"The drafter names {extra.kept:,} of {count(extra.size, 'token')}, which make up "
        f"{100 * extra.covered:.1f} % of the {extra.counted:,} that were counted."
    )


def _worth(extra: TrimExtras, found: Gains | None) -> list[str]:
    if found is None:
        return []
    rank, gain = found.ranks[found.best], found.modelled[found.best]
    share = (extra.rest + extra.row * extra.kept) / extra.target
    return [
        f"So far {found.wrote:.2f} tokens a round with {found.drafted:.1f} drafted by a drafter of "
        f"{probability(share, 2)} of the target's size: a memory-bound speed-up of "
        f"{found.own:.2f}.",
        f"With {probability(found.inside, 2)} of the drafts right where there is a row, a cut at "
        f"{rank:,} would do best: {gain:.2f}.",
    ]


def _text(reading: Reading) -> str:
    """Return the text so far, the tokens outside outlined, as safe HTML."""
    sequence = reading.round.sequence
    so_far = reading.trace.rounds[: reading.round.index + 1]
    found: list[tuple[int, bool]] = []
    for r in reversed([r for r in so_far if r.sequence == sequence]):
        block = trim_block(r)
        marks = block.outside if block else [False] * len(r.outcome.emitted)
        found = [*zip(r.outcome.emitted, marks, strict=True), *found]
        if len(found) >= _TOKENS:
            break
    shown = found[-_TOKENS:]
    labels = [each.label for each in reading.vocabulary.flow([token for token, _ in shown])]
    parts: list[str] = []
    owed = False  # a character is shown at the last of its tokens
    for label, (_, is_outside) in zip(labels, shown, strict=True):
        space = " " if label["space"] else ""
        text = html.escape(shortened(label)["text"])
        owed = owed or is_outside
        if owed and text:
            text, owed = f'<mark class="ds-quote-outside">{text}</mark>', False
        parts.append(space + text)
    before = "… " if len(found) > len(shown) else ""
    return f'<p class="ds-quote">{before}{"".join(parts).strip()}</p>'
