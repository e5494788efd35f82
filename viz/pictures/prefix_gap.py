"""How much of the drafts any rule could keep: the unavoidable loss for three ways of drafting, and
beside each the rules, from naive to the best possible.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.extras import PrefixExtras, PrefixLine, PrefixNode, PrefixWay, Rung, Way
from viz.figure import SHARES, Axes, layout
from viz.gap_curves import BOTTOM, TOP, Plot
from viz.ladder_bars import Bars, acceptance
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone, shortened

ORDER = 13
_WAYS: tuple[Way, ...] = ("independent", "distinct", "top_and_one")
_IN_USE: Way = "top_and_one"
_ONE = "one/standard"
_ROW, _HEAD, _FOOT = 128, 24, 8  # pixels of a row, of its head, below its plots
_CURVES, _BARS = (0.0, 0.37), (0.6, 0.89)  # of the width
_LETTERS = 12  # of a token's name
_EDGES = (4, 8, 4, 34)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that records what could be kept; of one draft there is no more
    to say than the overlap.
    """
    extra = next((e for e in reading.round.extras if isinstance(e, PrefixExtras)), None)
    if extra is None or not extra.nodes:
        return None
    shown = next((node for node in extra.nodes if node.rungs), None)
    if shown is None or shown.drafts < 2:
        return None
    words = " ".join(_told(reading, node) for node in extra.nodes)
    return {
        "section": {
            "head": "What any rule could keep",
            "note": f"After {_name(reading, shown.node)}: tokens in order of rising p/q, each as "
            "wide as its q; H are those up to a point. Where all drafts lie in H more often than "
            "the target does, drafts are lost whatever the rule. Bars: how often a draft is kept.",
            "figure": _Figure(reading, shown).figure(),
            "foot": words,
            "legend": [
                ("line", "p(H)"),
                ("dashes", "all drafts in H"),
                ("dots", "one draft alone"),
            ],
            "alt": words,
        },
        "html": "",
    }


def _found(node: PrefixNode, name: Way) -> tuple[PrefixLine, PrefixWay]:
    return next((line, way) for line in node.lines for way in line.ways if way.way == name)


def _best(node: PrefixNode, name: Way) -> float:
    return _found(node, name)[1].optimum


def _rung(node: PrefixNode, name: str) -> Rung:
    return next(rung for rung in node.rungs if rung.name == name)


def _name(reading: Reading, node: int) -> str:
    return f"“{alone(shortened(reading.label(node), _LETTERS))}”"


def _told(reading: Reading, node: PrefixNode) -> str:
    name, best = _name(reading, node.node), probability(_best(node, _IN_USE))
    most = (
        f"{count(node.drafts, 'draft')} made as here are kept {best} of the time, the most that "
        "any rule could keep."
    )
    if not node.rungs:
        return f"After {name} {most}"
    return (
        f"After {name} one draft would be kept {acceptance(_rung(node, _ONE))} of the time; "
        f"{most} Drawn without replacement the most would be "
        f"{probability(_best(node, 'distinct'))}, with replacement "
        f"{probability(_best(node, 'independent'))}."
    )


@dataclass(frozen=True, slots=True)
class _Figure:
    """Three rows, one per way of drafting: curves on the left, bars on the right."""

    reading: Reading
    node: PrefixNode

    def figure(self) -> Figure:
        data, axes = list[dict[str, object]](), Axes()
        shapes, texts = list[dict[str, object]](), list[dict[str, object]]()
        for row, way in enumerate(_WAYS):
            plot, bars = self._plot(row, way), self._bars(row, way)
            data += [*plot.traces(), *bars.traces()]
            shapes += [*plot.shapes(), self._alone(bars)]
            texts += [*plot.annotations(), *bars.annotations(), self._head(row, way)]
            axes |= self._axes(row, bars)
        found = layout(_ROW * len(_WAYS) + _EDGES[2] + _EDGES[3], _EDGES, axes)
        texts += _scales()
        return {
            "data": data,
            "layout": found | {"shapes": shapes, "annotations": texts, "barmode": "overlay"},
        }

    def _plot(self, row: int, name: Way) -> Plot:
        line, way = _found(self.node, name)
        names = [
            alone(shortened(self.reading.candidate(token, self.node.node), _LETTERS))
            for token in line.token
        ]
        return Plot(line, way, names, *_axis(2 * row))

    def _bars(self, row: int, name: Way) -> Bars:
        found = {
            rung.name.partition("/")[2]: rung
            for rung in self.node.rungs
            if rung.name.startswith(f"{name}/")
        }
        order = sorted(
            found, key=lambda rule: (rule == "optimum", rule != "naive", rule != "recursive")
        )
        return Bars({rule: found[rule] for rule in order}, name == _IN_USE, *_axis(2 * row + 1))

    def _alone(self, bars: Bars) -> dict[str, object]:
        value = _rung(self.node, _ONE).value
        return {
            "type": "line",
            "xref": bars.x,
            "yref": f"{bars.y} domain",
            "x0": value,
            "x1": value,
            "y0": 0,
            "y1": 1,
            "line": {"color": "@mute", "width": 1.2, "dash": "1.5px 2.5px"},
        }

    def _head(self, row: int, way: Way) -> dict[str, object]:
        return {
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": 1 - row / len(_WAYS),
            "xanchor": "left",
            "yanchor": "top",
            "text": self._title(way),
            "showarrow": False,
            "font": {"size": 13, "color": "@ink"},
        }

    def _title(self, way: Way) -> str:
        drafts = count(self.node.drafts, "draft")
        if way == "independent":
            return f"{drafts} drawn with replacement"
        if way == "distinct":
            return f"{drafts} drawn without replacement"
        drawn = self.node.drafts - self.node.fixed
        made = f"The likeliest {self.node.fixed}" if self.node.fixed > 1 else "The likeliest"
        made = f"{made}, {drawn} drawn" if self.node.fixed and drawn else made
        return f"<b>{made if self.node.fixed else drafts + ' drawn'}: in use</b>"

    def _axes(self, row: int, bars: Bars) -> Axes:
        top, bottom = (
            1 - (row * _ROW + _HEAD) / _height(),
            1 - ((row + 1) * _ROW - _FOOT) / _height(),
        )
        last = row == len(_WAYS) - 1
        ticks = SHARES | {"range": [0, 1], "showticklabels": last}
        domain: dict[str, object] = {"domain": [bottom, top]}
        left, right = _axis(2 * row), _axis(2 * row + 1)
        return {
            _long(left[0]): ticks | {"domain": list(_CURVES), "anchor": left[1]},
            _long(left[1]): domain
            | {"range": [BOTTOM, TOP], "showticklabels": False, "anchor": left[0]},
            _long(right[0]): ticks | {"domain": list(_BARS), "anchor": right[1]},
            _long(right[1]): domain | bars.axis() | {"anchor": right[0]},
        }


def _height() -> int:
    return _ROW * len(_WAYS)


def _axis(number: int) -> tuple[str, str]:
    """Return the short names of the axes of plot `number`, from 0."""
    end = str(number + 1) if number else ""
    return f"x{end}", f"y{end}"


def _long(name: str) -> str:
    return f"{name[0]}axis{name[1:]}"


def _scales() -> list[dict[str, object]]:
    """Return what the two x axes count."""
    return [
        {
            "xref": "paper",
            "yref": "paper",
            "x": sum(side) / 2,
            "y": 0,
            "yanchor": "top",
            "yshift": -16,
            "text": text,
            "showarrow": False,
        }
        for side, text in ((_CURVES, "q(H)"), (_BARS, "kept"))
    ]
