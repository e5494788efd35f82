"""Kangaroo: which layers ran on which token, and when; and how sure the adapter was of each.

Above a bar per token, as high as the target has layers: pale what ran while drafting, dark what the
verify call ran in one sweep. Pale parts were taken over, so that nothing there ran twice. Below the
second exit: the share that the adapter gave to each token it drafted, and where that fell below the
threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.extras import AdapterExtras
from viz.chart_tokens import note, token_text
from viz.figure import CLEAR, SHARES, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading
from viz.text import alone, shortened

ORDER = 11
_LETTERS = 8  # of a token below its bar
_MOST = 24  # bars
_WIDE = 7  # bars that the axis has room for at least
_THICK = 0.24  # of the room that a bar has
_LABELS = 12  # names below the bars
_STACK, _TRACE, _HEAD, _FOOT = 132, 76, 22, 24  # px: the two panels, a head over each, the names


@dataclass(frozen=True, slots=True)
class _Bar:
    """One token of the round. `early`: its early layers ran while drafting, and were taken over;
    `given`: the adapter's share of it, None for the root.
    """

    name: str
    label: str
    early: bool
    given: float | None
    state: str


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that the early layers and an adapter drafted."""
    extra = next((e for e in reading.round.extras if isinstance(e, AdapterExtras)), None)
    if extra is None:
        return None
    bars = _bars(reading, extra)
    threshold = _threshold(reading)
    told = " ".join(_told(reading, extra, bars, threshold))
    return {
        "section": {
            "head": "Two exits",
            "note": "A bar per token, as high as the target has layers. Pale: ran while drafting, "
            "up to the first exit, and was taken over. Dark: ran in the one verify call. Below: "
            "how sure the adapter was of each token that it drafted.",
            "figure": _figure(extra, bars, threshold),
            "foot": told,
            "legend": [],
            "alt": f"{told} {_alt(bars)}",
        },
        "html": "",
    }


def _bars(reading: Reading, extra: AdapterExtras) -> list[_Bar]:
    reused = set(extra.node) if reading.round.cost.sublayers_reused else set[int]()
    offered = [n for n in range(reading.size) if reading.state(n) not in ("pruned", "probe")]
    return [
        _Bar(
            token_text(reading.label(node), _LETTERS),
            token_text(reading.label(node)),
            node in reused,
            _given(reading, node) if node else None,
            reading.state(node),
        )
        for node in offered[:_MOST]
    ]


def _given(reading: Reading, node: int) -> float | None:
    """Return the adapter's share of a token; that of temperature 1 where the law in use is sure of
    everything it draws.
    """
    used = reading.round.nodes.q[node]
    return reading.round.nodes.q_raw[node] if reading.greedy or used == 1 else used


def _threshold(reading: Reading) -> float | None:
    """Return the threshold of the second exit: of the stop, else of the method's settings."""
    stop = reading.round.stop
    if stop is not None and stop.reason == "confidence":
        return stop.threshold
    found = reading.trace.config.get("threshold")
    if reading.trace.method != "kangaroo" or not isinstance(found, (int, float)):
        return None
    return float(found) if 0 < found <= 1 else None


def _figure(extra: AdapterExtras, bars: Sequence[_Bar], threshold: float | None) -> Figure:
    early = [place for place, bar in enumerate(bars) if bar.early]
    late = [place for place, bar in enumerate(bars) if not bar.early]
    rest = extra.layers - extra.exit_layer
    deep = f"layers {extra.exit_layer + 1} to {extra.layers}, in the verify call"
    first = f"the first {count(extra.exit_layer, 'layer')}"
    data = [
        _stack("drafting", bars, early, 0, extra.exit_layer, f"{first}, while drafting"),
        _stack("verifying", bars, late, 0, extra.exit_layer, f"{first}, in the verify call"),
        _stack("verifying", bars, range(len(bars)), extra.exit_layer, rest, deep),
    ]
    return {
        "data": [trace for trace in data if trace["x"]] + _trace(bars, threshold),
        "layout": _layout(extra, bars, threshold),
    }


def _stack(
    name: str, bars: Sequence[_Bar], places: Sequence[int], base: int, height: int, told: str
) -> dict[str, object]:
    """Return a part of some bars."""
    is_early = name == "drafting"
    outline = {"width": 1.2, "color": "@accepted"} if is_early else {"width": 0}
    return {
        "type": "bar",
        "name": name,
        "x": list(places),
        "y": [height] * len(places),
        "base": base,
        "width": _THICK,
        "marker": {"color": "@kept" if is_early else "@law", "line": outline},
        "hoverinfo": "text",
        "hovertext": [f"{bars[place].label}: {told}" for place in places],
        "cliponaxis": False,
    }


def _trace(bars: Sequence[_Bar], threshold: float | None) -> list[dict[str, object]]:
    """Return the adapter's shares, those below the threshold apart."""
    known = [(place, bar.given) for place, bar in enumerate(bars) if bar.given is not None]
    line: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "share",
        "x": [place for place, _ in known],
        "y": [share for _, share in known],
        "yaxis": "y2",
        "line": {"color": "@law", "width": 1.6},
        "hoverinfo": "skip",
    }
    low = [(p, s) for p, s in known if threshold is not None and s < threshold]
    high = [(p, s) for p, s in known if threshold is None or s >= threshold]
    return [line, _dots("sure", bars, high), _dots("unsure", bars, low)]


