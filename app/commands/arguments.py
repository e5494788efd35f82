"""The words of the command line: its commands and their options. Imports nothing that takes time.

What a value means is decided where it is used; here only its form is checked. A wrong word raises
UsageError with one sentence.
"""

from __future__ import annotations

from argparse import BooleanOptionalAction, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence

from app.commands import examples
from app.commands.errors import UsageError
from app.commands.examples import PROGRAM
from app.commands.parser import Parser, unknown_word
from app.commands.values import (
    DTYPES,
    device,
    number,
    setting,
    text,
    threads,
    whole,
)
from core import __version__

MOST_TOKENS = 100_000  # a round has at least one, and a trace at most so many rounds
_MOST_SEED = 2**63 - 1
_MOST_COUNT = 2**53 - 1
MOST_PROMPTS = 1_000  # of one prompt file
TABLES = ("rounds", "nodes", "darts")
Add = Callable[..., object]  # of a group of options

_SETTINGS = (
    "length=6 for every method that has it, mcsd.tree=4,2,2 for one; of a method that is named "
    "twice, mcsd:2.tree=8 is the second"
)


def build_parser() -> Parser:
    parser = Parser(
        prog=PROGRAM,
        description="Decode a prompt speculatively, record every round, and look at the record.",
        epilog=examples.TOP,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"Draftscope {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog=PROGRAM
    )
    for name, (words, describe, shown) in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=words,
            description=f"{words}.",
            epilog=shown,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.set_defaults(parser=command)
        describe(command)
    return parser


def parse(argv: Sequence[str] | None) -> Namespace:
    """Return the arguments of one command, its name as `command`.

    Raises UsageError; `--help` and `--version` print and raise SystemExit.
    """
    parser = build_parser()
    args, unknown = parser.parse_known_args(argv, Namespace(parser=parser))
    if args.command is None and not unknown:
        names = ", ".join(_COMMANDS)
        raise UsageError(f"Name a command: {names} ({PROGRAM} --help shows how).")
    if unknown:
        raise UsageError(unknown_word(unknown[0], args.parser))
    return args


def _methods(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print a JSON list of cards")


def _run(parser: Parser) -> None:
    what = parser.add_argument_group("what to decode")
    what.add_argument(
        "--method", required=True, type=text, metavar="M", help="a key that `methods` lists"
    )
    _prompt(what.add_argument)
    _settings(what.add_argument, "settings of the method: length=6, tree=4,2,2, drafter=exit")
    _chat(what.add_argument)
    _sampling(parser)
    _models(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", type=text, metavar="FILE", help="write the trace: name.json.gz or name.json"
    )
    output.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: text, token_ids, metrics, rounds, finish_reason",
    )


def _compare(parser: Parser) -> None:
    what = parser.add_argument_group("what to compare")
    _methods_named(
        what.add_argument, "keys that `methods` lists; plain decoding is always compared with"
    )
    _prompt(what.add_argument)
    _settings(what.add_argument, _SETTINGS)
    _chat(what.add_argument)
    _sampling(parser)
    _models(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=text,
        metavar="DIR",
        help="write comparison.json.gz, comparison.html (works offline) and table.csv to a folder",
    )
    output.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: prompt, plain, methods",
    )


def _bench(parser: Parser) -> None:
    what = parser.add_argument_group("what to compare")
    what.add_argument(
        "file",
        type=text,
        metavar="FILE",
        help='.jsonl: a line is {"prompt": TEXT, "category": NAME}; else a line is a prompt',
    )
    _methods_named(
        what.add_argument, "keys that `methods` lists; plain among them is a control of the times"
    )
    what.add_argument(
        "--limit",
        type=whole(1, MOST_PROMPTS),
        metavar="N",
        help="only the first N prompts (default: all)",
    )
    _settings(what.add_argument, _SETTINGS)
    _chat(what.add_argument)
    _sampling(parser)
    _models(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: about, methods, failures, prompts",
    )


def _methods_named(add: Add, words: str) -> None:
    add("--methods", required=True, type=text, metavar="A,B,C", help=words)


def _prompt(add: Add) -> None:
    add(
        "--prompt",
        required=True,
        type=text,
        metavar="TEXT",
        help="the prompt; @file reads a UTF-8 file, @- standard input, @@ stands for @",
    )


