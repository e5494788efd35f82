"""Every method against plain decoding: tokens per target pass, time, and where the time goes.

Each method runs with its own defaults, at temperature 0 and 1, on the benchmark's prompts, in pairs
with the plain loop on the same prompt, both with full recording. A control, plain against itself,
runs first and last at either temperature; where it is off by more than 5 %, the run is void.
`python -m benchmarks.methods` prints a table; `--out` writes the numbers as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.bench import TOLERANCE
from benchmarks.pairs import Ratio, Timed, interleave, ratio
from benchmarks.prompts import PROMPTS
from core.decode import decode, start
from core.dice import SeededDice
from core.engine import load_engine
from core.laws import Law
from core.registry import Method, methods
from core.run import Engine
from core.trace import Round

PLAIN = "plain"
TEMPERATURES = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """`plain_over`: plain's time over the method's, above 1 where the method is faster.

    Shares are of a round's time without recording; `record` is over that time. `drafted` and
    `accepted` count tokens, `rounds` target passes after the prompt's.
    """

    method: str
    temperature: float
    plain_over: Ratio
    tokens_per_pass: float
    drafted: int
    accepted: int
    rounds: int
    draft: float
    verify: float
    accept: float
    record: float


def timed(
    engine: Engine,
    method: Method,
    ids: Sequence[int],
    law: Law,
    tokens: int,
    kept: list[Sequence[Round]],
) -> Timed:
    """Return a run of one method that writes `tokens` tokens, whatever ends a text; its rounds go
    to `kept`.
    """

    def run() -> float:
        decoder = method.build({}, engine.models)
        began = time.perf_counter()
        state = start(ids, engine.target, decoder, law, tokens)
        rounds = list(decode(state, SeededDice(len(ids)), time.perf_counter))
        seconds = time.perf_counter() - began
        kept.append(rounds[1:])
        return seconds

    return run


def measured(
    engine: Engine,
    key: str,
    temperature: float,
    prompts: Sequence[Sequence[int]],
    tokens: int,
    repeats: int,
) -> Measured:
    """Run a method in pairs with plain decoding. Raises ValueError where it cannot be built."""
    law, rounds, ignored = Law(temperature), list[Sequence[Round]](), list[Sequence[Round]]()
    pairs = [
        (
            timed(engine, methods()[key], ids, law, tokens, rounds),
            timed(engine, methods()[PLAIN], ids, law, tokens, ignored),
        )
        for ids in prompts
    ]
    interleave(pairs[:1], 1)
    rounds.clear()
    found = ratio([(t[0], t[1]) for t in interleave(pairs, repeats)])
    return summed(key, temperature, found, [made for text in rounds for made in text])


def summed(key: str, temperature: float, found: Ratio, rounds: Sequence[Round]) -> Measured:
    """Return what all rounds of a method add up to."""
    costs = [made.cost for made in rounds]
    draft = sum(cost.draft_ms for cost in costs)
    verify = sum(cost.verify_ms for cost in costs)
    accept = sum(cost.accept_ms for cost in costs)
    total = draft + verify + accept
    emitted = sum(len(made.outcome.emitted) for made in rounds)
    return Measured(
        method=key,
        temperature=temperature,
        plain_over=found,
        tokens_per_pass=emitted / len(rounds),
        drafted=sum(made.drafted for made in rounds),
        accepted=sum(len(made.outcome.accepted) for made in rounds),
        rounds=len(rounds),
        draft=draft / total,
        verify=verify / total,
        accept=accept / total,
        record=sum(cost.record_ms for cost in costs) / total,
    )


def line(made: Measured) -> str:
    r = made.plain_over
    return (
        f"{made.method:24} T={made.temperature:g}  {made.tokens_per_pass:5.2f} tokens/pass  "
        f"{r.median:.2f} x plain [{r.low:.2f}, {r.high:.2f}]  accept {100 * made.accept:4.1f} %  "
        f"record {100 * made.record:4.1f} %"
    )


def table(rows: Sequence[Measured]) -> str:
    """Return the numbers as the table of docs/performance.md: a line per method, with a cell per
    temperature.
    """
    heats = sorted({row.temperature for row in rows})
    told = ["| method |" + "".join(_HEADS.format(heat) for heat in heats)]
    told.append("|---|" + "---|" * 4 * len(heats))
    for key in dict.fromkeys(row.method for row in rows):
        found = {row.temperature: row for row in rows if row.method == key}
        cells = (_cells(found[heat]) if heat in found else " |" * 4 for heat in heats)
        told.append(f"| `{key}` |" + "".join(cells))
    return "\n".join(told)


_HEADS = " T={:g}: tokens per pass | plain / method | draft | accept, record |"


def _cells(row: Measured) -> str:
    r = row.plain_over
    return (
        f" {row.tokens_per_pass:.2f} | {r.median:.2f} [{r.low:.2f}, {r.high:.2f}] | "
        f"{100 * row.draft:.0f} % | {100 * row.accept:.1f}, {100 * row.record:.1f} % |"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="repeats per prompt (default 1)")
    parser.add_argument("--prompts", type=int, default=12, help="at most 12 (default 12)")
    parser.add_argument("--tokens", type=int, default=64, help="written per prompt (default 64)")
    parser.add_argument("--only", nargs="+", choices=list(methods()), default=list(methods()))
    parser.add_argument("--threads", default="auto")
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    options = parser.parse_args(argv)
    engine = load_engine(threads=options.threads)
    texts = [text for kind in zip(*PROMPTS.values(), strict=True) for text in kind]
    prompts = [engine.text.encode(text, True) for text in texts[: options.prompts]]
    print(
        f"{engine.target.card.id}, {engine.environment.processor}, "
        f"{engine.environment.threads} threads, load {os.getloadavg()[0]:.2f}"
    )
    found, controls, left_out = list[Measured](), list[Measured](), dict[str, str]()
    for temperature in TEMPERATURES:

        def run(key: str, at: float = temperature) -> Measured:
            return measured(engine, key, at, prompts, options.tokens, options.repeats)

        controls.append(run(PLAIN))
        for key in options.only:
            if key == PLAIN:
                continue
            try:
                found.append(run(key))
            except ValueError as error:  # no weights, no second model
                left_out[key] = str(error)
                continue
            print(line(found[-1]), flush=True)
        controls.append(run(PLAIN))
    void = any(abs(made.plain_over.median - 1) > TOLERANCE for made in controls)
    print(table(found))
    for key, reason in left_out.items():
        print(f"{key}: left out. {reason}")
    for made in controls:
        print(f"control T={made.temperature:g}: {made.plain_over.median:.3f}")
    if options.out:
        report = {
            "date": datetime.now(UTC).date().isoformat(),
            "model": msgspec.to_builtins(engine.target.card),
            "machine": msgspec.to_builtins(engine.environment),
            "prompts": len(prompts),
            "tokens": options.tokens,
            "void": void,
            "controls": [asdict(made) for made in controls],
            "methods": [asdict(made) for made in found],
            "left_out": left_out,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    if void:
        print(
            "Void: plain decoding differed from itself by more than 5 %. Repeat on a quiet machine."
        )
    return int(void)


if __name__ == "__main__":
    sys.exit(main())
