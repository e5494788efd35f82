"""Toy worlds for exact tests: tables of laws, a slow law in plain Python, and what a text should
look like.

Everything here is written without the code under test, so that the two can disagree.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from core.laws import Law
from core.models.toy import Table, ToyModel, hashed

Text = tuple[int, ...]


@dataclass(frozen=True)
class World:
    """A target and a draft model over one vocabulary, and the prompt that they continue."""

    target: Table
    draft: Table
    size: int
    prompt: Text = (0, 1, 0)

    def models(self) -> tuple[ToyModel, ToyModel]:
        return ToyModel(self.target, self.size), ToyModel(self.draft, self.size)


def sparse(size: int, seed: int) -> Table:
    """Return a hashed table in which about a third of all probabilities are zero, never all of one
    law.
    """
    weights, pattern = hashed(size, seed), hashed(size, seed + 1000)

    def law(context: Text) -> list[float]:
        kept = [
            w if x > 0.25 else 0.0 for w, x in zip(weights(context), pattern(context), strict=True)
        ]
        kept = kept if any(kept) else [1.0] + [0.0] * (size - 1)
        return normed(kept)

    return law


def spiked(size: int, seed: int) -> Table:
    """Return a hashed table whose laws are one-hot."""
    weights = hashed(size, seed)

    def law(context: Text) -> list[float]:
        row = weights(context)
        return [float(token == row.index(max(row))) for token in range(size)]

    return law


def broad(size: int, seed: int, sharpness: float = 1.0) -> Table:
    """Return a table like a hashed one, for vocabularies larger than a hash is long."""

    def law(context: Text) -> list[float]:
        rng = np.random.default_rng([seed, *context])
        weights = (rng.random(size) + 0.05) ** sharpness
        return list(weights / weights.sum())

    return law


def overrated(table: Table, size: int, seed: int) -> Table:
    """Return `table` disturbed, with half of the mass moved to one token, the only one overrated.

    A rejection then leaves several tokens of the target's law, so that wrong siblings cannot hide
    behind a sure thing.
    """
    noise = hashed(size, seed, 0.5)

    def law(context: Text) -> list[float]:
        disturbed = noise(context)
        weights = [p * n for p, n in zip(table(context), disturbed, strict=True)]
        favourite = disturbed.index(max(disturbed))
        return [0.5 * w + 0.5 * (t == favourite) for t, w in enumerate(normed(weights))]

    return law


def certain_at(table: Table, length: int, token: int) -> Table:
    """Return `table`, with `token` certain after `length` tokens: the prompt pass then costs no
    chance.
    """

    def law(context: Text) -> list[float]:
        row = list(table(context))
        return [float(i == token) for i in range(len(row))] if len(context) == length else row

    return law


def world(target: Table, draft: Table, size: int) -> World:
    """Return a world whose first token is 1: the text then repeats itself, which lookups need."""
    made = World(target, draft, size)
    return World(certain_at(target, len(made.prompt), 1), draft, size)


WORLDS = {
    "different laws": lambda size: world(hashed(size, 1, 2.0), hashed(size, 2, 2.0), size),
    "one token overrated": lambda size: world(
        hashed(size, 10), overrated(hashed(size, 10), size, 11), size
    ),
    "zeros in both laws": lambda size: world(sparse(size, 3), sparse(size, 4), size),
    "the drafter is the target": lambda size: world(hashed(size, 5), hashed(size, 5), size),
    "the target is certain": lambda size: world(spiked(size, 6), hashed(size, 7), size),
    "the drafter is certain": lambda size: world(hashed(size, 8), spiked(size, 9), size),
}


def normed(weights: Sequence[float]) -> list[float]:
    total = math.fsum(weights)
    return [w / total for w in weights]


def slow_law(probabilities: Sequence[float], law: Law) -> list[float]:
    """Apply temperature, top-k and top-p to a law in plain Python."""
    size = len(probabilities)
    if law.temperature == 0:
        best = max(range(size), key=lambda token: (probabilities[token], -token))
        return [float(token == best) for token in range(size)]
    weights = [p ** (1 / law.temperature) for p in probabilities]
    if law.top_k:
        least = sorted(weights, reverse=True)[: law.top_k][-1]
        weights = [w if w >= least else 0.0 for w in weights]
    weights = normed(weights)
    if law.top_p < 1:
        order = sorted(range(size), key=lambda token: (-weights[token], token))
        before = accumulate((weights[token] for token in order), initial=0.0)
        kept = {token for token, mass in zip(order, before, strict=False) if mass < law.top_p}
        weights = [w if token in kept else 0.0 for token, w in enumerate(weights)]
    return normed(weights)


def completed(
    texts: Mapping[Text, float], target: Table, prompt: Text, law: Law, length: int
) -> dict[Text, float]:
    """Return the law of the first `length` tokens when short texts are completed by plain draws of
    the target.
    """
    found: dict[Text, list[float]] = defaultdict(list)
    waiting = [(text[:length], probability) for text, probability in texts.items()]
    while waiting:
        text, probability = waiting.pop()
        if len(text) == length:
            found[text].append(probability)
            continue
        row = slow_law(target(prompt + text), law)
        waiting += [((*text, t), probability * p) for t, p in enumerate(row) if p]
    return {text: math.fsum(parts) for text, parts in found.items()}


def ancestral(target: Table, prompt: Text, law: Law, length: int) -> dict[Text, float]:
    """Return the law of the first `length` tokens that the target writes alone."""
    return completed({(): 1.0}, target, prompt, law, length)
