"""Engines without weights for the app's tests: a small world of words, slow where a test wants."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from app.engines import Progress
from app.orders import ModelsOrder
from core.models.toy import Table, ToyModel
from core.run import Engine
from core.trace import Environment
from tests.toy_heads import toy_counts, toy_heads

HOSTILE = "<b>bold</b>|${1+1}|$x^2$|{{7*7}}| &amp;|<img src=x onerror=alert(1)>"
WORDS = tuple(
    word.encode("latin-1")
    for word in (
        "<end>| the| sky| is| blue| because| light| of| sun|,|.|\n| scatters|ing| more| than| red"
        f"| waves| and| so| on| a| day| sea|\xc3|\xa9|{HOSTILE}"
    ).split("|")
)
SIZE = len(WORDS)
ENVIRONMENT = Environment(torch="2", transformers="5", python="3", processor="toy", threads=1)


def table(seed: int, sharpness: float) -> Table:
    """Return laws that depend on the last three tokens through a hash."""

    def law(context: tuple[int, ...]) -> Sequence[float]:
        key = repr((seed, context[-3:])).encode()
        raw = b"".join(
            hashlib.blake2b(key, digest_size=64, salt=bytes([part])).digest() for part in range(2)
        )
        weights = [math.exp(sharpness * raw[4 * i] / 255) for i in range(SIZE)]
        weights[0] = 0.0  # the text never ends by itself
        return [w / sum(weights) for w in weights]

    return law


def mixed(target: Table, other: Table, share: float) -> Table:
    """Return a drafter that knows `share` of what the target knows."""
    return lambda context: [
        share * p + (1 - share) * q for p, q in zip(target(context), other(context), strict=True)
    ]


@dataclass(frozen=True)
class WordText:
    """Every character of a prompt is a token."""

    special: frozenset[int] = frozenset({0})
    ends: frozenset[int] = frozenset({0})

    def spell(self, token: int) -> bytes:
        return WORDS[token]

    def encode(self, prompt: str, chat: bool) -> list[int]:
        return [*([0] if chat else []), *(1 + ord(character) % (SIZE - 1) for character in prompt)]


class Slow(ToyModel):
    """A model that waits before each session opens, and inside every law of a new context."""

    def __init__(self, law: Table, seconds: float) -> None:
        def late(context: tuple[int, ...]) -> Sequence[float]:
            time.sleep(seconds)
            return law(context)

        super().__init__(late, SIZE, context=20_000)


def toy_engine(seconds: float = 0.0) -> Engine:
    target = table(1, 8.0)
    draft = ToyModel(mixed(target, table(2, 6.0), 0.6), SIZE, context=20_000)
    return Engine(
        WordText(), Slow(target, seconds), ENVIRONMENT, draft, toy_heads(SIZE), toy_counts(SIZE)
    )


@dataclass
class ToyEngines:
    """Gives one toy to everybody; `load_seconds` and `step_seconds` make it slow."""

    load_seconds: float = 0.0
    step_seconds: float = 0.0
    error: Exception | None = None
    loads: int = 0
    _engine: Engine | None = None
    _lock: Lock = field(default_factory=Lock)

    def has(self, wanted: ModelsOrder) -> bool:
        return self._engine is not None

    def engine(self, wanted: ModelsOrder, progress: Progress) -> Engine:
        with self._lock:
            if self._engine is None:
                for part in range(20):
                    progress(part * 13_500_000, 270_000_000, "Loading the toy")
                    time.sleep(self.load_seconds / 20)
                if self.error:
                    raise self.error
                self.loads += 1
                self._engine = toy_engine(self.step_seconds)
            return self._engine
