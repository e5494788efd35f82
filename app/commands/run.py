"""`run`: decode one prompt, show the text as it comes, keep the record.

Everything that can be wrong with the request is told before a model is loaded.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.commands.console import Progress, print_json, printable
from app.commands.errors import CommandError
from app.commands.live import LiveText
from app.commands.namespaces import RunArguments
from app.commands.prompt import prompt_text
from app.commands.request import check_draft, check_models, load, request_of
from app.commands.summary import summary, summary_lines
from app.commands.surroundings import Surroundings
from app.commands.traces import SUFFIXES, target_path
from core.registry import get
from core.run import Request, Run
from core.trace import FinishReason, Round, Trace
from core.trace_io import write

INTERRUPTED = 130
_WIDEST = 100


@dataclass(frozen=True, slots=True)
class Ending:
    """How decoding ended, where the run itself does not know."""

    reason: FinishReason | None = None
    message: str | None = None


def execute(args: RunArguments, surroundings: Surroundings) -> int:
    out = target_path(args.out, SUFFIXES) if args.out is not None else None
    request = read_request(args)
    with Progress(sys.stderr) as progress:
        engine = load(args, surroundings, progress)
        run = Run(request, engine, surroundings.clock, surroundings.now())
    live = LiveText(engine.text.spell, engine.text.special, request.stop)
    shows = sys.stdout.isatty() and not args.json
    with Progress(sys.stderr) as progress:
        ending = decode(run, _shower(live) if shows else _counter(progress, request.max_new_tokens))
    trace = run.trace(ending.reason, ending.message)
    try:
        _print(trace, args.json, live)
    finally:
        if out is not None:
            _save(trace, out)
    if ending.message:
        raise CommandError(ending.message)
    return INTERRUPTED if ending.reason == "cancelled" else 0


def read_request(args: RunArguments) -> Request:
    """Return what is to be done; raise UsageError or another ValueError where it cannot be."""
    method = get(args.method)
    request = request_of(method, args.set, prompt_text(args.prompt, sys.stdin), args)
    check_draft([request], args)
    check_models(args)
    return request


def decode(run: Run, watch: Callable[[Round], None]) -> Ending:
    """Run to the end, an interruption or an error. What was decoded until then stays in `run`."""
    try:
        for made in run:
            watch(made)
    except KeyboardInterrupt:
        return Ending("cancelled")
    except OSError:  # of `watch`: the terminal is gone
        raise
    except Exception as error:  # libraries raise anything over models of strangers
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        return Ending("error", f"Decoding failed in round {len(run.rounds)}: {reason.rstrip('.')}.")
    return Ending()


def _shower(live: LiveText) -> Callable[[Round], None]:
    def show(made: Round) -> None:
        sys.stdout.write(printable(live.add(made.outcome.emitted), sys.stdout))
        sys.stdout.flush()

    return show


def _counter(progress: Progress, most: int) -> Callable[[Round], None]:
    done = 0

    def count(made: Round) -> None:
        nonlocal done
        done += len(made.outcome.emitted)
        progress(done, most, "Decoding")

    return count


def _save(trace: Trace, out: Path) -> None:
    write(trace, out)
    print(f"Wrote {out} ({out.stat().st_size / 1000:,.0f} kB)", file=sys.stderr)


def _print(trace: Trace, as_json: bool, live: LiveText) -> None:
    if as_json:
        print_json(summary(trace), sys.stdout)
        return
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    lines = [live.rest(trace.text), "", *summary_lines(trace, width)]
    print(printable("\n".join(lines), sys.stdout))
