"""The closed-form inputs of the spec sheet, and decoders of one shape and one rule to run them on.

`P`, `Q`: target and draft law of each fixture, by its name in the sheet.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.decode import Decoder
from core.drafters.model import ModelDrafter
from core.registry import Models, get
from core.shapes.base import TreePolicy
from core.verify.base import Verifier
from tests.exactness import Builder, first_round
from tests.toys import World, certain_at

Row = Sequence[float]

P: dict[str, Row] = {
    "F1": (0.5, 0.3, 0.2),
    "F2": (1.0, 0.0),
    "F3": (0.6, 0.4),
    "F4": (0.6, 0.2, 0.1, 0.1),
    "F6": (1 / 3, 1 / 2, 1 / 6),
}
Q: dict[str, Row] = {
    "F1": (0.2, 0.3, 0.5),
    "F2": (0.5, 0.5),
    "F3": (0.6, 0.4),
    "F4": (0.1, 0.6, 0.2, 0.1),
    "F6": (1 / 3, 1 / 3, 1 / 3),
}

UNIFORM: list[tuple[Row, float, float, float, float]] = [
    # target of a uniform drafter over three tokens; one draft: standard; two drafts: recursive,
    # K-SEQ, optimum
    ((1 / 3, 0, 2 / 3), 0.66667, 0.77778, 0.81142, 0.88889),
    ((1 / 3, 1 / 12, 7 / 12), 0.75, 0.83333, 0.87013, 0.97222),
    ((1 / 3, 1 / 6, 1 / 2), 0.83333, 0.88889, 0.92476, 1),
    ((1 / 3, 1 / 4, 5 / 12), 0.91667, 0.94444, 0.97222, 1),
    ((1 / 3, 1 / 3, 1 / 3), 1, 1, 1, 1),
    ((1 / 6, 0, 5 / 6), 0.5, 0.66667, 0.68661, 0.72222),
    ((1 / 6, 5 / 48, 35 / 48), 0.60417, 0.73611, 0.76556, 0.82639),
    ((1 / 6, 5 / 24, 5 / 8), 0.70833, 0.80556, 0.84118, 0.93056),
    ((1 / 6, 5 / 16, 25 / 48), 0.8125, 0.875, 0.9116, 1),
    ((1 / 6, 5 / 12, 5 / 12), 0.83333, 0.94444, 0.96248, 1),
]


def constant(p: Row, q: Row) -> World:
    """Return a world with one law everywhere, but for a certain first token."""
    prompt = (0, 1, 0)
    return World(certain_at(lambda _: p, len(prompt), 1), lambda _: q, len(p), prompt)


def decoder(shape: TreePolicy, rule: Verifier, temperature: float | None = None) -> Builder:
    """Return a builder: the second model drafts trees of `shape`, verified by `rule`."""

    def build(models: Models) -> Decoder:
        draft = models.draft
        assert draft is not None
        opened = ModelDrafter(
            lambda prompt, _: draft.open(prompt), shape, "toy", temperature=temperature
        )
        return Decoder(opened, rule)

    return build


def configured(key: str, **settings: object) -> Builder:
    """Return a builder of a registered method on the second model."""
    return lambda models: get(key).build({"drafter": "model", **settings}, models)


def acceptance(build: Builder, p: Row, q: Row) -> float:
    """Return the probability that a drafted token is accepted at the first place."""
    rounds = first_round(build, constant(p, q))
    return sum(probability for outcome, probability in rounds if outcome.accepted)


def emitted(build: Builder, p: Row, q: Row) -> list[float]:
    """Return the law of the first token of the first drafted round."""
    found = [0.0] * len(p)
    for outcome, probability in first_round(build, constant(p, q)):
        found[outcome.emitted[0]] += probability
    return found


def distance(one: Row, other: Row) -> float:
    """Return the total variation between two laws."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2
