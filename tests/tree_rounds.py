"""Traces of toy runs: real rounds of a method over small tables, with any words for the tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from core.decode import start, step
from core.dice import SeededDice
from core.laws import Law
from core.registry import Models, get
from core.trace import Round, Trace
from tests.sample_traces import HOSTILE, chain
from tests.toys import World, broad

MARKUP = ("<script", "<b>", "<br>", "</p>", 'onmouseover="', "$x^2$", "${", "&quot;", "'@")
PLAIN = tuple(f" w{token}".encode() for token in range(10))


def toy_trace(
    key: str,
    values: Mapping[str, object],
    temperature: float = 0.8,
    pieces: Sequence[bytes] = PLAIN,
    new: int = 24,
) -> Trace:
    """Return the trace of one run of method `key` on toys with a token per piece."""
    size = len(pieces)
    toy = World(broad(size, 1, 3.0), broad(size, 2, 3.0), size)
    target, draft = toy.models()
    decoder = get(key).build({"drafter": "model", **values}, Models(target, draft))
    state = start(toy.prompt, target, decoder, Law(temperature), new)
    rounds = [made for _ in range(new) for made in step([state], SeededDice(4), lambda: 0.0)]
    whole = chain()
    return replace(
        whole,
        rounds=rounds,
        vocabulary=dict(enumerate(pieces)),
        special=[],
        prompt=replace(whole.prompt, token_ids=list(toy.prompt)),
        sampling=replace(whole.sampling, temperature=temperature),
    )


def drafted_rounds(
    key: str, values: Mapping[str, object], temperature: float, size: int = 9
) -> list[Round]:
    """Return the rounds of such a run that drafted; tokens are the numbers below `size`."""
    trace = toy_trace(key, values, temperature, PLAIN[:size])
    return [r for r in trace.rounds if r.drafted]


def hostile_trace(key: str, values: Mapping[str, object]) -> Trace:
    """Return a trace whose tokens are markup, formulas, theme keys."""
    return toy_trace(key, values, pieces=(*HOSTILE, b"@ink", b"@", b'"'))
