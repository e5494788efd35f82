"""`python -m core.train NAME`: train one of the small models, from the default model's own text.

Every trainer keeps what it has done on disk and goes on from there when it is started again. A
trainer is a file of this package with `add_parser`: the file's name is the command.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import cast

import core.train
from core.models.errors import ModelError


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.train", description=__doc__)
    names = parser.add_subparsers(dest="trainer", required=True, metavar="NAME")
    for name, module in trainers().items():
        told = (module.__doc__ or name).split("\n\n")[0].replace("\n", " ").replace("%", "%%")
        add_parser = cast(Callable[[argparse.ArgumentParser], None], module.add_parser)
        add_parser(names.add_parser(name, help=told, description=told))
    options = parser.parse_args(argv)
    try:
        options.run(options)
    except (ValueError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; start it again to go on.", file=sys.stderr)
        return 130
    return 0


def trainers() -> Mapping[str, ModuleType]:
    """Return the modules of this package that are commands, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(core.train.__path__))
    modules = {
        name: importlib.import_module(f"core.train.{name}") for name in names if name != "__main__"
    }
    return {name: module for name, module in modules.items() if hasattr(module, "add_parser")}


if __name__ == "__main__":
    sys.exit(main())
