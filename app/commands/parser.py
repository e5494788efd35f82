"""An argument parser that tells what is wrong in one sentence. Knows no option by name."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import NoReturn

from app.commands.errors import UsageError
from app.commands.values import quoted

_OPTION = re.compile(r"--[a-z-]+")
_NEEDS_VALUE = "expected one argument"


class Parser(argparse.ArgumentParser):
    """Raises UsageError with one sentence instead of printing its usage and leaving."""

    def error(self, message: str) -> NoReturn:
        if message.endswith(_NEEDS_VALUE):
            message += "; a value that begins with a dash is written --option=-value"
        raise UsageError(f"{message[:1].upper()}{message[1:]} ({self.prog} --help shows how).")


def unknown_word(word: str, parser: Parser) -> str:
    """Return the sentence about a word that `parser` does not know, with the option it may mean."""
    name = word.partition("=")[0]
    if not name.startswith("-"):
        return f"There is a word too many, {quoted(word)} ({parser.prog} --help shows how)."
    near = difflib.get_close_matches(name, _OPTION.findall(parser.format_usage()), n=1)
    hint = f"; did you mean {near[0]}?" if near else f" ({parser.prog} --help lists them)."
    return f"There is no option {name}{hint}"
