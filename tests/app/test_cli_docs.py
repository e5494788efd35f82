"""What people read about the command line agrees with what it takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from app.commands.arguments import MOST_PROMPTS, build_parser, parse
from app.commands.benched import BenchedAll
from app.commands.chosen import chosen
from app.commands.compared import ComparedAll
from app.commands.parameters import parse_settings
from app.commands.parser import Parser
from app.commands.prompt import MOST
from app.commands.prompts import MOST_BYTES
from app.commands.summary import Summary
from app.commands.values import setting
from core.compare.comparison import MOST as MOST_METHODS
from core.registry import get

PAGE = (Path(__file__).parent.parent.parent / "docs" / "cli.md").read_text()
PARSERS: dict[str, Parser] = next(
    action.choices for action in build_parser()._actions if isinstance(action.choices, dict)
)


def options(text: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", text)) - {"--help"}


def examples(text: str) -> list[list[str]]:
    """Return the arguments of every call in `text`, without what follows a `|` or `<`."""
    joined = text.replace("\\\n", " ")
    calls = re.findall(r"(?<!usage: )python -m app ([a-z]+[^|<`\n]*)", joined)
    return [shlex.split(call) for call in calls]


@pytest.mark.parametrize("name", PARSERS)
def test_the_page_names_every_option_and_no_other(name: str) -> None:
    known = options(PARSERS[name].format_usage())
    if name in ("run", "compare", "bench"):
        table = PAGE.partition(f"## {name}")[2].partition("```")[0]
    else:
        table = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}"))
    assert options(table) == known


@pytest.mark.parametrize("name", PARSERS)
def test_every_help_says_what_each_option_is_and_gives_examples(name: str) -> None:
    parser = PARSERS[name]
    assert all(action.help for action in parser._actions)
    assert examples(parser.format_help())
    assert f"| `{name}" in PAGE


@pytest.mark.parametrize(
    "argv",
    [
        argv
        for text in (
            PAGE,
            build_parser().format_help(),
            *(p.format_help() for p in PARSERS.values()),
        )
        for argv in examples(text)
    ],
    ids=" ".join,
)
def test_every_example_can_be_called(argv: list[str]) -> None:
    args = parse(argv)
    if args.command in ("compare", "bench"):
        for each in chosen(args.methods, args.set, with_plain=True):
            each.method.configure(parse_settings(each.method, each.pairs))
    if args.command == "run":
        get(args.method).configure(
            {name: value.split(",") if "," in value else value for name, value in args.set}
        )


def keys_of(section: str) -> tuple[str, ...]:
    """Return the names that the page gives for what `--json` prints."""
    told = PAGE.partition(f"\n## {section}\n")[2].partition("nothing else: ")[2].partition(".")[0]
    return tuple(re.findall(r"`(\w+)`", told))


def test_the_page_states_limits_keys_and_statuses_as_they_are() -> None:
    assert f"at most {MOST:,} bytes" in PAGE
    assert f"at most {MOST_PROMPTS:,} prompts" in PAGE
    assert f"{MOST_BYTES:,} bytes" in PAGE
    assert f"{MOST_METHODS} methods" in PAGE
    assert keys_of("run") == Summary.__struct_fields__
    assert keys_of("compare") == ComparedAll.__struct_fields__
    assert keys_of("bench") == BenchedAll.__struct_fields__
    for name, kind in (("compare", ComparedAll), ("bench", BenchedAll)):
        told = " ".join(PARSERS[name].format_help().split())
        assert f"one JSON object: {', '.join(kind.__struct_fields__)}" in told
    assert re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE) == ["0", "1", "2", "130"]
    pairs = re.findall(r"`(\w+=[\w,]+)`", PAGE)
    assert pairs
    assert all(setting(pair)[1] for pair in pairs)
