"""Recursive rejection as a film: at every visited node, the law before each dart, and what is left.

A token keeps its row through all frames of a node. Shown where a node had several children tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from viz.laws import NOISE, laws_before, remains_after
from viz.numbers import probability
from viz.payload import Film, FilmCell, FilmFrame, FilmRow, NodeState, Picture
from viz.reading import OWN, Reading
from viz.states import state_of
from viz.text import alone

ORDER = 20
_ROWS = 5  # tokens per node
_DIGITS = 6  # of a share
_EVEN = 0.005  # nats: closer bounds are told as one number


@dataclass(frozen=True, slots=True)
class _Frame:
    """A law that a dart was thrown at, or that the target's own token came from; `rest` is its mass
    on tokens that are not listed.
    """

    number: int | None  # of the dart
    chance: float | None  # of the dart
    left: bool  # what remains of p, not p itself
    mass: dict[int, float]
    rest: float
    token: int  # tried, or written by the target
    state: NodeState


def draw(reading: Reading) -> Picture | None:
    """Return the film of a round, if a node had two children tried."""
    if reading.greedy or not reading.round.residuals:
        return None
    visited = _visited(reading)
    if not any(len(places) > 1 for places in visited.values()):
        return None
    strips = [(node, _frames(reading, places)) for node, places in visited.items()]
    shot = [(node, frames) for node, frames in strips if len(frames) > 1]
    if not shot:
        return None
    return {
        "section": {
            "head": "What remains of p, dart by dart",
            "note": "A row of frames per node where a dart missed. A bar is a token's share of "
            "the law that the dart was thrown at; beside each dart its chance, below its law the "
            "entropy.",
            "figure": None,
            "foot": "",
            "legend": [
                ("target", "p"),
                ("residual", "what remains of p"),
                ("accepted", "tried and kept"),
                ("rejected", "tried and rejected"),
            ],
            "alt": " ".join(_told(reading, node, frames) for node, frames in shot),
        },
        "html": "",
        "films": [_film(reading, node, frames) for node, frames in shot],
    }


def _visited(reading: Reading) -> dict[int, list[int]]:
    """Return the places of the checks made at each visited node."""
    found: dict[int, list[int]] = {}
    for place, check in enumerate(reading.round.checks):
        found.setdefault(reading.parent(check.node), []).append(place)
    return found


def _frames(reading: Reading, places: Sequence[int]) -> list[_Frame]:
    """Return a frame per dart at one node, and one for the law after the last miss."""
    frames: list[_Frame] = []
    for place in places:
        laws, node = laws_before(reading, place), reading.round.checks[place].node
        if laws is None:
            return []
        token, state = reading.token(node), state_of(reading, node)
        chance = reading.round.checks[place].accept_probability
        number, left = place + 1, place > places[0]
        frames.append(_Frame(number, chance, left, laws.p, laws.p_rest, token, state))
    remains = remains_after(reading, places[-1])
    if remains is not None and reading.own is not None:
        own = state_of(reading, OWN)
        frames.append(_Frame(None, None, True, remains.mass, remains.rest, reading.own, own))
    return frames


def _film(reading: Reading, node: int, frames: Sequence[_Frame]) -> Film:
    size = reading.trace.models.target.vocabulary_size
    return {
        "after": reading.label(node),
        "frames": [_head(frame, size) for frame in frames],
        "rows": [_row(reading, node, frames, token) for token in _chosen(frames)],
    }


def _head(frame: _Frame, vocabulary: int) -> FilmFrame:
    law, entropy = "what remains" if frame.left else "p", _entropy(frame, vocabulary)
    if frame.number is None or frame.chance is None:
        return {"head": "The target writes", "note": f"from {law}", "entropy": entropy}
    head = f"Dart {frame.number} · {probability(frame.chance)}"
    return {"head": head, "note": f"at {law}", "entropy": entropy}


def _entropy(frame: _Frame, vocabulary: int) -> str:
    """Return the entropy of a law in nats, or its bounds: tokens that are not listed hold least if
    they are one, and most if all others of the vocabulary share alike.
    """
    least = math.fsum(-mass * math.log(mass) for mass in frame.mass.values() if mass > 0)
    if frame.rest < NOISE:
        return f"{least:.2f}"
    least -= frame.rest * math.log(frame.rest)
    others = vocabulary - len(frame.mass)
    if others < 1:  # a record from elsewhere may not know the vocabulary
        return f"over {least:.2f}"
    most = least + frame.rest * math.log(others)
    return f"{least:.2f}" if most - least < _EVEN else f"{least:.2f} to {most:.2f}"


def _row(reading: Reading, node: int, frames: Sequence[_Frame], token: int) -> FilmRow:
    return {
        "label": reading.candidate(token, node),
        "cells": [_cell(frame, token) for frame in frames],
    }


def _cell(frame: _Frame, token: int) -> FilmCell:
    share = frame.mass.get(token, 0.0)
    return {
        "share": round(share, _DIGITS),
        "text": probability(share),
        "left": frame.left,
        "tried": frame.state if token == frame.token else None,
    }


def _chosen(frames: Sequence[_Frame]) -> list[int]:
    """Return the largest tokens over all frames; those tried are always among them."""
    most: dict[int, float] = {}
    for frame in frames:
        for token, mass in frame.mass.items():
            most[token] = max(mass, most.get(token, 0.0))
    ranked = sorted(most, key=lambda token: -most[token])
    kept = set(ranked[:_ROWS]) | {frame.token for frame in frames}
    return sorted(kept, key=lambda token: -most.get(token, 0.0))


def _told(reading: Reading, node: int, frames: Sequence[_Frame]) -> str:
    told = [
        f"{alone(reading.candidate(frame.token, node))} held "
        f"{probability(frame.mass.get(frame.token, 0.0))}, {frame.state}"
        for frame in frames
    ]
    return f"After {alone(reading.label(node))}: {'; '.join(told)}."
