"""EAGLE and its kind: the pairs that a draft is made of, one column each, shifted by one.

A pair is a feature and the token that came after it; the head reads the token after that off its
output. The output stands for the next feature until the target's own is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.extras import FeatureExtras
from viz.branches import Point
from viz.chart_marks import MARKS
from viz.chart_tokens import fitted, token_text, words
from viz.figure import chart_text, layout
from viz.numbers import count
from viz.payload import Figure, Label, NodeState, Picture
from viz.reading import OWN, Reading, text_before
from viz.states import state_of
from viz.text import alone

ORDER = 14
_BEFORE = 2  # pairs of the text shown beside the root's
_MOST = 5  # pairs of the draft, the root's included
_FEATURE, _TOKEN, _JOINT, _DRAFT = 30, 78, 112, 142  # px from the top
_TEXT = 15  # px from a mark up to its token
_HEIGHT = 176
_ASIDE = 0.2  # of a column: a feature stands left of its middle, the token right
_LETTERS = 16


@dataclass(frozen=True, slots=True)
class _Pair:
    """A column. `own` features are the head's, with `cosine` to the target's; `state`: of the token
    that it drafted, None where that was text already.
    """

    feature: Label
    token: Label
    drafted: Label
    own: bool
    cosine: float | None
    state: NodeState | None


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round that was drafted over features."""
    extra = next((e for e in reading.round.extras if isinstance(e, FeatureExtras)), None)
    if extra is None:
        return None
    pairs = _pairs(reading, extra)
    if not any(pair.state for pair in pairs):
        return None
    told = _told(reading, extra, pairs)
    return {
        "section": {
            "head": "Feature and token, shifted by one",
            "note": "A column is a pair: what the target made of the text up to a token, and the "
            "token that came next. From both the head drafts the one after. Filled: the target's "
            "own feature; hollow: the head's output in its place, with its cosine to the "
            "target's.",
            "figure": _figure(pairs),
            "foot": told,
            "legend": [],
            "alt": " ".join([*map(_words, pairs), told]),
        },
        "html": "",
    }


def _pairs(reading: Reading, extra: FeatureExtras) -> list[_Pair]:
    path = _path(reading, extra)
    text = text_before(reading.trace, reading.round.index, _BEFORE + 2)
    labels = [each.label for each in reading.vocabulary.flow(text)]
    found = [
        _Pair(labels[i], labels[i + 1], labels[i + 2], False, None, None)
        for i in range(len(labels) - 2)
    ]
    near = dict(zip(extra.node, extra.cosine, strict=True))
    above = labels[-2] if len(labels) > 1 else labels[-1]
    for place, (node, child) in enumerate(pairwise(path)):
        parent = path[place - 1] if place else None
        label = reading.label(node)
        cosine = None if parent is None else near.get(parent)
        state = state_of(reading, child)
        found.append(_Pair(above, label, reading.label(child), bool(place), cosine, state))
        above = label
    return found


def _path(reading: Reading, extra: FeatureExtras) -> list[int]:
    """Return nodes from the root down: the accepted ones, then what was drafted after them."""
    scored = set(extra.node)
    path = [0, *reading.round.outcome.accepted]
    while len(path) <= _MOST and path[-1] in scored:
        below = [node for node in reading.children[path[-1]] if reading.state(node) in MARKS]
        if not below:
            break
        inner = [node for node in below if node in scored]
        path.append((inner or below)[0])
    cut = next((i for i, node in enumerate(path) if node not in scored), len(path) - 1)
    return path[: min(cut, _MOST) + 1]


def _figure(pairs: Sequence[_Pair]) -> Figure:
    drafting = [place for place, pair in enumerate(pairs) if pair.state]
    handed = [(c, c + 1) for c in drafting if c + 1 < len(pairs)]
    x: dict[str, object] = {"range": [-0.7, len(pairs) - 0.3], "showticklabels": False}
    y: dict[str, object] = {
        "range": [_HEIGHT, 0],
        "tickvals": [_FEATURE, _TOKEN, _DRAFT],
        "ticktext": ["feature", "next token", "drafted"],
    }
    columns = range(len(pairs))
    return {
        "data": [
            _line([(_feature(c), _joint(c)) for c in columns], "@faint", "joins"),
            _line([(_token(c), _joint(c)) for c in columns], "@faint", "reads"),
            _line([(_joint(c), _draft(c)) for c in drafting], "@ink", "drafts"),
            _line([(_joint(a), _feature(b)) for a, b in handed], "@faint", "output", "3px,3px"),
            _line([(_draft(a), _token(b)) for a, b in handed], "@hair", "chosen"),
            _features(pairs),
            _tokens(pairs),
            _joints(len(pairs)),
            *_drafts(pairs),
        ],
        "layout": layout(_HEIGHT, (62, 4, 0, 0), {"xaxis": x, "yaxis": y})
        | words([note for c, pair in enumerate(pairs) for note in _notes(c, pair)]),
    }


