"""`make bench`: our loop against transformers' `generate`, on the same weights, dtype, threads,
prompts and length.

Every comparison is a set of interleaved pairs on the benchmark's prompts. A control pair, the same
command twice, is timed in between: if its median differs from 1 by more than 5 %, the machine was
too noisy and the run is void. Prints a report, and with `--out` writes the numbers as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from transformers import PreTrainedModel

from benchmarks.commands import NEW_TOKENS, ours, theirs, without_record
from benchmarks.pairs import Ratio, Timed, interleave, ratio
from benchmarks.prompts import PROMPTS
from benchmarks.width import width_curve
from core.engine import TokenizerText, load_engine
from core.models.base import LanguageModel

TOLERANCE = 0.05
CONTROL = "control"
EXIT, LENGTH = 28, 4
LOOKUP: dict[str, object] = {"convention": "transformers", "ngram": 2, "length": 10}
EARLY: dict[str, object] = {"drafter": "exit", "exit_layer": EXIT, "length": LENGTH}
THEIR_EARLY: dict[str, object] = {
    "assistant_early_exit": EXIT,
    "num_assistant_tokens": LENGTH,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": 0.0,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A ratio of times under the name of what is divided by what."""

    name: str
    ratio: Ratio


METHODS: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "plain": ("plain", {}, {}),
    "lookup": ("prompt_lookup", LOOKUP, {"prompt_lookup_num_tokens": 10}),
    "early-exit": ("speculative_sampling", EARLY, THEIR_EARLY),
}


def comparisons(
    target: LanguageModel,
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    repeats: int,
    names: Sequence[str],
) -> list[Comparison]:
    """Time ours against theirs on all prompts, and ours with and without recording on a third of
    them; before and after, our plain loop against itself as a control.
    """
    found = [_compared(CONTROL, _control(target, prompts), repeats)]
    for name in names:
        method, config, options = METHODS[name]
        pairs = [
            (ours(target, ids, method, config), theirs(model, ids, **options)) for ids in prompts
        ]
        found.append(_compared(f"generate / ours, {name}", pairs, repeats))
        pairs = [
            (
                ours(target, ids, method, config, without_record),
                ours(target, ids, method, config),
            )
            for ids in prompts[::3]
        ]
        found.append(_compared(f"recording / not, {name}", pairs, repeats))
    return [*found, _compared(CONTROL, _control(target, prompts), repeats)]


def _control(target: LanguageModel, prompts: Sequence[Sequence[int]]) -> list[tuple[Timed, Timed]]:
    return [
        (ours(target, ids, "plain", {}), ours(target, ids, "plain", {})) for ids in prompts[::3]
    ]


def _compared(name: str, pairs: Sequence[tuple[Timed, Timed]], repeats: int) -> Comparison:
    """Return second over first; one run of the first pair warms both up."""
    interleave(pairs[:1], 1)
    made = Comparison(name, ratio([(t[0], t[1]) for t in interleave(pairs, repeats)]))
    print(_line(made), flush=True)
    return made


def _line(made: Comparison) -> str:
    r = made.ratio
    return (
        f"{made.name:30} {r.median:.3f} [{r.low:.3f}, {r.high:.3f}]  "
        f"{r.seconds[0]:.2f} s against {r.seconds[1]:.2f} s, {r.pairs} pairs"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="repeats per prompt (default 7)")
    parser.add_argument(
        "--prompts", type=int, default=12, help="prompts used, at most 12 (default 12)"
    )
    parser.add_argument(
        "--only", nargs="+", choices=METHODS, default=list(METHODS), help="methods compared"
    )
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--threads", default="auto")
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    options = parser.parse_args(argv)
    engine = load_engine(dtype=options.dtype, threads=options.threads)
    if not isinstance(engine.text, TokenizerText):
        raise TypeError("the benchmark needs a transformers model")
    texts = [text for kind in zip(*PROMPTS.values(), strict=True) for text in kind][
        : options.prompts
    ]
    prompts = [engine.text.encode(text, True) for text in texts]
    card, machine = engine.target.card, engine.environment
    print(
        f"{card.id}, {card.dtype}, {machine.processor}, {machine.threads} threads, "
        f"load {os.getloadavg()[0]:.2f}"
    )
    print(
        f"{len(prompts)} prompts x {NEW_TOKENS} tokens x {options.repeats} repeats; "
        "medians of interleaved ratios, 95 % bootstrap intervals"
    )
    model = engine.text.loaded.model
    found = comparisons(engine.target, model, prompts, options.repeats, options.only)
    curve = width_curve(engine.target, prompts[0] * 4)
    print("verify width:", ", ".join(f"T({n})/T(1) = {t / curve[1]:.2f}" for n, t in curve.items()))
    void = [c for c in found if c.name == CONTROL and abs(c.ratio.median - 1) > TOLERANCE]
    if options.out:
        report = {
            "date": datetime.now(UTC).date().isoformat(),
            "model": msgspec.to_builtins(card),
            "machine": msgspec.to_builtins(machine),
            "void": bool(void),
            "comparisons": [{"name": c.name, **asdict(c.ratio)} for c in found],
            "width_ms": curve,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    if void:
        print(
            "Void: the same command differed from itself by more than 5 %. "
            "Keep the machine quiet and repeat."
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
