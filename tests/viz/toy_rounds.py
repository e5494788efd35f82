"""Rounds of a toy run as traces with words of their own, for pictures of single methods."""

from __future__ import annotations

from collections.abc import Sequence

from core.decode import decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.registry import Models, get
from core.trace import Round, Trace
from tests import sample_traces as samples
from tests.sample_traces import changed
from viz.reading import Reading, read

SIZE = 6
WORDS = {token: f" w{token}".encode() for token in range(SIZE)}


def readings(
    method: str,
    settings: dict[str, object],
    temperature: float = 1.0,
    seed: int = 4,
    words: dict[int, bytes] = WORDS,
) -> list[Reading]:
    """Return the drafted rounds of a toy run, ready for a view."""
    target, draft = ToyModel(hashed(SIZE, 1), SIZE), ToyModel(hashed(SIZE, 2, 3.0), SIZE)
    decoder = get(method).build({"drafter": "model", **settings}, Models(target, draft))
    state = start([0, 1], target, decoder, Law(temperature), 40)
    made = [r for r in decode(state, SeededDice(seed), lambda: 0.0) if r.drafted]
    return [read(shown([r], temperature, words), 0) for r in made]


def shown(rounds: Sequence[Round], temperature: float, words: dict[int, bytes] = WORDS) -> Trace:
    """Return a trace of these rounds over a vocabulary of their own."""
    base = samples.chain()
    return changed(
        base,
        rounds=[changed(r, index=i) for i, r in enumerate(rounds)],
        sampling=changed(base.sampling, temperature=temperature),
        vocabulary={**base.vocabulary, **words},
    )
