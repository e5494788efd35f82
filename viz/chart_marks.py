"""The marks of node states as a chart can draw them: one symbol, fill and outline per state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viz.payload import NodeState


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker: its symbol, its size in px, and the theme keys of fill and outline."""

    symbol: str
    size: float
    fill: str
    outline: str

    def marker(self) -> dict[str, object]:
        """Return the marker of a trace."""
        return {
            "symbol": self.symbol,
            "size": self.size,
            "color": self.fill,
            "line": {"width": 1.6, "color": self.outline},
            "opacity": 1,
        }


MARKS: Mapping[NodeState, Mark] = {
    "accepted": Mark("circle", 13, "@accepted", "@accepted"),
    "relaxed": Mark("circle", 13, "@relaxed", "@relaxed-text"),
    "rejected": Mark("circle-x-open", 13, "@rejected", "@rejected"),
    "unreached": Mark("circle-open", 8, "@mute", "@mute"),
    "correction": Mark("diamond", 12, "@correction", "@correction"),
    "bonus": Mark("cross", 12, "@bonus", "@bonus"),
}
