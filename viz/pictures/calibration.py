"""Can the drafter be trusted: its confidence in a token against how often it was accepted, over all
rounds.

What trees of ranked candidates rest on. A token counts where its parent was accepted, for only
there a verdict was due.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, sqrt

from core.extras import FeatureExtras, OptTreeExtras, PoolExtras, StaticExtras
from core.metrics import offered, wilson
from core.trace import Round, Trace
from viz.figure import layout
from viz.numbers import count
from viz.payload import Picture
from viz.reading import Reading

ORDER = 25
_EDGES = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
_FEW = 5  # tokens below which the dot is hollow
_LEAST, _MOST = 5.0, 15.0  # px of a dot
_HEIGHT = 240
_KINDS = (PoolExtras, OptTreeExtras, StaticExtras, FeatureExtras)


@dataclass(frozen=True, slots=True)
class _Bin:
    """Tokens of like confidence: its mean, how many there are, and how many were accepted."""

    confidence: float
    tries: int
    hits: int

    @property
    def share(self) -> float:
        return self.hits / self.tries

    @property
    def interval(self) -> tuple[float, float]:
        found = wilson(self.hits, self.tries)
        assert found is not None
        return found


def draw(reading: Reading) -> Picture | None:
    """Return the picture for a round that was drafted by ranks, confidences or a trained head."""
    if not any(isinstance(extra, _KINDS) for extra in reading.round.extras):
        return None
    bins = _bins(reading.trace)
    if not bins:
        return None
    told = _told(bins)
    return {
        "section": {
            "head": "Can its confidence be trusted?",
            "note": "Tokens of all rounds whose parent was accepted, by the draft's q at "
            "temperature 1. On the dashed line, q is the share accepted. Lines: 95 % intervals.",
            "figure": {"data": [_diagonal(), _dots(bins), _counts(bins)], "layout": _layout()},
            "foot": told,
            "legend": [("few", f"fewer than {_FEW} tokens")]
            if any(each.tries < _FEW for each in bins)
            else [],
            "alt": " ".join([*map(_words, bins), told]),
        },
        "html": "",
        "aside": True,
    }


def _bins(trace: Trace) -> list[_Bin]:
    pooled: list[list[tuple[float, bool]]] = [[] for _ in range(len(_EDGES) + 1)]
    for r in trace.rounds:
        for confidence, accepted in _verdicts(r):
            pooled[bisect_right(_EDGES, confidence)].append((confidence, accepted))
    return [
        _Bin(fsum(q for q, _ in some) / len(some), len(some), sum(hit for _, hit in some))
        for some in pooled
        if some
    ]


def _verdicts(r: Round) -> Iterator[tuple[float, bool]]:
    """Yield confidence and verdict of the tokens below the accepted path.

    Where the text ended inside the draft, what stands below its end had no verdict.
    """
    path = [0, *r.outcome.accepted]
    decided = set(path if r.outcome.final_token is not None else path[:-1])
    kept, nodes = set(path), r.nodes
    for node, ok in enumerate(offered(nodes)):
        confidence = nodes.q_raw[node]
        if ok and node and confidence is not None and nodes.parent[node] in decided:
            yield confidence, node in kept


def _diagonal() -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "trusted",
        "x": [0, 100],
        "y": [0, 100],
        "line": {"color": "@faint", "width": 1.2, "dash": "4px,3px"},
        "hoverinfo": "skip",
    }


def _dots(bins: list[_Bin]) -> dict[str, object]:
    largest = max(each.tries for each in bins)
    spans = [each.interval for each in bins]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "accepted",
        "x": [round(100 * each.confidence, 2) for each in bins],
        "y": [round(100 * each.share, 2) for each in bins],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [
                round(100 * (high - each.share), 2)
                for each, (_, high) in zip(bins, spans, strict=True)
            ],
            "arrayminus": [
                round(100 * (each.share - low), 2)
                for each, (low, _) in zip(bins, spans, strict=True)
            ],
            "color": "@accepted",
            "thickness": 1.2,
            "width": 3,
        },
        "marker": {
            "size": [
                round(_LEAST + (_MOST - _LEAST) * sqrt(each.tries / largest), 1) for each in bins
            ],
            "color": ["@paper" if each.tries < _FEW else "@accepted" for each in bins],
            "line": {"width": 1.6, "color": "@accepted"},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_words(each) for each in bins],
        "cliponaxis": False,
    }


def _counts(bins: list[_Bin]) -> dict[str, object]:
    """Return how many tokens each dot stands for, in a row on top."""
    return {
        "type": "scatter",
        "mode": "text",
        "name": "counts",
        "x": [round(100 * each.confidence, 2) for each in bins],
        "y": [112] * len(bins),
        "text": [_short(each.tries) for each in bins],
        "textfont": {"size": 11, "color": "@mute"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _short(number: int) -> str:
    return f"{number}" if number < 1000 else f"{number / 1000:.1f}k"


def _words(each: _Bin) -> str:
    return (
        f"Confidence {100 * each.confidence:.0f} %: {each.hits:,} of "
        f"{count(each.tries, 'token')} accepted, {100 * each.share:.0f} %."
    )


def _told(bins: list[_Bin]) -> str:
    """Say where the intervals leave the diagonal."""
    bold = [b for b in bins if b.tries >= _FEW and b.confidence > b.interval[1]]
    shy = [b for b in bins if b.tries >= _FEW and b.confidence < b.interval[0]]
    said = [
        f"{word} {', '.join(f'{100 * b.confidence:.0f} %' for b in some)}"
        for word, some in (("too sure at", bold), ("not sure enough at", shy))
        if some
    ]
    if not said:
        return "No interval misses the line: these rounds give no reason to distrust q."
    return f"By these rounds the drafter is {' and '.join(said)}."


def _layout() -> dict[str, object]:
    percent: dict[str, object] = {
        "tickvals": [0, 25, 50, 75, 100],
        "ticktext": ["0 %", "25 %", "50 %", "75 %", "100 %"],
        "showgrid": True,
        "gridcolor": "@hair",
    }
    x = percent | {"range": [-2, 102], "ticklabeloverflow": "allow"}
    y = percent | {"range": [-4, 118]}
    figure = layout(_HEIGHT, (54, 16, 4, 22), {"xaxis": x, "yaxis": y})
    names = [
        _name("tokens", -2, 112, "right", -6),
        _name("accepted", -2, 89, "right", -6),
        _name("draft q", 101, 4, "right", 0),
    ]
    return figure | {"annotations": names}


def _name(text: str, x: float, y: float, anchor: str, shift: int) -> dict[str, object]:
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "xanchor": anchor,
        "yanchor": "middle",
        "xshift": shift,
        "font": {"size": 11, "color": "@mute"},
    }
