"""DynaSD: the mask of the largest tree, and its upper left block that a draft which ended early
needs. Nodes are numbered level by level, so that whole levels are such a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from core.extras import LevelsExtras
from viz.figure import Axes, layout
from viz.numbers import count
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.rule_longest import REASONS

ORDER = 14
_MOST = 64  # nodes of a mask that is drawn
_SIDE = 190  # px
_EDGES = (28, 8, 20, 4)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose strands ended before the largest tree was full."""
    extra = next((e for e in reading.round.extras if isinstance(e, LevelsExtras)), None)
    if extra is None or not set(reading.round.nodes.reason[1:]) & REASONS:
        return None
    sizes = [prod(extra.widths[:level]) for level in range(1, 1 + len(extra.widths))]
    ends = list(accumulate([1, *sizes]))  # nodes of so many whole levels, the root's included
    size = reading.round.drafted + 1
    if size not in ends[1:-1] or ends[-1] > _MOST:
        return None
    told = (
        f"Of {count(ends[-1], 'node')} the draft made the first {size}: its mask is the block of "
        f"{size} by {size} at the upper left."
    )
    return {
        "section": {
            "head": "The mask, sliced",
            "note": "Who sees whom in the largest tree, level by level: a row sees the filled "
            "columns.",
            "figure": _figure(_parents(extra.widths), size, ends),
            "foot": told,
            "legend": [],
            "alt": told,
        },
        "html": "",
        "aside": True,
    }


def _parents(widths: Sequence[int]) -> list[int]:
    """Return the parents of the largest tree, level by level."""
    parents, level = [-1], [0]
    for width in widths:
        first = len(parents)
        parents += [node for node in level for _ in range(width)]
        level = list(range(first, len(parents)))
    return parents


def _figure(parents: Sequence[int], size: int, ends: Sequence[int]) -> Figure:
    whole = len(parents)
    seen: list[set[int]] = []
    for node, parent in enumerate(parents):
        seen.append({node} | (seen[parent] if parent >= 0 else set()))
    cells = [
        [(2 if node < size else 1) if other in seen[node] else None for other in range(whole)]
        for node in range(whole)
    ]
    middles = [(begin + end - 1) / 2 for begin, end in zip([0, *ends], ends, strict=False)]
    axes: Axes = {
        "xaxis": {"range": [-0.5, whole - 0.5], "showticklabels": False},
        "yaxis": {
            "range": [whole - 0.5, -0.5],
            "tickvals": middles,
            "ticktext": ["text", "root", *(str(depth) for depth in range(1, len(ends) - 1))],
        },
    }
    mask: dict[str, object] = {
        "type": "heatmap",
        "name": "mask",
        "z": cells,
        "zmin": 1,
        "zmax": 2,
        "colorscale": [[0, "@faint"], [1, "@law"]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "skip",
    }
    block: dict[str, object] = {
        "type": "rect",
        "x0": -0.5,
        "y0": -0.5,
        "x1": size - 0.5,
        "y1": size - 0.5,
        "fillcolor": "@kept",
        "line": {"width": 1.4, "color": "@accepted"},
        "layer": "below",
    }
    drawn = layout(_SIDE + _EDGES[2] + _EDGES[3], _EDGES, axes)
    return {"data": [mask], "layout": drawn | {"shapes": [block]}}
