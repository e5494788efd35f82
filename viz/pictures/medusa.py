"""Medusa: what every head guessed from one look, under the token that came.

A column per head, its five likeliest tokens downwards. Each head is blind to what stands left of
it, so that the columns can be fluent one by one and impossible together: what the target finds
impossible after the favourites to the left is greyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from core.extras import LookaheadExtras
from core.trace import Trace
from viz.chart_tokens import fitted, head, note, token_text, words
from viz.figure import layout
from viz.numbers import count, ordinal, probability
from viz.payload import Figure, Label, Picture
from viz.reading import Reading

ORDER = 10
_UNLIKELY = 0.01  # the target's share below which a token does not fit what stands before it
_RADIUS = 7.5  # px of a circle whose share is 1
_PITCH = 22  # px of a row
_HEAD = 36  # px over the rows


@dataclass(frozen=True, slots=True)
class _Guess:
    """A candidate of a head. `fits` is None where the target was not asked."""

    column: int
    row: int
    label: Label
    share: float
    came: bool
    fits: bool | None

    @property
    def size(self) -> float:
        return round(max(4.0, 2 * _RADIUS * sqrt(self.share)), 1)

    @property
    def colour(self) -> str:
        return "@accepted" if self.came else "@mute" if self.fits is False else "@ink"


@dataclass(frozen=True, slots=True)
class _Column:
    """`came`: the token of the text at this head's place, None where the text does not reach."""

    came: Label | None
    guesses: Sequence[_Guess]

    @property
    def rank(self) -> int | None:
        """Return where the head had the token that came."""
        return next((guess.row for guess in self.guesses if guess.came), None)


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a round whose heads all looked ahead from one state."""
    extra = next((e for e in reading.round.extras if isinstance(e, LookaheadExtras)), None)
    if extra is None or not any(each.token for each in extra.heads):
        return None
    columns = _columns(reading, extra)
    told = f"{_found(columns)} {_together(reading, extra)}".strip()
    return {
        "section": {
            "head": "One look, several guesses",
            "note": "Below each token that came: the likeliest tokens of the head that was to "
            "guess it, all from the same state. Circle area: its share. Blue: right. Grey: the "
            f"target gives it less than {probability(_UNLIKELY, 2)} after the favourites to its "
            "left, which the head did not see.",
            "figure": _figure(columns),
            "foot": told,
            "legend": [],
            "alt": " ".join([*(_alt(place, each) for place, each in enumerate(columns)), told]),
        },
        "html": "",
    }


def _columns(reading: Reading, extra: LookaheadExtras) -> list[_Column]:
    future = _future(reading.trace, reading.round.index, len(extra.heads))
    before = _favourites(reading, extra)
    found: list[_Column] = []
    for column, glance in enumerate(extra.heads):
        token = future[column] if column < len(future) else None
        guesses = [
            _Guess(
                column,
                row,
                reading.vocabulary.label(each),
                share,
                each == token,
                _fits(reading, before[column], each),
            )
            for row, (each, share) in enumerate(zip(glance.token, glance.q, strict=True))
        ]
        found.append(_Column(None if token is None else reading.vocabulary.label(token), guesses))
    return found


def _future(trace: Trace, index: int, most: int) -> list[int]:
    """Return the tokens that the text goes on with after the root of round `index`."""
    sequence, found = trace.rounds[index].sequence, list[int]()
    for r in trace.rounds[index:]:
        if r.sequence == sequence:
            found += r.outcome.emitted
        if len(found) >= most:
            break
    return found[:most]


def _favourites(reading: Reading, extra: LookaheadExtras) -> list[int | None]:
    """Return, per head, the node that ends the favourites of the heads before it; None where the
    tree does not hold them.
    """
    found: list[int | None] = [0]
    for glance in extra.heads[:-1]:
        last = found[-1]
        below = () if last is None else reading.children[last]
        found.append(next((n for n in below if reading.token(n) == glance.token[0]), None))
    return found


def _fits(reading: Reading, node: int | None, token: int) -> bool | None:
    """Return whether the target finds `token` possible after `node`; None where nobody asked. A
    node that the round did not come to keeps the target's likeliest tokens only.
    """
    share = _target(reading, node, token)
    return None if share is None else share >= _UNLIKELY


def _target(reading: Reading, node: int | None, token: int) -> float | None:
    law = None if node is None else reading.law_of.get(node)
    if law is None:
        return None
    return law.p_raw[law.token.index(token)] if token in law.token else 0.0


def _figure(columns: Sequence[_Column]) -> Figure:
    rows = max(len(column.guesses) for column in columns)
    guesses = [guess for column in columns for guess in column.guesses]
    x: dict[str, object] = {"range": [-0.08, len(columns) - 0.1], "showticklabels": False}
    y: dict[str, object] = {"range": [rows - 0.4, -1.6], "showticklabels": False}
    figure = layout(_PITCH * (rows + 1.2) + _HEAD, (4, 2, _HEAD, 2), {"xaxis": x, "yaxis": y})
    came = [_came(place, column) for place, column in enumerate(columns)]
    heads = [line for place in range(len(columns)) for line in _name(place)]
    return {
        "data": [
            _dots("guessed", [g for g in guesses if not g.came and g.fits is not False], "@law"),
            _dots("unfit", [g for g in guesses if not g.came and g.fits is False], "@faint"),
            _dots("right", [g for g in guesses if g.came], "@accepted"),
        ],
        "layout": figure | words([*came, *map(_word, guesses), *heads]),
    }


def _dots(name: str, guesses: Sequence[_Guess], line: str) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [guess.column for guess in guesses],
        "y": [guess.row for guess in guesses],
        "marker": {
            "symbol": "circle",
            "size": [guess.size for guess in guesses],
            "color": line if name == "right" else "@paper",
            "line": {"color": line, "width": 1.2},
            "opacity": 1,
        },
        "hoverinfo": "text",
        "hovertext": [_hover(guess) for guess in guesses],
        "cliponaxis": False,
    }


def _hover(guess: _Guess) -> str:
    fits = {True: "", False: ", unfit after the favourites", None: ""}[guess.fits]
    right = ", right" if guess.came else fits
    return f"{token_text(guess.label)}: {probability(guess.share)}{right}"


def _word(guess: _Guess) -> dict[str, object]:
    text = token_text(guess.label)
    shown = note(guess.column, guess.row, text, guess.colour, bold=guess.came)
    shift = round(_RADIUS + 5)
    return fitted({**shown, "xshift": shift}, 1, shift + _RADIUS + 4)


def _came(place: int, column: _Column) -> dict[str, object]:
    if column.came is None:
        return fitted(note(place, -1.1, "not written"), 1, 12) | {"xshift": -5}
    shown = note(place, -1.1, token_text(column.came), "@ink", bold=True)
    return fitted({**shown, "xshift": -5}, 1, 8)


def _name(place: int) -> list[dict[str, object]]:
    lines = head(place, [f"Head {place + 1}", "came:"])
    return [{**line, "xshift": -5} for line in lines]


def _found(columns: Sequence[_Column]) -> str:
    """Say which heads were right."""
    known = [(place, column) for place, column in enumerate(columns) if column.came is not None]
    if not known:
        return "The text ends before any of the heads' places."
    parts = [
        f"head {place + 1} had it {_place(column.rank)}"
        for place, column in known
        if column.rank is not None
    ]
    if not parts:
        return f"None of {count(len(known), 'head')} had the token that came among its first."
    told = f"{'; '.join(parts)}."
    return told[0].upper() + told[1:]


def _place(rank: int | None) -> str:
    return "on top" if rank == 0 else ordinal(1 + (rank or 0))


def _together(reading: Reading, extra: LookaheadExtras) -> str:
    """Say where the heads' favourites first stop making one text."""
    before = _favourites(reading, extra)
    for place in range(1, len(extra.heads)):
        share = _target(reading, before[place], extra.heads[place].token[0])
        if share is not None and share < _UNLIKELY:
            left, right = (
                token_text(reading.vocabulary.label(extra.heads[p].token[0]))
                for p in (place - 1, place)
            )
            chance = f"only {probability(share)}" if share else "nearly nothing"
            return (
                f"Their favourites do not make one text: after {left} the target gives {right} "
                f"{chance}, and head {place + 1} could not know."
            )
    return ""


def _alt(place: int, column: _Column) -> str:
    came = "not written" if column.came is None else token_text(column.came)
    guesses = ", ".join(token_text(guess.label) for guess in column.guesses)
    return f"Head {place + 1}, {came}: {guesses}."
