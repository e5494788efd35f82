"""Drafting with a part of the target: a tick per layer, hops over skipped ones, the exit."""

from __future__ import annotations

from collections.abc import Sequence

from core.extras import LayersExtras
from viz.figure import layout
from viz.numbers import count
from viz.payload import Picture
from viz.reading import Reading

ORDER = 30
_HEAD = "Which layers draft"
_PITCH = 26


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that drafted with its own layers."""
    extra = next((e for e in reading.round.extras if isinstance(e, LayersExtras)), None)
    if extra is None or not extra.total:
        return None
    rows = _rows(extra)
    words = " ".join(_told(extra))
    return {
        "section": {
            "head": _HEAD,
            "note": _note(extra),
            "figure": {"data": [_ticks(extra, rows)], "layout": _layout(extra, rows)},
            "foot": words,
            "legend": [],
            "alt": words,
        },
        "html": "",
        "aside": True,
    }


def _note(extra: LayersExtras) -> str:
    """Say how to read the ticks, as far as the round needs it."""
    told = "A tick is a layer of the target that runs while drafting"
    told += "; a hop is skipped" if any(_skipped(extra)) else ""
    told += ", a pale tick is left out." if _exit(extra) < extra.total else "."
    return told + (" Blue ticks are not run again to verify." if extra.shared else "")


def _rows(extra: LayersExtras) -> list[tuple[str, frozenset[int]]]:
    """Return the rows from the top: whole layers, or attention and MLP where they differ."""
    attention, mlp = _skipped(extra)
    if attention == mlp:
        return [("layers", attention)]
    return [("attention", attention), ("MLP", mlp)]


def _skipped(extra: LayersExtras) -> tuple[frozenset[int], frozenset[int]]:
    """Return the skipped attention and MLP layers; those behind the exit do not count."""
    parts = (extra.skipped_attention, extra.skipped_mlp)
    attention, mlp = [frozenset(n for n in part if n < _exit(extra)) for part in parts]
    return attention, mlp


def _exit(extra: LayersExtras) -> int:
    return extra.total if extra.exit_layer is None else extra.exit_layer


def _ticks(extra: LayersExtras, rows: Sequence[tuple[str, frozenset[int]]]) -> dict[str, object]:
    found = [
        (layer, -row, name, _colour(extra, layer))
        for row, (name, skipped) in enumerate(rows)
        for layer in range(extra.total)
        if layer not in skipped
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [layer for layer, _, _, _ in found],
        "y": [row for _, row, _, _ in found],
        "marker": {
            "symbol": "line-ns",
            "size": 12,
            "color": [colour for _, _, _, colour in found],
            "line": {"width": 5, "color": [colour for _, _, _, colour in found]},
        },
        "hoverinfo": "text",
        "hovertext": [f"Layer {layer}, {name}" for layer, _, name, _ in found],
    }


def _colour(extra: LayersExtras, layer: int) -> str:
    if layer >= _exit(extra):
        return "@hair"
    return "@accepted" if layer < extra.shared else "@law"


def _layout(extra: LayersExtras, rows: Sequence[tuple[str, frozenset[int]]]) -> dict[str, object]:
    x: dict[str, object] = {
        "range": [-1, extra.total],
        "tickvals": sorted({0, extra.total - 1, *range(0, extra.total, max(1, extra.total // 6))}),
    }
    y: dict[str, object] = {
        "range": [0.4 - len(rows), 0.9],
        "tickvals": [-row for row in range(len(rows))],
        "ticktext": [name for name, _ in rows],
    }
    hops = [
        _hop(first, last, -row)
        for row, (_, skipped) in enumerate(rows)
        for first, last in _runs(skipped)
        if first < _exit(extra)
    ]
    shapes = [*hops, *([] if extra.exit_layer is None else [_leaving(extra.exit_layer, len(rows))])]
    figure = layout(_PITCH * (len(rows) + 0.5) + 26, (64, 8, 2, 22), {"xaxis": x, "yaxis": y})
    return figure | {"shapes": shapes}


def _runs(layers: frozenset[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of neighbours."""
    found: list[tuple[int, int]] = []
    for layer in sorted(layers):
        if found and found[-1][1] == layer - 1:
            found[-1] = (found[-1][0], layer)
        else:
            found.append((layer, layer))
    return found


def _hop(first: int, last: int, row: int) -> dict[str, object]:
    left, right, top = first - 0.6, last + 0.6, row + 0.75
    return {
        "type": "path",
        "path": f"M {left},{row} C {left},{top} {right},{top} {right},{row}",
        "line": {"color": "@rejected", "width": 1.8},
    }


def _leaving(layer: int, rows: int) -> dict[str, object]:
    return {
        "type": "line",
        "x0": layer - 0.5,
        "x1": layer - 0.5,
        "y0": 0.45 - rows,
        "y1": 0.6,
        "line": {"color": "@rejected", "width": 1.8},
    }


def _told(extra: LayersExtras) -> list[str]:
    found: list[str] = []
    if extra.exit_layer is not None:
        layers = count(extra.exit_layer, "layer")
        found.append(f"The draft leaves after {layers} of {extra.total:,}.")
    skipped = sum(map(len, _skipped(extra)))
    if skipped:
        found.append(f"{skipped:,} of {2 * _exit(extra):,} sublayers are skipped.")
    if extra.shared:
        layers = count(extra.shared, "layer")
        found.append(f"The verify call takes over the first {layers}.")
    return found or [f"All {count(extra.total, 'layer')} run."]
