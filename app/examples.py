"""The recorded examples that the page opens with: what they are, and the command that records them
anew.

`python -m app.examples` decodes each with the default model and writes `assets/examples/`. Times in
a recording are those of the machine that made it, which the trace names.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from core.engine import load_engine
from core.registry import get
from core.run import Engine, Request, Run
from core.trace import Trace
from core.trace_io import write

FOLDER = Path(__file__).parent.parent / "assets" / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """One recording: `name` is its file and its key in links."""

    name: str
    title: str
    prompt: str
    method: str
    config: Mapping[str, object] = field(default_factory=lambda: dict[str, object]())
    chat: bool = True
    temperature: float = 0.0
    seed: int = 7
    max_new_tokens: int = 48


EXAMPLES = (
    Example(
        "sky",
        "Why the sky is blue",
        "Explain in two sentences why the sky is blue.",
        "rsd",
        temperature=0.7,
    ),
    Example(
        "code",
        "A small function",
        "Write a Python function that returns the sum of the squares of a list.",
        "speculative_sampling",
        max_new_tokens=64,
    ),
    Example(
        "editing",
        "Copy-editing",
        "Correct the spelling and repeat the text: The quick brown fox jumps over the lazi dog. "
        "The dog was not amused, and the quick brown fox jumps over the lazi dog again.",
        "prompt_lookup",
        max_new_tokens=64,
    ),
    Example(
        "arithmetic",
        "Arithmetic, step by step",
        "A train has 12 cars with 40 seats each. 185 seats are taken. How many are free? "
        "Show the steps.",
        "rsd",
        config={"tree": [3, 2, 1]},
        max_new_tokens=64,
    ),
    Example(
        "list",
        "A list, drawn at temperature 1",
        "List six things to pack for a day at the sea, one per line.",
        "speculative_sampling",
        temperature=1.0,
        seed=3,
    ),
    Example(
        "story",
        "A story without a chat template",
        "Once upon a time, in a village at the edge of the forest, there lived",
        "rsd",
        config={"tree": [2, 2, 2, 1]},
        chat=False,
        temperature=0.9,
        seed=11,
    ),
    Example(
        "japanese",
        "Another language, split characters",
        "「ありがとう」を英語、フランス語、ドイツ語に訳してください。",
        "speculative_sampling",
        temperature=0.7,
        seed=5,
    ),
    Example(
        "wrong",
        "A drafter that is sure and wrong",
        "Explain in two sentences why the sky is blue.",
        "speculative_sampling",
        config={"drafter": "exit", "exit_layer": 8},
        temperature=0.7,
        max_new_tokens=24,
    ),
)


def record(example: Example, engine: Engine) -> Trace:
    """Decode one example; return its trace under its title."""
    request = Request(
        prompt=example.prompt,
        method=get(example.method),
        config=example.config,
        chat=example.chat,
        temperature=example.temperature,
        seed=example.seed,
        max_new_tokens=example.max_new_tokens,
    )
    run = Run(request, engine, time.perf_counter, datetime.now(UTC).isoformat(timespec="seconds"))
    for _ in run:
        pass
    return msgspec.structs.replace(run.trace(), title=example.title)


def main() -> int:
    engine = load_engine(dtype="bfloat16")
    FOLDER.mkdir(parents=True, exist_ok=True)
    record(EXAMPLES[0], engine)  # warm: the first forwards of a process are slow
    for number, example in enumerate(EXAMPLES, start=1):
        trace = record(example, engine)
        path = FOLDER / f"{number}-{example.name}.json.gz"
        write(trace, path)
        print(
            f"{path.name}: {len(trace.rounds)} rounds, {path.stat().st_size // 1024} KB, "
            f"{trace.text[:60]!r}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