def _dots(name: str, bars: Sequence[_Bar], known: Sequence[tuple[int, float]]) -> dict[str, object]:
    is_low = name == "unsure"
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [place for place, _ in known],
        "y": [share for _, share in known],
        "yaxis": "y2",
        "marker": {
            "symbol": "circle",
            "size": 9 if is_low else 7,
            "color": "@paper" if is_low else "@law",
            "line": {"width": 2, "color": "@rejected" if is_low else "@law"},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [
            f"{bars[p].label}: {probability(share)}, {bars[p].state}" for p, share in known
        ],
        "cliponaxis": False,
    }


def _layout(
    extra: AdapterExtras, bars: Sequence[_Bar], threshold: float | None
) -> dict[str, object]:
    size, width = len(bars), max(len(bars), _WIDE)
    step = max(1, math.ceil(size / _LABELS))
    inner = 2 * _HEAD + _STACK + _TRACE
    upper = (_TRACE + _HEAD) / inner, (_TRACE + _HEAD + _STACK) / inner
    ticks = sorted({0, extra.exit_layer, extra.layers})
    axes: dict[str, dict[str, object]] = {
        "xaxis": {
            "range": [-0.5, width - 0.5],
            "tickvals": list(range(0, size, step)),
            "ticktext": [bar.name for bar in bars[::step]],
            "anchor": "y2",
        },
        "yaxis": {"range": [0, extra.layers], "domain": list(upper), "tickvals": ticks},
        "yaxis2": SHARES | {"range": [0, 1.04], "domain": [0, _TRACE / inner]},
    }
    figure = layout(inner + _FOOT, (30, 8, 0, _FOOT), axes)
    exit_line = _line(extra.exit_layer, "y", "@accepted")
    limit = [] if threshold is None else [_line(threshold, "y2", "@rejected")]
    return figure | {
        "barmode": "overlay",
        "shapes": [_sweep(extra, size), exit_line, *limit],
        "annotations": _names(upper[1], _TRACE / inner, size, extra, threshold),
    }


def _sweep(extra: AdapterExtras, size: int) -> dict[str, object]:
    """Return the ground of what one call ran over all tokens."""
    return {
        "type": "rect",
        "x0": -0.4,
        "x1": size - 0.6,
        "y0": extra.exit_layer,
        "y1": extra.layers,
        "layer": "below",
        "fillcolor": "@panel",
        "line": {"width": 1, "color": "@hair"},
    }


def _line(y: float, axis: str, colour: str) -> dict[str, object]:
    return {
        "type": "line",
        "xref": "paper",
        "yref": axis,
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"color": colour, "width": 1.2, "dash": "1.5px 2.5px"},
    }


def _names(
    top: float, middle: float, size: int, extra: AdapterExtras, threshold: float | None
) -> list[dict[str, object]]:
    """Name the two panels, and their lines where a short draft leaves room at their ends."""
    heads = [
        note(0, top, "Layers", "@ink", bold=True),
        note(0, middle, "The adapter's share", "@ink", bold=True),
    ]
    ends: list[dict[str, object]] = []
    if size < _WIDE:
        middle_of_sweep = (extra.exit_layer + extra.layers) / 2
        sweep = note(size - 0.6, middle_of_sweep, "one verify call", "@mute") | {"xshift": 6}
        ends += [sweep, _end(extra.exit_layer, "y", "first exit", "@accepted")]
        if threshold is not None:
            ends.append(_end(threshold, "y2", f"threshold {threshold:g}", "@rejected"))
    above: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 4,
        "xshift": -2,
    }
    return [*(each | above for each in heads), *ends]


def _end(y: float, axis: str, text: str, colour: str) -> dict[str, object]:
    """Return words at the right end of a line, just above it."""
    beside: dict[str, object] = {"xref": "paper", "xanchor": "right", "yref": axis}
    return note(1, y, text, colour) | beside | {"yanchor": "bottom", "bgcolor": CLEAR}


def _told(
    reading: Reading, extra: AdapterExtras, bars: Sequence[_Bar], threshold: float | None
) -> list[str]:
    early = sum(bar.early for bar in bars)
    told = [f"The draft leaves after {extra.exit_layer:,} of {count(extra.layers, 'layer')}."]
    if early:
        told.append(
            f"The verify call takes over the states of {count(early, 'token')} there, and runs the "
            f"{extra.layers - extra.exit_layer:,} layers behind on {count(len(bars), 'token')}"
            + (", all layers on the last." if early == len(bars) - 1 else ".")
        )
    told += _behind(reading, extra)
    stop = reading.round.stop
    if stop is not None and stop.reason == "confidence" and stop.value is not None:
        last = alone(shortened(reading.label(reading.size - 1), 24))
        told.append(
            f"At the last token, “{last}”, the adapter's share of {probability(stop.value)} fell "
            f"below {threshold:g}: nothing was drafted behind it, but it was checked all the same."
        )
    elif threshold is not None:
        low = bars[-1].given is not None and bars[-1].given < threshold
        fell = "but for the last, behind which there was no room" if low else "so drafting ran on"
        told.append(f"No token fell below {threshold:g}, {fell}.")
    return told


def _behind(reading: Reading, extra: AdapterExtras) -> list[str]:
    """Say what of the text the adapter did not know yet."""
    if extra.taken == 1 and reading.round.index > 1:
        return ["The adapter was one token behind, since all of the last draft stayed."]
    return (
        [f"The adapter took in {count(extra.taken, 'token')} of the text."] if extra.taken else []
    )


def _alt(bars: Sequence[_Bar]) -> str:
    parts = [
        f"{bar.label}, {bar.state}" + ("" if bar.given is None else f", {probability(bar.given)}")
        for bar in bars
    ]
    return f"Tokens and the adapter's shares: {'; '.join(parts)}."
