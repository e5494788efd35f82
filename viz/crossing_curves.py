"""K-SEQ at one node as a small plot: what K candidates would take of p for every factor, what they
may, and where the two meet. Draws traces and shapes; knows no round.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.extras import KSeqNode
from viz.numbers import probability

_ROOM = 1.12  # of the y axis above the largest value
_LEAST = 0.05  # that the y axis shows
_NEAR = 0.62  # share of the width from which the root's label stands on its left


@dataclass(frozen=True, slots=True)
class Crossing:
    """A plot on the axes `x` and `y` (`x2`, `y2`)."""

    node: KSeqNode
    x: str
    y: str

    @property
    def top(self) -> float:
        """Return where the y axis ends."""
        node = self.node
        return min(1.04, max(_LEAST, _ROOM * max(node.best, node.accept, node.reach[0])))

    def traces(self) -> list[dict[str, object]]:
        node = self.node
        told = [
            f"ρ {rho:.2f}: would take {probability(reach)}, may take {probability(spent)}"
            for rho, reach, spent in zip(node.grid, node.reach, node.spent, strict=True)
        ]
        hover: dict[str, object] = {"hoverinfo": "text", "hovertext": told}
        point: dict[str, object] = {
            "type": "scatter",
            "mode": "markers",
            "name": "root",
            "x": [node.rho],
            "y": [node.accept],
            "xaxis": self.x,
            "yaxis": self.y,
            "marker": {"size": 9, "color": "@ink"},
            "hoverinfo": "text",
            "hovertext": [f"ρ* {node.rho:.3f}: keeps {probability(node.accept)}"],
        }
        return [
            self._curve("spent", node.spent, {"color": "@law", "width": 1.4, "dash": "4px 3px"}),
            self._curve("reach", node.reach, {"color": "@law", "width": 2}) | hover,
            point,
        ]

    def _curve(self, name: str, y: list[float], line: dict[str, object]) -> dict[str, object]:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": self.node.grid,
            "y": y,
            "xaxis": self.x,
            "yaxis": self.y,
            "line": line,
            "hoverinfo": "skip",
        }

    def shapes(self) -> list[dict[str, object]]:
        """Return the factors that are exact with where they begin, and the most that any rule
        could keep.
        """
        node = self.node
        region: dict[str, object] = {
            "type": "rect",
            "xref": self.x,
            "yref": f"{self.y} domain",
            "x0": node.rho,
            "x1": node.drafts,
            "y0": 0,
            "y1": 1,
            "fillcolor": "@sel",
            "line": {"width": 0},
            "layer": "below",
        }
        start: dict[str, object] = {
            "type": "line",
            "xref": self.x,
            "yref": f"{self.y} domain",
            "x0": node.rho,
            "x1": node.rho,
            "y0": 0,
            "y1": 1,
            "line": {"color": "@accepted", "width": 1.2},
            "layer": "below",
        }
        best: dict[str, object] = {
            "type": "line",
            "xref": f"{self.x} domain",
            "yref": self.y,
            "x0": 0,
            "x1": 1,
            "y0": node.best,
            "y1": node.best,
            "line": {"color": "@mute", "width": 1.2, "dash": "1.5px 2.5px"},
        }
        return [region, start, best]

    def annotations(self) -> list[dict[str, object]]:
        node = self.node
        share = (node.rho - 1) / max(1, node.drafts - 1)
        left = share > _NEAR
        point: dict[str, object] = {
            "xref": self.x,
            "yref": f"{self.y} domain",
            "x": node.rho,
            "y": 0,
            "xanchor": "right" if left else "left",
            "yanchor": "bottom",
            "xshift": -6 if left else 6,
            "yshift": 6,
            "text": f"<b>ρ* {node.rho:.2f}</b> keeps {probability(node.accept)}",
            "font": {"size": 11, "color": "@ink"},
            "showarrow": False,
        }
        return [point]
