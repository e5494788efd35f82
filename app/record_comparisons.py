"""The comparisons that the Compare page opens with, and the command that records them anew.

`python -m app.record_comparisons` decodes each with the default model and writes
`assets/comparisons/`. Times in a recording are those of the machine that made it, which each run
names; they say something only where nothing else kept that machine busy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from app.comparisons import FOLDER
from core.compare.comparison import Comparison
from core.compare.files import write
from core.compare.running import compare
from core.compare.verdict import verdict
from core.compare.waterfall import rounds_after_prompt, spent
from core.engine import load_engine
from core.registry import get
from core.run import Engine, Request
from core.trace import Trace

_TOLERANCE = 0.05  # of plain decoding's time against itself
_WARM = 24  # tokens that every method decodes before, unrecorded
Wish = tuple[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One comparison: `name` is its file and its key in links."""

    name: str
    title: str
    prompt: str
    wishes: tuple[Wish, ...]
    temperature: float = 0.0
    seed: int = 7
    max_new_tokens: int = 48


COMPARISONS = (
    Recorded(
        "code",
        "A small function",
        "Write a Python function that returns the sum of the squares of a list.",
        (
            ("speculative_sampling", {}),
            ("svip", {}),
            ("mcsd", {"tree": [3, 2, 1]}),
            ("eagle2", {"width": 6, "nodes": 24}),
            ("sequoia", {}),
            ("prompt_lookup", {}),
            ("typical_acceptance", {}),
        ),
    ),
    Recorded(
        "repeating",
        "Repeating a text",
        "Repeat the following text word for word: The meeting of the garden club begins at nine. "
        "The members of the garden club bring seeds, tools and a warm coat. The members of the "
        "garden club go home at noon. The gardener of the garden club closes the gate of the "
        "garden.",
        (
            ("prompt_lookup", {}),
            ("speculative_sampling", {}),
            ("svip", {}),
            ("mcsd", {"tree": [3, 2, 1]}),
            ("eagle2", {"width": 6, "nodes": 24}),
            ("typical_acceptance", {}),
        ),
    ),
    Recorded(
        "sky",
        "Why the sky is blue, drawn at temperature 0.7",
        "Explain in two sentences why the sky is blue.",
        (
            ("speculative_sampling", {}),
            ("block_verification", {}),
            ("mcsd", {"tree": [3, 2, 1]}),
            ("spectr", {}),
            ("sequoia", {}),
            ("typical_acceptance", {}),
        ),
        temperature=0.7,
    ),
)


def record(wanted: Recorded, engine: Engine) -> Comparison:
    """Decode one comparison. Raises ValueError where a method failed."""
    runs = _runs(wanted, engine, wanted.wishes)
    return Comparison(created=runs[0].created, title=wanted.title, runs=runs)


def control(wanted: Recorded, engine: Engine, made: Comparison) -> float:
    """Return plain decoding's time, measured once more, over that of the comparison."""
    again, *_ = _runs(wanted, engine, (("plain", {}),))
    return _ms(again) / _ms(made.runs[0])


def main() -> int:
    engine = load_engine(dtype="bfloat16")
    FOLDER.mkdir(parents=True, exist_ok=True)
    ratios: list[float] = []
    for number, wanted in enumerate(COMPARISONS, start=1):
        made = record(wanted, engine)
        ratios.append(control(wanted, engine, made))
        path = FOLDER / f"{number}-{wanted.name}.json.gz"
        write(made, path)
        size = path.stat().st_size // 1024
        print(f"{path.name}: {size} KB, plain decoding again took {ratios[-1]:.2f} of its time")
        for run in made.runs:
            print(f"  {_told(run, made.runs[0])}", flush=True)
    if any(abs(ratio - 1) > _TOLERANCE for ratio in ratios):
        print("The machine was not quiet: record again, or the times say nothing.")
        return 1
    return 0


def _runs(wanted: Recorded, engine: Engine, wishes: tuple[Wish, ...]) -> list[Trace]:
    requests = [
        Request(
            prompt=wanted.prompt,
            method=get(key),
            config=config,
            temperature=wanted.temperature,
            seed=wanted.seed,
            max_new_tokens=wanted.max_new_tokens,
        )
        for key, config in wishes
    ]
    steps = compare(engine, requests, time.perf_counter, _now, _WARM)
    runs = [step.trace for step in steps if step.trace is not None]
    for run in runs:
        if run.message:
            raise ValueError(f"{run.method_name}: {run.message}")
    return runs


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ms(run: Trace) -> float:
    return sum(map(spent, (each.cost for each in rounds_after_prompt(run))))


def _told(run: Trace, plain: Trace) -> str:
    found = verdict(run, plain)
    return (
        f"{run.method:24} {len(run.rounds):3} rounds {_ms(run):7.0f} ms  "
        f"{found.same} of {found.total} {found.cause or 'identical'}"
    )


if __name__ == "__main__":
    sys.exit(main())
