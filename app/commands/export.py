"""`export`: a trace as a web page that works offline, or as a table."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from app.commands.errors import CommandError, UsageError
from app.commands.namespaces import ExportArguments
from app.commands.surroundings import Surroundings
from app.commands.traces import open_trace, target_path
from viz.export import to_csv
from viz.replay import replay_html


def execute(args: ExportArguments, surroundings: Surroundings) -> int:
    path = target_path(args.out, (".html", ".csv"))
    if args.table and path.suffix != ".csv":
        raise UsageError("--table chooses a table for a .csv file; leave it out for .html.")
    trace = open_trace(args.trace)
    text = replay_html(trace) if path.suffix == ".html" else to_csv(trace, args.table or "nodes")
    write_whole(path, text.encode())
    print(f"Wrote {path} ({len(text.encode()) / 1000:,.0f} kB)", file=sys.stderr)
    return 0


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that the old one stays until the new one is complete; raise CommandError."""
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise CommandError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)
