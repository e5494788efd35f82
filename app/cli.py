"""The command line: from words to an exit status. Errors of all layers end here, one sentence each.

A command's module is imported when it runs, so that `show`, `check`, `export` and `--help` start
without torch.
"""

from __future__ import annotations

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Protocol, cast

from app.address import address
from app.commands.arguments import parse
from app.commands.console import Progress, printable
from app.commands.errors import CommandError
from app.commands.surroundings import LoadEngine, Surroundings
from core.models.errors import ModelError
from core.trace_io import TraceError

FINE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


class Command(Protocol):
    """A module of `app.commands`."""

    def execute(self, args: Namespace, surroundings: Surroundings) -> int:
        """Do it; return the exit status."""
        ...


def main(argv: Sequence[str] | None = None, load_engine: LoadEngine | None = None) -> int:
    """Run one command and return its exit status; `load_engine` stands in for real models."""
    _open_streams()
    surroundings = Surroundings(load_engine) if load_engine else Surroundings()
    try:
        status = _execute(argv, surroundings)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # `| head` has seen enough
        _silence_stdout()
        return FINE
    except KeyboardInterrupt:
        return _complain("Interrupted.", INTERRUPTED)
    except (CommandError, ModelError, TraceError, ImportError) as error:
        return _complain(str(error), FAILED)
    except ValueError as error:
        return _complain(str(error), WRONG_USE)
    except OSError as error:
        _silence_stdout()
        return _complain(f"Reading or writing failed: {error.strerror or error}.", FAILED)


def _execute(argv: Sequence[str] | None, surroundings: Surroundings) -> int:
    try:
        args = parse(argv)
    except SystemExit:  # --help and --version have printed
        return FINE
    if args.command == "serve":
        _check_address()
    with Progress(sys.stderr) as progress:
        if sys.stderr.isatty():  # torch takes seconds to import
            progress(0, 0, "Starting")
        command = cast(Command, importlib.import_module(f"app.commands.{args.command}"))
    return command.execute(args, surroundings)


def _check_address() -> None:
    """Refuse a wrong port before Gradio is imported, which reads the same variables."""
    try:
        address(os.environ)
    except SystemExit as error:
        raise CommandError(str(error)) from None


def _complain(sentence: str, status: int) -> int:
    print(printable(" ".join(sentence.split()), sys.stderr), file=sys.stderr)
    return status


def _open_streams() -> None:
    """Stand in for a standard stream that was closed before we began."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _silence_stdout() -> None:
    """Send what is still buffered nowhere, so that Python's last flush does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
