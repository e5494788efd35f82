"""Comparisons by the toy engine, for tests of files, exports and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count

from core.compare.comparison import Comparison
from core.compare.running import compare
from core.registry import get
from core.run import Engine, Request
from core.trace import Trace
from tests.app.toys import toy_engine

WISHES: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("mcsd", {"drafter": "model"}),
    ("prompt_lookup", {}),
    ("typical_acceptance", {"drafter": "model"}),
)
NOW = "2025-01-31T12:00:00+00:00"


def requests(
    wishes: Sequence[tuple[str, Mapping[str, object]]] = WISHES,
    prompt: str = "the sky is blue because the sky is",
    tokens: int = 24,
    temperature: float = 0.0,
) -> list[Request]:
    return [
        Request(
            prompt,
            get(key),
            config,
            chat=False,
            temperature=temperature,
            seed=7,
            max_new_tokens=tokens,
        )
        for key, config in wishes
    ]


def runs(asked: Sequence[Request], engine: Engine | None = None) -> list[Trace]:
    """Return the traces of plain decoding and of all methods, by a clock that counts its readings:
    the same on every machine.
    """
    ticks = count()
    steps = compare(engine or toy_engine(), asked, lambda: next(ticks) / 1000, lambda: NOW)
    return [step.trace for step in steps if step.trace is not None]


@cache
def toy_comparison(tokens: int = 24, temperature: float = 0.0) -> Comparison:
    found = runs(requests(tokens=tokens, temperature=temperature))
    return Comparison(created=NOW, title="A toy", runs=found)
