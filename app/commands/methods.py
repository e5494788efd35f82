"""`methods`: the catalogue, as text for people or as JSON for programs."""

from __future__ import annotations

import shutil
import sys
import textwrap

from msgspec import Struct

from app.commands.console import print_json, printable
from app.commands.examples import PROGRAM
from app.commands.namespaces import MethodsArguments
from app.commands.parameters import Parameter, allowed, parameters, written
from app.commands.surroundings import Surroundings
from core.registry import Method, methods

_WIDEST = 100
_HOW = f"Run one: {PROGRAM} run --method KEY --set NAME=VALUE --prompt TEXT"

_LONGEST = 24  # letters of a default


class Card(Struct, frozen=True):
    """A method, and how to set it."""

    key: str
    name: str
    lossless: bool
    idea: str
    paper: str
    url: str
    year: int
    family: str
    parameters: list[Parameter]


def execute(args: MethodsArguments, surroundings: Surroundings) -> int:
    cards = [card(method) for method in methods().values()]
    if args.json:
        print_json(cards, sys.stdout)
    else:
        width = min(_WIDEST, shutil.get_terminal_size().columns)
        told = [told_card(found, width) for found in cards]
        print(printable("\n\n".join([*told, _HOW]), sys.stdout))
    return 0


def card(method: Method) -> Card:
    return Card(
        method.key,
        method.name,
        method.lossless,
        method.idea,
        method.paper,
        method.url,
        method.year,
        method.family,
        parameters(method.config),
    )


def told_card(found: Card, width: int) -> str:
    """Return a card as lines of at most `width` characters, where its words allow that."""
    kind = "lossless" if found.lossless else "lossy"
    lines = [
        *_wrapped(f"{found.key} · {found.name} · {found.family}, {kind}", width, ""),
        *_wrapped(found.idea, width, "  "),
        *_wrapped(" · ".join(filter(None, (found.paper, found.url))), width, "  "),
    ]
    room = max((len(_set(parameter)) for parameter in found.parameters), default=0)
    for parameter in found.parameters:
        lines += _wrapped(_told(parameter), width, f"    {_set(parameter):<{room}}  ", room + 6)
    return "\n".join(lines)


def _set(parameter: Parameter) -> str:
    default = written(parameter.default)
    shown = default if len(default) <= _LONGEST else default[: _LONGEST - 1] + "…"
    return f"{parameter.name}={shown}"


def _told(parameter: Parameter) -> str:
    return ". ".join(filter(None, (allowed(parameter), parameter.description.rstrip("."))))


def _wrapped(text: str, width: int, first: str, indent: int | None = None) -> list[str]:
    later = " " * (len(first) if indent is None else indent)
    return textwrap.wrap(
        text,
        max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
