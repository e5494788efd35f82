"""The plot of a training, as a small SVG: loss over the steps, acceptance by depth over the epochs.

It knows numbers and a frame, nothing of models.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from core.train.report import Epoch, StepLine

Point = tuple[float, float]
Label = tuple[str, Point, str]  # words, where, colour

_WIDTH, _HEIGHT = 760, 280
_TOP, _BOTTOM = 40, 236
_PANELS = ((52, 330), (432, 676))  # left and right edge of either panel
_MOST_POINTS = 160  # of a curve
_LINE = 13  # height of a line of text
_INK, _FAINT = "#3b3f45", "#c9ccd1"
_LOSS = "#4f6d8f"
_DEPTHS = ("#1b4f72", "#2e7d6b", "#8a6d1f", "#a04a3c", "#6b4a8c", "#5a6068", "#36648b", "#7b5d4a")


def plot(steps: Sequence[StepLine], epochs: Sequence[Epoch]) -> str:
    """Return the SVG. Needs one epoch at least."""
    body = [*_losses(steps, epochs), *_acceptance(epochs)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12" '
        f'fill="{_INK}" role="img" aria-label="Loss by step, and acceptance by epoch">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n' + "\n".join(body) + "\n"
        "</svg>\n"
    )


def _losses(steps: Sequence[StepLine], epochs: Sequence[Epoch]) -> Iterator[str]:
    trained = thinned([(line.step, line.loss) for line in steps])
    held = [(float(epoch.step), epoch.held_out) for epoch in epochs]
    both = [*trained, *held]
    frame = _Frame(_PANELS[0], max(x for x, _ in both), *_span([y for _, y in both]))
    yield from frame.axes("loss", "steps")
    yield frame.line(trained, _LOSS, 1.2)
    yield from frame.dots(held, _INK)
    yield from frame.labels(
        [("held out", held[-1], _INK), *(("trained", p, _LOSS) for p in trained[-1:])]
    )


def _acceptance(epochs: Sequence[Epoch]) -> Iterator[str]:
    frame = _Frame(_PANELS[1], max(2.0, float(len(epochs))), 0.0, 1.0, first=1.0)
    yield from frame.axes("accepted where reached, held out", "epochs")
    labels: list[Label] = []
    for depth in range(max(len(epoch.accepted) for epoch in epochs)):
        counts = [(i, epoch.accepted[depth]) for i, epoch in enumerate(epochs, 1)]
        points = [(float(i), right / tried) for i, (right, tried) in counts if tried]
        if points:
            colour = _DEPTHS[depth % len(_DEPTHS)]
            yield frame.line(points, colour, 1.6)
            yield from frame.dots(points, colour)
            labels.append((f"token {depth + 1}", points[-1], colour))
    yield from frame.labels(labels)


class _Frame:
    """A panel's axes: from data to places."""

    def __init__(
        self, edges: tuple[int, int], last: float, low: float, high: float, first: float = 0.0
    ) -> None:
        self._left, self._right = edges
        self._first, self._last, self._low, self._high = first, last, low, high

    def x(self, value: float) -> float:
        share = (value - self._first) / max(1e-9, self._last - self._first)
        return self._left + share * (self._right - self._left)

    def y(self, value: float) -> float:
        share = (value - self._low) / max(1e-9, self._high - self._low)
        return _BOTTOM - min(1.0, max(0.0, share)) * (_BOTTOM - _TOP)

    def labels(self, labels: Sequence[Label]) -> Iterator[str]:
        """Name points at their right, from the highest down, no two over each other."""
        above = -math.inf
        for words, (x, y), colour in sorted(labels, key=lambda label: -label[1][1]):
            above = max(self.y(y) + 4, above + _LINE)
            yield _text(self.x(x) + 8, above, words, colour)

    def line(self, points: Sequence[Point], colour: str, width: float) -> str:
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    def dots(self, points: Sequence[Point], colour: str) -> Iterator[str]:
        for x, y in points:
            yield f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="2.5" fill="{colour}"/>'

    def axes(self, title: str, below: str) -> Iterator[str]:
        yield _text(self._left, _TOP - 16, title, _INK)
        for value in ticks(self._low, self._high):
            y = self.y(value)
            yield (
                f'<line x1="{self._left}" x2="{self._right}" y1="{y:.1f}" y2="{y:.1f}" '
                f'stroke="{_FAINT}" stroke-width="0.6"/>'
            )
            yield _text(self._left - 6, y + 4, f"{value:g}", _INK, "end")
        yield _text(self._left, _BOTTOM + 18, f"{self._first:g}", _INK)
        yield _text(self._right, _BOTTOM + 18, f"{self._last:,.0f} {below}", _INK, "end")


def thinned(points: Sequence[Point]) -> list[Point]:
    """Return means of neighbours, few enough to draw."""
    size = math.ceil(len(points) / _MOST_POINTS)
    parts = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [
        (math.fsum(x for x, _ in part) / len(part), math.fsum(y for _, y in part) / len(part))
        for part in parts
    ]


def ticks(low: float, high: float) -> list[float]:
    """Return some round numbers from `low` to `high`."""
    rough = max(1e-9, high - low) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if size * times >= rough)
    return [round(i * step, 9) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the range to draw: the first steps' loss, far above the rest, may leave it."""
    ranked = sorted(values)
    low, high = ranked[0], ranked[max(0, math.ceil(0.98 * len(ranked)) - 1)]
    return low - 0.05 * (high - low), high + 0.05 * (high - low) + 1e-6


def _text(x: float, y: float, words: str, colour: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
