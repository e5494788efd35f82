"""One way of drafting along its tokens: p(H) and Q(H) of growing sets H, and the gap between them.

The x axis is q(H), so that every token is as wide as its q; the widest are drawn below the axis.
Draws traces and shapes for one small plot; knows no round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import PrefixLine, PrefixWay
from viz.figure import chart_text
from viz.numbers import probability

TOP, BOTTOM = 1.04, -0.36  # of the y axis
_BLOCKS, _NAMES = -0.1, -0.27  # where the tokens and their names stand
_LOSS = 0.94  # and the size of the gap, where no curve comes
_SLIT = 0.004  # between two tokens
_PER_LETTER = 0.055  # q that a letter of a name needs in the smallest plot
_LEAST = 3  # letters
_SEEN = 0.005  # least gap that is marked


@dataclass(frozen=True, slots=True)
class Plot:
    """A small plot: its axes by name (`x3`, `y3`), and the names of the line's tokens."""

    line: PrefixLine
    way: PrefixWay
    names: Sequence[str]
    x: str
    y: str

    @property
    def lost(self) -> float:
        return 1 - self.way.optimum

    def traces(self) -> list[dict[str, object]]:
        mass, target, inside = self.line.mass, self.line.target, self.way.inside
        upper = [max(p, q) for p, q in zip(target, inside, strict=True)]
        gap: dict[str, object] = {"fill": "tonexty", "fillcolor": "@cut", "line": {"width": 0}}
        told = [
            f"q(H) {probability(x)}: p(H) {probability(p)}, all drafts in H {probability(q)}"
            for x, p, q in zip(mass, target, inside, strict=True)
        ]
        hover: dict[str, object] = {"hoverinfo": "text", "hovertext": told}
        solid: dict[str, object] = {"line": {"color": "@law", "width": 2}}
        dashed: dict[str, object] = {"line": {"color": "@law", "width": 1.3, "dash": "4px 2.5px"}}
        return [
            self._curve(target, {"line": {"width": 0}, "hoverinfo": "skip"}),
            self._curve(upper, {**gap, "hoverinfo": "skip"}),
            self._curve(inside, {"name": "Q(H)", **dashed, **hover}),
            self._curve(target, {"name": "p(H)", **solid, **hover}),
            self._tokens(),
        ]

    def _curve(self, y: Sequence[float], more: dict[str, object]) -> dict[str, object]:
        drawn: dict[str, object] = {"type": "scatter", "mode": "lines", "x": self.line.mass, "y": y}
        return drawn | {"xaxis": self.x, "yaxis": self.y} | more

    def _tokens(self) -> dict[str, object]:
        """Return what answers to the pointer: the middle of every wide token."""
        spans = list(zip(self.line.begin, self.line.end, strict=True))
        return {
            "type": "scatter",
            "mode": "markers",
            "x": [(begin + end) / 2 for begin, end in spans],
            "y": [_BLOCKS] * len(spans),
            "marker": {"size": 9, "opacity": 0},
            "hoverinfo": "text",
            "hovertext": [
                f"{chart_text(name)}: q {probability(end - begin)}"
                for name, (begin, end) in zip(self.names, spans, strict=True)
            ],
            "xaxis": self.x,
            "yaxis": self.y,
        }

    def shapes(self) -> list[dict[str, object]]:
        """Return the tokens as blocks, the ground line, and the largest gap."""
        blocks = [
            self._line((begin + _SLIT, _BLOCKS), (end - _SLIT, _BLOCKS), "@faint", 5)
            for begin, end in zip(self.line.begin, self.line.end, strict=True)
            if end - begin > 3 * _SLIT
        ]
        ground = self._line((0, 0), (1, 0), "@hair", 1)
        if self.lost < _SEEN:
            return [ground, *blocks]
        x, p, q = self._widest()
        return [ground, *blocks, self._line((x, p), (x, q), "@rejected", 2.5)]

    def _widest(self) -> tuple[float, float, float]:
        at = self.way.widest
        return self.line.mass[at], self.line.target[at], self.way.inside[at]

    def _line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float
    ) -> dict[str, object]:
        return {
            "type": "line",
            "xref": self.x,
            "yref": self.y,
            "x0": start[0],
            "y0": start[1],
            "x1": end[0],
            "y1": end[1],
            "line": {"color": colour, "width": width},
        }

    def annotations(self) -> list[dict[str, object]]:
        """Return the names of the widest tokens below the curves, and the size of the gap."""
        names = [
            self._text((begin + end) / 2, _NAMES, chart_text(short), {"font": {"size": 11}})
            for name, begin, end in zip(self.names, self.line.begin, self.line.end, strict=True)
            if (short := _fitted(name, end - begin))
        ]
        if self.lost < _SEEN:
            return names
        below: dict[str, object] = {
            "xanchor": "left",
            "xshift": 4,
            "font": {"size": 12, "color": "@rejected"},
        }
        return [*names, self._text(0, _LOSS, f"{probability(self.lost)} lost", below)]

    def _text(self, x: float, y: float, text: str, more: dict[str, object]) -> dict[str, object]:
        return {
            "xref": self.x,
            "yref": self.y,
            "x": x,
            "y": y,
            "text": text,
            "showarrow": False,
        } | more


def _fitted(name: str, width: float) -> str:
    """Return as much of a name as fits `width` of the axis, nothing where it is too narrow."""
    letters = int(width / _PER_LETTER)
    if letters < min(_LEAST, len(name)):
        return ""
    return name if len(name) <= letters else name[: letters - 1] + "…"
