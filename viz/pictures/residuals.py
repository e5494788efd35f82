"""Recursive rejection as a film: at every visited node, the law before each dart, and what is left.

A token keeps its row through all frames of a node. Shown where a node had several children tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.trace import Check
from viz.figure import CLEAR, chart_text, layout
from viz.laws import laws_at, remains_at
from viz.numbers import probability
from viz.payload import Picture
from viz.reading import Reading
from viz.text import alone

ORDER = 20
_ROWS = 5  # tokens per node
_PITCH = 16  # px
_STEP = 1.28  # from one frame to the next; a frame is 1 wide
_TITLE = 1.4  # rows that a title takes
_GAP = 0.6  # rows between two nodes


@dataclass(frozen=True, slots=True)
class _Frame:
    """A law before a dart, or after the last miss (then `tried` is None)."""

    title: str
    mass: dict[int, float]
    tried: int | None
    state: str


@dataclass(frozen=True, slots=True)
class _Film:
    node: int
    frames: list[_Frame]
    tokens: list[int]
    top: float  # rows from the top of the figure


def draw(reading: Reading) -> Picture | None:
    """Return the film of a round, if a node had two children tried."""
    if reading.greedy:
        return None
    visited = _visited(reading)
    if not any(len(checks) > 1 for checks in visited.values()):
        return None
    films = _films(reading, visited)
    if not films:
        return None
    return {
        "section": {
            "head": "What remains of p, dart by dart",
            "note": "One row of frames per node where a dart missed. A bar is a token's share of "
            "the law that the dart was thrown at; the token tried is coloured.",
            "figure": {
                "data": [_bars(reading, film) for film in films],
                "layout": _layout(reading, films),
            },
            "foot": "",
            "legend": [
                ("accepted", "tried and kept"),
                ("rejected", "tried and rejected"),
                ("residual", "what remains"),
            ],
            "alt": " ".join(_told(reading, film) for film in films),
        },
        "html": "",
    }


def _visited(reading: Reading) -> dict[int, list[Check]]:
    found: dict[int, list[Check]] = {}
    for check in reading.round.checks:
        found.setdefault(reading.parent(check.node), []).append(check)
    return found


def _films(reading: Reading, visited: dict[int, list[Check]]) -> list[_Film]:
    films: list[_Film] = []
    top = 0.0
    for node, checks in visited.items():
        frames = _frames(reading, checks)
        if len(frames) < 2:  # the first dart hit: nothing was taken from p
            continue
        tokens = _chosen(frames)
        films.append(_Film(node, frames, tokens, top))
        top += _TITLE + len(tokens) + _GAP
    return films


def _frames(reading: Reading, checks: Sequence[Check]) -> list[_Frame]:
    frames: list[_Frame] = []
    for place, check in enumerate(checks):
        laws = laws_at(reading, check.node)
        if laws is None:
            return []
        number = reading.check_of[check.node] + 1
        name = "p" if not place else "remains"
        token, state = reading.token(check.node), reading.state(check.node)
        frames.append(_Frame(f"{name}, dart {number}", laws.p, token, state))
    last = checks[-1].node
    remains = remains_at(reading, last)
    if remains is not None:
        frames.append(_Frame("the target draws from this", remains.mass, None, ""))
    return frames


def _chosen(frames: Sequence[_Frame]) -> list[int]:
    """Return the largest tokens over all frames; those tried are always among them."""
    most: dict[int, float] = {}
    for frame in frames:
        for token, mass in frame.mass.items():
            most[token] = max(mass, most.get(token, 0.0))
    ranked = sorted(most, key=lambda token: -most[token])
    tried = [frame.tried for frame in frames if frame.tried is not None]
    kept = set(ranked[:_ROWS]) | set(tried)
    return sorted(kept, key=lambda token: -most.get(token, 0.0))


def _bars(reading: Reading, film: _Film) -> dict[str, object]:
    cells = [
        (place, row, frame.mass.get(token, 0.0), _colour(frame, token))
        for place, frame in enumerate(film.frames)
        for row, token in enumerate(film.tokens)
    ]
    names = [chart_text(alone(reading.candidate(token, film.node))) for token in film.tokens]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [mass for _, _, mass, _ in cells],
        "base": [place * _STEP for place, _, _, _ in cells],
        "y": [-(film.top + _TITLE + row) for _, row, _, _ in cells],
        "width": 0.62,
        "marker": {"color": [colour for _, _, _, colour in cells], "line": {"width": 0}},
        "hoverinfo": "text",
        "hovertext": [f"{names[row]} {probability(mass)}" for _, row, mass, _ in cells],
    }


def _colour(frame: _Frame, token: int) -> str:
    if token == frame.tried:
        return "@rejected" if frame.state == "rejected" else f"@{_kept(frame.state)}"
    return "@law" if frame.title.startswith("p,") else "@correction"


def _kept(state: str) -> str:
    return "relaxed" if state == "relaxed" else "accepted"


def _layout(reading: Reading, films: Sequence[_Film]) -> dict[str, object]:
    rows = [(film, row) for film in films for row in range(len(film.tokens))]
    deepest = films[-1].top + _TITLE + len(films[-1].tokens)
    widest = max(len(film.frames) for film in films)
    names = [
        chart_text(alone(reading.candidate(film.tokens[row], film.node))) for film, row in rows
    ]
    x: dict[str, object] = {"range": [-0.02, widest * _STEP], "showticklabels": False}
    y: dict[str, object] = {
        "range": [-deepest, 0.4],
        "tickvals": [-(film.top + _TITLE + row) for film, row in rows],
        "ticktext": names,
        "tickfont": {"size": 12, "color": "@ink"},
    }
    figure = layout(_PITCH * (deepest + 0.4) + 8, (110, 4, 4, 4), {"xaxis": x, "yaxis": y})
    titles = [note for film in films for note in _titles(reading, film)]
    axes = [line for film in films for line in _axes(film)]
    return figure | {"barmode": "overlay", "annotations": titles, "shapes": axes}


def _titles(reading: Reading, film: _Film) -> list[dict[str, object]]:
    where = f"after {chart_text(alone(reading.label(film.node)))}"
    at = -(film.top + 0.3)
    heads = [_words(frame.title, place * _STEP, at) for place, frame in enumerate(film.frames)]
    return [_words(where, 0, at, right=True), *heads]


def _words(text: str, x: float, y: float, right: bool = False) -> dict[str, object]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xanchor": "right" if right else "left",
        "xshift": -8 if right else 0,
        "showarrow": False,
        "font": {"size": 11, "color": "@mute"},
        "bgcolor": CLEAR,
    }


def _axes(film: _Film) -> list[dict[str, object]]:
    top, bottom = -(film.top + _TITLE - 0.5), -(film.top + _TITLE + len(film.tokens) - 0.5)
    return [
        {
            "type": "line",
            "x0": place * _STEP,
            "x1": place * _STEP,
            "y0": top,
            "y1": bottom,
            "line": {"color": "@hair", "width": 1},
        }
        for place in range(len(film.frames))
    ]


def _told(reading: Reading, film: _Film) -> str:
    tried = [frame for frame in film.frames if frame.tried is not None]
    told = [
        f"{alone(reading.candidate(frame.tried or 0, film.node))} held "
        f"{probability(frame.mass.get(frame.tried or 0, 0.0))}, {frame.state}"
        for frame in tried
    ]
    return f"After {alone(reading.label(film.node))}: {'; '.join(told)}."