def _settings(add: Add, words: str) -> None:
    add(
        "--set",
        action="extend",
        nargs="+",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help=words,
    )


def _chat(add: Add) -> None:
    add(
        "--chat",
        action=BooleanOptionalAction,
        default=True,
        help="use the model's chat template, or send the prompt as plain text (default: --chat)",
    )


def _sampling(parser: Parser) -> None:
    group = parser.add_argument_group("sampling")
    group.add_argument(
        "--temperature",
        type=number,
        default=0.0,
        metavar="T",
        help="0 (greedy) to 2 (default: %(default)g)",
    )
    group.add_argument(
        "--top-k",
        type=whole(0, _MOST_COUNT),
        default=0,
        metavar="K",
        help="keep the K likeliest tokens (default: 0, off)",
    )
    group.add_argument(
        "--top-p",
        type=number,
        default=1.0,
        metavar="P",
        help="keep the likeliest tokens up to a mass of P (default: 1, off)",
    )
    group.add_argument(
        "--seed",
        type=whole(-_MOST_SEED - 1, _MOST_SEED),
        default=0,
        metavar="S",
        help="same seed, same text (default: %(default)s)",
    )
    group.add_argument(
        "--max-new-tokens",
        type=whole(1, MOST_TOKENS),
        default=64,
        metavar="N",
        help="the text ends after N tokens (default: %(default)s)",
    )
    group.add_argument(
        "--stop",
        action="extend",
        nargs="+",
        type=text,
        default=[],
        metavar="S",
        help="the text ends before any of these strings",
    )


def _models(parser: Parser) -> None:
    group = parser.add_argument_group("models")
    group.add_argument(
        "--model",
        type=text,
        default="default",
        metavar="ID",
        help="the target: hub id, folder such as ./model, or .gguf file (default: the small "
        "model that comes along)",
    )
    group.add_argument(
        "--draft",
        type=text,
        metavar="ID",
        help="a second model that drafts, of the same vocabulary; with --set drafter=model "
        "(default: the project's own, for targets that have one)",
    )
    group.add_argument(
        "--dtype",
        choices=DTYPES,
        default="auto",
        help="number format of the weights (default: %(default)s)",
    )
    group.add_argument(
        "--device",
        type=device,
        default="auto",
        metavar="D",
        help="auto, cpu, cuda, cuda:1, mps (default: %(default)s)",
    )
    group.add_argument(
        "--threads",
        type=threads,
        default="auto",
        metavar="N",
        help="CPU threads (default: auto, the idle cores)",
    )


def _trace(parser: Parser) -> None:
    parser.add_argument("trace", type=text, metavar="TRACE", help="a trace file, .json.gz or .json")


def _show(parser: Parser) -> None:
    _trace(parser)
    parser.add_argument(
        "--round",
        type=whole(0, _MOST_COUNT),
        metavar="N",
        help="only round N; 0 is the prompt pass",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what `run --json` prints; with --round that round alone",
    )


def _export(parser: Parser) -> None:
    _trace(parser)
    parser.add_argument(
        "out",
        type=text,
        metavar="OUT",
        help="name.html: a replay that works offline; name.csv: a table",
    )
    parser.add_argument(
        "--table", choices=TABLES, help="which table a .csv file holds (default: nodes)"
    )


def _serve(parser: Parser) -> None:
    parser.add_argument(
        "--port",
        type=whole(1, 65535),
        metavar="N",
        help="port on this machine (default: GRADIO_SERVER_PORT, or 7860)",
    )


_COMMANDS: dict[str, tuple[str, Callable[[Parser], None], str]] = {
    "methods": ("List the methods with their settings", _methods, examples.METHODS),
    "run": ("Decode one prompt and print text and metrics", _run, examples.RUN),
    "compare": ("Decode one prompt with several methods", _compare, examples.COMPARE),
    "bench": ("Compare methods on many prompts", _bench, examples.BENCH),
    "show": ("Show a recorded trace in the terminal", _show, examples.SHOW),
    "export": ("Turn a trace into a web page or a table", _export, examples.EXPORT),
    "check": ("Say whether a file is a valid trace, and of what", _trace, examples.CHECK),
    "serve": ("Start the app in the browser", _serve, examples.SERVE),
}
