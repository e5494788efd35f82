"""`compare`: decode one prompt with several methods and say how they did beside each other.

Everything that can be wrong with the request is told before a model is loaded.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from app.commands.chosen import Chosen, chosen
from app.commands.compared import compared_all
from app.commands.console import Progress, print_json, printable
from app.commands.errors import CommandError, UsageError
from app.commands.export import write_whole
from app.commands.namespaces import CompareArguments, DecodeArguments
from app.commands.prompt import prompt_text
from app.commands.request import check_draft, check_models, load, request_of
from app.commands.run import INTERRUPTED
from app.commands.surroundings import Surroundings
from core.compare.comparison import Comparison
from core.compare.files import write
from core.compare.running import compare
from core.run import Engine, Request
from core.trace import Trace
from viz.compare.export import comparison_html, entries_of
from viz.compare.table import csv
from viz.compare.terminal import render

WARM = 4  # tokens that each method decodes before its time counts
_WIDEST = 120
_ORIGIN = "Your run"


def execute(args: CompareArguments, surroundings: Surroundings) -> int:
    folder = target_folder(args.out) if args.out is not None else None
    methods = chosen(args.methods, args.set, with_plain=False)
    requests = read_requests(methods, prompt_text(args.prompt, sys.stdin), args)
    with Progress(sys.stderr) as progress:
        engine = load(args, surroundings, progress)
    with Progress(sys.stderr) as progress:
        runs = decode(engine, requests, surroundings, progress)
    if runs[0].message:
        raise CommandError(runs[0].message)
    if len(runs) == 1:
        raise KeyboardInterrupt
    comparison = Comparison(created=runs[0].created, runs=runs)
    try:
        _print(comparison, methods, args.json)
    finally:
        if folder is not None:
            save(comparison, folder)
    if runs[-1].finish_reason == "cancelled" or len(runs) <= len(methods):
        return INTERRUPTED
    return _told_failures(comparison)


def read_requests(methods: Sequence[Chosen], prompt: str, args: DecodeArguments) -> list[Request]:
    """Return what is to be done; raise UsageError or another ValueError where it cannot be."""
    requests = [request_of(each.method, each.pairs, prompt, args) for each in methods]
    check_draft(requests, args)
    check_models(args)
    return requests


def decode(
    engine: Engine, requests: Sequence[Request], surroundings: Surroundings, progress: Progress
) -> list[Trace]:
    """Return the traces of plain decoding and all methods, or of those done before Ctrl-C."""
    runs: list[Trace] = []
    names = ["plain decoding", *(request.method.name for request in requests)]
    goal = requests[0].max_new_tokens
    steps = compare(engine, requests, surroundings.clock, surroundings.now, WARM)
    try:
        for step in steps:
            progress(step.tokens, goal, f"{names[step.run]} ({step.run + 1} of {len(names)})")
            if step.trace is not None:
                runs.append(step.trace)
    except KeyboardInterrupt:
        if not runs:
            raise
    return runs


def target_folder(name: str) -> Path:
    """Return the folder to write to, which need not be there yet; raise UsageError where it cannot
    be.
    """
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{name!r} is a file; name a folder.")
    above = folder if folder.is_dir() else folder.parent
    if not above.is_dir():
        raise UsageError(f"There is no folder {str(above)!r} to write to.")
    if not os.access(above, os.W_OK):
        raise UsageError(f"The folder {str(above)!r} cannot be written to.")
    return folder


def save(comparison: Comparison, folder: Path) -> None:
    """Write the comparison, its page and its table."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CommandError(f"{str(folder)!r} cannot be made: {error.strerror}.") from error
    write(comparison, folder / "comparison.json.gz")
    write_whole(folder / "comparison.html", comparison_html(comparison, _ORIGIN).encode())
    write_whole(folder / "table.csv", csv(entries_of(comparison)).encode())
    print(f"Wrote comparison.json.gz, comparison.html and table.csv to {folder}", file=sys.stderr)


def _print(comparison: Comparison, methods: Sequence[Chosen], as_json: bool) -> None:
    if as_json:
        print_json(compared_all(comparison, [each.label for each in methods]), sys.stdout)
        return
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    sys.stdout.write(printable(render(entries_of(comparison), width, _ORIGIN), sys.stdout))


def _told_failures(comparison: Comparison) -> int:
    failed = [run for run in comparison.runs if run.finish_reason == "error"]
    if not failed:
        return 0
    if len(failed) == 1:
        raise CommandError(f"{failed[0].method_name}: {failed[0].message}")
    raise CommandError(f"{len(failed)} methods failed; the table says why.")
