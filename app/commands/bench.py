"""`bench`: compare methods on the prompts of a file, and tell the medians.

Each prompt is a comparison of its own: plain decoding first, then the methods with the same seed. A
prompt that one method cannot finish is left out of that method's medians and told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.commands.bench_table import render
from app.commands.benched import (
    About,
    Benched,
    BenchedAll,
    Failure,
    Scored,
    about,
    middle,
    scored,
)
from app.commands.chosen import Chosen, chosen
from app.commands.compare import WARM, read_requests
from app.commands.console import Progress, print_json, printable
from app.commands.errors import CommandError
from app.commands.namespaces import BenchArguments
from app.commands.prompts import Line, read_prompts
from app.commands.request import load
from app.commands.run import INTERRUPTED
from app.commands.surroundings import Surroundings
from core.compare.running import PLAIN, compare
from core.run import Engine, Request
from core.trace import Trace


@dataclass(slots=True)
class _Found:
    """What came so far."""

    rows: list[Scored] = field(default_factory=lambda: list[Scored]())
    failures: list[Failure] = field(default_factory=lambda: list[Failure]())
    configs: dict[str, Trace] = field(default_factory=lambda: dict[str, Trace]())
    about: About | None = None
    is_whole: bool = False


def execute(args: BenchArguments, surroundings: Surroundings) -> int:
    lines = read_prompts(args.file, args.limit)
    methods = chosen(args.methods, args.set, with_plain=True)
    requests = read_requests(methods, lines[0].prompt, args)
    with Progress(sys.stderr) as progress:
        engine = load(args, surroundings, progress)
    found = _Found()
    with Progress(sys.stderr) as progress:
        try:
            for place, line in enumerate(lines):
                asked = [replace(request, prompt=line.prompt) for request in requests]
                for words in _prompt(found, place, line, methods, asked, engine, surroundings):
                    progress(place, len(lines), f"Prompt {place + 1} of {len(lines)}, {words}")
            found.is_whole = True
        except KeyboardInterrupt:
            pass
    told = _summed(found, methods)
    if args.json:
        print_json(told, sys.stdout)
    else:
        sys.stdout.write(printable(render(told), sys.stdout))
    if not found.is_whole:
        return INTERRUPTED
    if found.failures:
        raise CommandError(f"{len(found.failures)} of {len(lines) * len(methods)} runs failed.")
    return 0


def _prompt(
    found: _Found,
    place: int,
    line: Line,
    methods: Sequence[Chosen],
    requests: Sequence[Request],
    engine: Engine,
    surroundings: Surroundings,
) -> Iterator[str]:
    """Run one prompt, yield what is at work, and keep the numbers once all of it is done: an
    interruption leaves no prompt in half.
    """
    runs: list[Trace] = []
    labels = [PLAIN, *(each.label for each in methods)]
    warm = WARM if place == 0 else 0
    try:
        for step in compare(engine, requests, surroundings.clock, surroundings.now, warm):
            if step.trace is not None and step.trace.finish_reason == "cancelled":
                raise KeyboardInterrupt
            if step.trace is not None:
                runs.append(step.trace)
            yield labels[step.run]
    except ValueError as error:  # nothing can be decoded: the prompt is too long, say
        found.failures += [Failure(place, label, str(error)) for label in labels[1:]]
        return
    plain, *others = runs
    if plain.message:
        found.failures += [Failure(place, label, plain.message) for label in labels[1:]]
        return
    found.about = found.about or about(plain)
    for label, run in zip(labels[1:], others, strict=True):
        if run.message:
            found.failures.append(Failure(place, label, run.message))
        else:
            found.rows.append(scored(place, line.category, label, run, plain))
            found.configs.setdefault(label, run)


def _summed(found: _Found, methods: Sequence[Chosen]) -> BenchedAll:
    benched = [_benched(each, found) for each in methods]
    return BenchedAll(found.about, benched, found.failures, found.rows)


def _benched(each: Chosen, found: _Found) -> Benched:
    rows = [row for row in found.rows if row.key == each.label]
    names = dict.fromkeys(row.category for row in rows if row.category)
    run = found.configs.get(each.label)
    return Benched(
        each.label,
        each.method.name,
        each.method.lossless,
        run.config if run else {},
        middle(rows),
        {name: middle([row for row in rows if row.category == name]) for name in names},
    )
