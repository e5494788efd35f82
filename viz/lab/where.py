"""Where the Lab looks, and how far the laws are from what the trace recorded, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from core.trace import ModelCard, Trace
from viz.numbers import probability
from viz.payload import Run
from viz.reading import Reading, read
from viz.sentence import say
from viz.text import Vocabulary

_CLOSE = 1e-3  # differences of probabilities up to here need no words
_ROUNDED = ("bfloat16", "float16")
_DECIMALS = 4


class Where(TypedDict):
    """The node that was asked about, and what its laws are."""

    head: list[Run]
    note: str
    warns: bool  # the laws are not those of the trace


@dataclass(frozen=True, slots=True)
class Apart:
    """How many recorded probabilities the laws were compared with, and the largest difference."""

    tokens: int
    most: float


def where(trace: Trace, index: int, node: int, card: ModelCard, apart: Apart | None) -> Where:
    """Say where the laws stand, and whether those of `card` are the recorded ones."""
    reading = read(trace, index)
    at = (
        " The run took the likeliest token every time; these are the laws at temperature 1."
        if reading.greedy
        else ""
    )
    head = say("What follows ", reading.label(node), f" in round {reading.round.index}")
    return {"head": head, "note": _told(trace, card, apart) + at, "warns": _warns(card, apart)}


def labelled(
    trace: Trace, index: int, named: Mapping[int, bytes], special: frozenset[int]
) -> Reading:
    """Return the round as read, with labels of `named` tokens that the trace does not hold."""
    pieces = {**trace.vocabulary, **named}
    return read(trace, index, Vocabulary(pieces, frozenset(trace.special) | special))


def _told(trace: Trace, card: ModelCard, apart: Apart | None) -> str:
    if apart is None:
        return f"{card.id} was asked again; the trace kept no law of this node to compare with."
    recorded = f"the {apart.tokens} recorded probabilities"
    most = probability(apart.most, _DECIMALS)
    if apart.most <= _CLOSE:
        return f"{card.id} was asked again: within {most} of {recorded}."
    return f"{card.id} was asked again: up to {most} from {recorded}. {why(trace, card)}"


def why(trace: Trace, card: ModelCard) -> str:
    """Say why the laws of `card` differ from those that the trace recorded."""
    made = trace.models.target
    if (made.id, made.revision) != (card.id, card.revision):
        return f"The trace was made with {made.id}, whose weights are others."
    if (made.dtype, made.device) != (card.dtype, card.device):
        return (
            f"It was made in {made.dtype} on {made.device}, this is {card.dtype} on {card.device}."
        )
    if card.dtype in _ROUNDED:
        return f"In {card.dtype} a pass of another width rounds otherwise."
    return "That is more than rounding: the weights or the settings are others."


def _warns(card: ModelCard, apart: Apart | None) -> bool:
    return apart is not None and apart.most > (0.2 if card.dtype in _ROUNDED else _CLOSE)
