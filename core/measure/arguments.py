"""`python -m core.measure acceptance`: how often the first, second ... child of a node stays.

Measures one target, drafter and temperature on a small set of prompts and writes a JSON file into
the user's cache, where the method Sequoia finds it. What was counted of each prompt is kept: a
command that was stopped goes on when it is given again, and one with more --prompts begins with
those that were counted before. With --times it also times the target for 1 to 64 tokens at once and
a forward of the drafter: let nothing else run then.

  python -m core.measure acceptance --temperature 0.7
  python -m core.measure acceptance --drafter exit --exit-layer 24 --times
  python -m core.measure acceptance --model org/large --drafter model --draft org/small --prompts 32
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from core.drafters.choice import DraftModelConfig
from core.measure import tuning
from core.parts import heads


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command; its defaults for drafters are those of all methods."""
    usual = DraftModelConfig.model_validate({})
    whole = argparse.ArgumentParser(
        prog="python -m core.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = whole.add_subparsers(dest="kind", required=True, metavar="WHAT")
    made = kinds.add_parser(
        "acceptance",
        help="acceptance by place, for Sequoia",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    drafters = ("skip", "exit", "model", *heads())
    made.add_argument("--model", default="default", metavar="ID", help="the target")
    made.add_argument(
        "--drafter",
        choices=drafters,
        default=usual.drafter,
        help=f"{', '.join(drafters)} (default: {usual.drafter})",
        metavar="KIND",
    )
    made.add_argument(
        "--skip-layers",
        type=int,
        nargs="+",
        default=list(usual.skip_layers),
        metavar="LAYER",
        help="with --drafter skip (default: %(default)s)",
    )
    made.add_argument(
        "--exit-layer",
        type=int,
        default=usual.exit_layer,
        metavar="LAYER",
        help="with --drafter exit (default: %(default)s)",
    )
    made.add_argument("--draft", metavar="ID", help="second model, with --drafter model")
    made.add_argument(
        "--weights",
        default=usual.weights,
        metavar="ID",
        help="of a trained head, if not the usual",
    )
    _add_number(made, "--temperature", float, 1.0, "0 to 2")
    _add_number(made, "--prompts", _whole(1, 160), 16, "how many are answered, of a fixed list")
    _add_number(made, "--tokens", _whole(3, 2048), 64, "most of an answer")
    _add_number(made, "--children", _whole(1, 64), 20, "drafted per node")
    _add_number(made, "--seed", int, 0, "of all luck")
    made.add_argument("--times", action="store_true", help="time the forwards too")
    made.add_argument("--dtype", default="auto", metavar="TYPE")
    made.add_argument("--device", default="auto", metavar="D")
    made.add_argument("--threads", default="auto", metavar="N")
    made.add_argument("--folder", type=Path, help="where to write (default: the user's cache)")
    made = kinds.add_parser(
        "tune",
        help="tree, depth and threads that suit this machine",
        description=tuning.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _describe_tune(made)
    return whole


def _describe_tune(made: argparse.ArgumentParser) -> None:
    drafters = ("skip", "exit", "model", *heads())
    made.add_argument("--model", default="default", metavar="ID", help="the target")
    made.add_argument(
        "--draft", metavar="ID", help="second model (default: the project's own, where it has one)"
    )
    made.add_argument(
        "--drafters",
        nargs="+",
        choices=drafters,
        default=[],
        metavar="KIND",
        help=f"{', '.join(drafters)} (default: all that there are)",
    )
    _add_number(made, "--temperature", float, 0.0, "0 to 2")
    _add_number(
        made, "--prompts", _whole(0, 160), 4, "answered where acceptance is not known; 0: none"
    )
    _add_number(made, "--seed", int, 0, "of all luck")
    made.add_argument("--dtype", default="auto", metavar="TYPE")
    made.add_argument("--device", default="auto", metavar="D")
    made.add_argument(
        "--threads", type=_whole(1, 4096), metavar="N", help="most threads (default: all cores)"
    )


def _add_number(
    parser: argparse.ArgumentParser,
    name: str,
    kind: Callable[[str], float],
    usual: float,
    words: str,
) -> None:
    parser.add_argument(
        name, type=kind, default=usual, metavar="N", help=f"{words} (default: {usual:g})"
    )


def _whole(low: int, high: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"it is {text!r}; allowed are {low} to {high}")
        return int(text)

    return whole
