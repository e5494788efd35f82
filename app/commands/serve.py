"""`serve`: the app in the browser, until it is interrupted."""

from __future__ import annotations

from app.commands.errors import CommandError
from app.commands.namespaces import ServeArguments
from app.commands.surroundings import Surroundings
from app.ui import build


def execute(args: ServeArguments, surroundings: Surroundings) -> int:
    options = {} if args.port is None else {"server_port": args.port}
    try:
        build().launch(**options)
    except SystemExit as error:  # a port that is taken, or no number
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:  # how a server is meant to end
        return 0
    return 0
