"""A transport plan as a map: rows are sets of candidates, columns what is written. Draws traces and
shapes for one map; knows no round.

A cell is shaded by its share of its row: in one colour where a candidate of the set stays, in
another where the target writes a token of its own. Columns that are in the set are outlined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import TransportNode
from viz.numbers import probability

_LEAST = 5e-5  # of a cell that is shown: cells have four decimals
_EDGE = 0.47  # of an outline, from the middle of its cell


@dataclass(frozen=True, slots=True)
class Coupling:
    """The map of some `cells`, on the axes `x` and `y` (`x2`, `y2`); `names` hold no markup."""

    node: TransportNode
    cells: Sequence[Sequence[float]]
    names: Sequence[str]
    x: str
    y: str

    def traces(self) -> list[dict[str, object]]:
        return [self._trace("kept", "@accepted"), self._trace("written", "@correction")]

    def _trace(self, name: str, colour: str) -> dict[str, object]:
        rows, columns = range(len(self.cells)), range(len(self.names))
        return {
            "type": "heatmap",
            "name": name,
            "xaxis": self.x,
            "yaxis": self.y,
            "x": list(columns),
            "y": [-row for row in rows],
            "z": [[self._share(row, column, name) for column in columns] for row in rows],
            "zmin": 0,
            "zmax": 1,
            "colorscale": [[0, "@paper"], [1, colour]],
            "showscale": False,
            "xgap": 3,
            "ygap": 3,
            "hoverinfo": "text",
            "hovertext": [[self._told(row, column) for column in columns] for row in rows],
        }

    def _share(self, row: int, column: int, name: str) -> float | None:
        """Return what part of a row leads to a column, where the cell is of the kind `name`."""
        value, mass = self.cells[row][column], self.node.mass[row]
        if self._is_kept(row, column) != (name == "kept") or value < _LEAST or not mass:
            return None
        return min(1.0, value / mass)

    def _is_kept(self, row: int, column: int) -> bool:
        """Return whether a cell is of candidates; beside a free one there can be any other."""
        members = self.node.sets[row]
        return column in members or members == [self.node.free]

    def _told(self, row: int, column: int) -> str:
        members = ", ".join(self.names[member] for member in self.node.sets[row]) or "none"
        what = "stays" if self._is_kept(row, column) else "is written instead"
        return (
            f"{members} ({probability(self.node.mass[row])}): {self.names[column]} {what}, "
            f"{probability(self.cells[row][column])}"
        )

    def shapes(self) -> list[dict[str, object]]:
        """Return the outlines of the columns in each set."""
        return [
            {
                "type": "rect",
                "xref": self.x,
                "yref": self.y,
                "x0": column - _EDGE,
                "x1": column + _EDGE,
                "y0": -row - _EDGE,
                "y1": -row + _EDGE,
                "line": {"color": "@mute", "width": 1},
            }
            for row, members in enumerate(self.node.sets)
            for column in members
        ]
