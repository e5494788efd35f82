"""`check`: is this file a valid trace, and of what?"""

from __future__ import annotations

import sys

from app.commands.console import printable
from app.commands.namespaces import CheckArguments
from app.commands.surroundings import Surroundings
from app.commands.traces import open_trace
from core.trace import Trace
from viz.numbers import count
from viz.text import visible
from viz.words import finish


def execute(args: CheckArguments, surroundings: Surroundings) -> int:
    told = visible(told_trace(open_trace(args.trace)))["text"]
    print(printable(told, sys.stdout))
    return 0


def told_trace(trace: Trace) -> str:
    """Return what a valid trace holds, in one line."""
    kind = "lossless" if trace.lossless else "lossy"
    sizes = ", ".join(
        (
            count(len(trace.prompt.token_ids), "prompt token"),
            count(trace.totals.emitted, "new token"),
            count(len(trace.rounds), "round"),
        )
    )
    return (
        f"Valid trace, schema version {trace.schema_version}, recorded {trace.created}: "
        f"{trace.method_name} ({trace.method}, {kind}) on {trace.models.target.id}; {sizes}. "
        f"{finish(trace)}"
    )
