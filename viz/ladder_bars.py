"""The rules for one way of drafting as bars: how often a draft is kept, up to the best possible.

Draws traces for one small plot; knows no round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import Rung
from viz.numbers import probability

RULES = {
    "naive": "naive",
    "recursive": "recursive",
    "k_seq": "K-SEQ",
    "optimum": "best",
}
PLACES = len(RULES)  # bars that a plot has room for
_THICK = 0.62


@dataclass(frozen=True, slots=True)
class Bars:
    """A small plot: its axes by name, the rungs by rule, and whether the best is what was run."""

    rungs: dict[str, Rung]
    in_use: bool
    x: str
    y: str

    def traces(self) -> list[dict[str, object]]:
        best = self.rungs["optimum"].value
        lost = self._bar([1 - best], [self._place("optimum")], {"base": [best]})
        shared: dict[str, object] = {"marker": {"color": "@cut"}, "hoverinfo": "skip"}
        return [self._kept(), lost | shared]

    def axis(self) -> dict[str, object]:
        """Return the y axis, with the rules' names."""
        names = [
            f"<b>{RULES[rule]}</b>" if self._is_run(rule) else RULES[rule] for rule in self.rungs
        ]
        return {
            "range": [PLACES - 0.4, -0.6],
            "tickvals": [self._place(rule) for rule in self.rungs],
            "ticktext": names,
            "tickfont": {"size": 12, "color": "@ink"},
            "ticklabelstandoff": 6,
        }

    def _place(self, rule: str) -> int:
        return list(self.rungs).index(rule)

    def _is_run(self, rule: str) -> bool:
        return self.in_use and rule == "optimum"

    def _kept(self) -> dict[str, object]:
        rungs = list(self.rungs.values())
        colours = ["@accepted" if self._is_run(rule) else "@kept" for rule in self.rungs]
        edges = [1.2 if rule == "optimum" else 0 for rule in self.rungs]
        told = [f"{RULES[rule]}: {acceptance(rung)}" for rule, rung in self.rungs.items()]
        return self._bar(
            [rung.value for rung in rungs],
            list(range(len(rungs))),
            {
                "marker": {"color": colours, "line": {"color": "@accepted", "width": edges}},
                "hoverinfo": "text",
                "hovertext": told,
            },
        )

    def _bar(
        self, x: Sequence[float], y: Sequence[int], more: dict[str, object]
    ) -> dict[str, object]:
        drawn: dict[str, object] = {"type": "bar", "orientation": "h", "x": x, "y": y}
        return drawn | {"width": _THICK, "xaxis": self.x, "yaxis": self.y} | more

    def annotations(self) -> list[dict[str, object]]:
        """Return the numbers, right of the bars."""
        return [
            {
                "xref": self.x,
                "yref": self.y,
                "x": 1,
                "y": place,
                "xanchor": "left",
                "xshift": 6,
                "text": acceptance(rung),
                "showarrow": False,
                "font": {"size": 12, "color": "@ink"},
            }
            for place, rung in enumerate(self.rungs.values())
        ]


def acceptance(rung: Rung) -> str:
    """Return `.812`, and `≈.812` where it is an estimate."""
    return f"{'' if rung.margin is None else '≈'}{probability(rung.value)}"
