"""Comparisons that a toy decoded, as files such as those that come with the program."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.compare.comparison import Comparison
from core.compare.files import write
from core.registry import get
from core.run import Request, Run
from core.trace import Trace
from tests.app.toys import toy_engine

PROMPT = "Why is the sky blue?"
METHODS: Sequence[tuple[str, Mapping[str, object]]] = (
    ("plain", {}),
    ("rsd", {"drafter": "model", "tree": [3, 2, 1]}),
    ("speculative_sampling", {"drafter": "model"}),
    ("typical_acceptance", {"drafter": "model"}),
)


def decoded(method: str, config: Mapping[str, object], prompt: str = PROMPT) -> Trace:
    request = Request(prompt, get(method), config, temperature=0.7, seed=3, max_new_tokens=24)
    run = Run(request, toy_engine(), time.perf_counter, "2026-01-01T00:00:00+00:00")
    list(run)
    return run.trace()


def comparison(title: str, prompt: str = PROMPT) -> Comparison:
    runs = [decoded(method, config, prompt) for method, config in METHODS]
    return Comparison(created=runs[0].created, title=title, runs=runs)


def record(folder: Path) -> Path:
    """Write two comparisons and return their folder: `sky` is first, then `sea`."""
    write(comparison("Why the sky is blue"), folder / "1-sky.json.gz")
    write(comparison("A day at the sea", "A day at the sea"), folder / "2-sea.json.gz")
    return folder