def _feature(column: int) -> Point:
    return column - _ASIDE, _FEATURE


def _token(column: int) -> Point:
    return column + _ASIDE, _TOKEN


def _joint(column: int) -> Point:
    return column, _JOINT


def _draft(column: int) -> Point:
    return column, _DRAFT


def _line(
    pairs: Sequence[tuple[Point, Point]], colour: str, name: str, dash: str = "solid"
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [x for a, b in pairs for x in (a[0], b[0], None)],
        "y": [y for a, b in pairs for y in (a[1], b[1], None)],
        "line": {"color": colour, "width": 1.4, "dash": dash},
        "hoverinfo": "skip",
    }


def _features(pairs: Sequence[_Pair]) -> dict[str, object]:
    return _marks(
        "features",
        [_feature(c) for c in range(len(pairs))],
        "circle",
        ["@paper" if pair.own else "@law" for pair in pairs],
        "@law",
        [chart_text(_words(pair)) for pair in pairs],
    )


def _tokens(pairs: Sequence[_Pair]) -> dict[str, object]:
    places = [_token(c) for c in range(len(pairs))]
    hover = [chart_text(_words(pair)) for pair in pairs]
    return _marks("tokens", places, "square", ["@law"] * len(pairs), "@law", hover)


def _joints(size: int) -> dict[str, object]:
    places = [_joint(c) for c in range(size)]
    return _marks("head", places, "diamond", ["@paper"] * size, "@mute", ["the head"] * size)


def _marks(
    name: str,
    places: Sequence[Point],
    symbol: str,
    fill: Sequence[str],
    outline: str,
    hover: Sequence[str],
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "marker": {
            "symbol": symbol,
            "size": 9,
            "color": list(fill),
            "line": {"width": 1.4, "color": outline},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": list(hover),
        "cliponaxis": False,
    }


def _drafts(pairs: Sequence[_Pair]) -> list[dict[str, object]]:
    by_state: Mapping[NodeState, list[int]] = {
        state: [c for c, pair in enumerate(pairs) if pair.state == state] for state in MARKS
    }
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": state,
            "x": columns,
            "y": [_DRAFT] * len(columns),
            "marker": MARKS[state].marker(),
            "hoverinfo": "skip",
            "cliponaxis": False,
        }
        for state, columns in by_state.items()
        if columns
    ]


def _notes(column: int, pair: _Pair) -> list[dict[str, object]]:
    drafted, colour = token_text(pair.drafted, _LETTERS), _colour(pair)
    notes = [
        _note(column - _ASIDE, _FEATURE - _TEXT, token_text(pair.feature, _LETTERS), "@mute"),
        _note(column + _ASIDE, _TOKEN - _TEXT, token_text(pair.token, _LETTERS), "@ink"),
        _note(column, _DRAFT + _TEXT + 3, drafted, colour, pair.state == "accepted"),
    ]
    if pair.cosine is not None:
        near = _note(column - _ASIDE, _FEATURE, _cosine(pair.cosine), "@mute")
        notes.append(near | {"xanchor": "left", "xshift": 9})
    return notes


def _note(column: float, y: float, text: str, colour: str, bold: bool = False) -> dict[str, object]:
    note: dict[str, object] = {
        "x": column,
        "y": y,
        "text": text,
        "showarrow": False,
        "xanchor": "center",
        "yanchor": "middle",
        "font": {"size": 11, "color": colour, "weight": 600 if bold else 400},
    }
    return fitted(note, 0.9, 2)


def _colour(pair: _Pair) -> str:
    if pair.state is None:
        return "@mute"
    return {"accepted": "@accepted", "relaxed": "@relaxed-text", "rejected": "@rejected"}.get(
        pair.state, "@mute"
    )


def _cosine(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)


def _words(pair: _Pair) -> str:
    whose = "the head's own feature of" if pair.own else "the target's feature of"
    near = "" if pair.cosine is None else f", cosine {_cosine(pair.cosine)}"
    end = f": {pair.state}" if pair.state else ", as the text goes on"
    return (
        f"{whose.capitalize()} {alone(pair.feature)}{near}, with {alone(pair.token)}, "
        f"gives {alone(pair.drafted)}{end}."
    )


def _told(reading: Reading, extra: FeatureExtras, pairs: Sequence[_Pair]) -> str:
    own = sum(pair.own for pair in pairs)
    ran = f"{count(extra.settled, 'pair')} of the text ran with true features before this draft"
    accepted = len(reading.round.outcome.accepted)
    kept = count(accepted, "drafted token") if accepted else "no drafted token"
    end = "" if reading.own is None else f"; the target's own is “{alone(reading.label(OWN))}”"
    shown = f"; {own} shown here ran on the head's own." if own else "."
    return f"{ran}{shown} {kept[0].upper()}{kept[1:]} kept{end}."
