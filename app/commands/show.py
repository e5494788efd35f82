"""`show`: a recorded trace in the terminal, whole or one round of it."""

from __future__ import annotations

import sys

from app.commands.console import print_json, printable
from app.commands.errors import UsageError
from app.commands.namespaces import ShowArguments
from app.commands.summary import summary
from app.commands.surroundings import Surroundings
from app.commands.traces import open_trace
from core.trace import Trace
from viz.terminal import render, render_round


def execute(args: ShowArguments, surroundings: Surroundings) -> int:
    trace = open_trace(args.trace)
    if args.round is not None:
        _check_round(trace, args.round)
    if args.json:
        print_json(summary(trace) if args.round is None else trace.rounds[args.round], sys.stdout)
    else:
        text = render(trace) if args.round is None else render_round(trace, args.round) + "\n"
        sys.stdout.write(printable(text, sys.stdout))
    return 0


def _check_round(trace: Trace, number: int) -> None:
    last = len(trace.rounds) - 1
    if last < 0:
        raise UsageError("This trace has no rounds.")
    if number > last:
        raise UsageError(f"There is no round {number}; this trace has rounds 0 to {last}.")
