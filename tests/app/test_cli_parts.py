"""The parts of the command line on their own: live text, terminals, prompts, settings."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from app.commands.console import Progress, print_json, printable
from app.commands.errors import UsageError
from app.commands.live import LiveText
from app.commands.parameters import Parameter, allowed, parameters, parse_settings, written
from app.commands.prompt import MOST, prompt_text
from app.commands.values import DTYPES
from core.ending import Endings
from core.models import devices
from core.registry import MethodConfig, get, methods
from tests.app.test_cli import Terminal

PIECES = st.lists(
    st.sampled_from([b"a", b"b", b"ab", b"\xc3", b"\xa9", b"\xff", b"", b"\n", b"<end>"])
)


@given(
    rounds=st.lists(PIECES, max_size=6),
    stops=st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=2),
)
def test_live_text_is_always_a_beginning_of_the_finished_text(
    rounds: list[list[bytes]], stops: list[str]
) -> None:
    vocabulary = sorted({piece for pieces in rounds for piece in pieces})
    special = frozenset(i for i, piece in enumerate(vocabulary) if piece == b"<end>")
    live = LiveText(vocabulary.__getitem__, special, stops)
    whole = b"".join(piece for pieces in rounds for piece in pieces if piece != b"<end>")
    finished = Endings(strings=tuple(stops)).trimmed(whole.decode(errors="replace"))
    shown = "".join([live.add(map(vocabulary.index, pieces)) for pieces in rounds])
    assert finished.startswith(shown)
    assert shown + live.rest(finished) == finished


def test_live_text_holds_back_what_may_become_a_stop_string_or_a_character() -> None:
    pieces = [b"on", b"e ST", b"OP two", b"\xc3", b"\xa9"]
    live = LiveText(pieces.__getitem__, frozenset(), ("STOP",))
    assert [live.add([0]), live.add([1]), live.add([2])] == ["on", "e ", ""]
    live = LiveText(pieces.__getitem__, frozenset(), ("STOP",))
    assert [live.add([1]), live.add([0]), live.add([3]), live.add([4])] == ["e ", "STon", "", "é"]


HOSTILE = "a\x1b[31m\x07\x9b\u202e\u2028\ud800\r"


def test_a_terminal_is_shown_marks_and_a_file_gets_the_text() -> None:
    shown = printable(HOSTILE, Terminal())
    assert shown == "a‹1B›[31m‹07›‹9B›‹202E›‹2028›‹D800›‹0D›"
    assert printable("line\n\ttab 👩\u200d🔬", Terminal()) == "line\n\ttab 👩\u200d🔬"
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert printable("a\x1b\u202e", file) == "a\x1b\u202e"
    assert printable("\ud800", file) == "\\ud800"


def test_what_an_encoding_lacks_becomes_escapes() -> None:
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert printable("é☃", latin) == "é\\u2603"


@pytest.mark.parametrize(("encoding", "said"), [("utf-8", "é☃"), ("ascii", "\\u00e9\\u2603")])
def test_json_is_json_in_every_encoding(encoding: str, said: str) -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding)
    print_json({"text": "é☃"}, stream)
    stream.flush()
    assert data.getvalue().decode() == f'{{"text": "{said}"}}\n'


def test_progress_writes_over_its_line_and_leaves_nothing() -> None:
    terminal = Terminal()
    with Progress(terminal) as progress:
        progress(0, 100, "Loading it.")
        progress(1, 100, "Loading it.")
        progress(1, 100, "Loading it.")
    erase = "\r\x1b[2K"
    assert terminal.writes == [f"{erase}Loading it: 0 %", f"{erase}Loading it: 1 %", erase]


def test_progress_in_a_log_is_a_line_per_sentence() -> None:
    log = io.StringIO()
    with Progress(log) as progress:
        for done in range(50):
            progress(done, 50, "Loading\x1b it")
        progress(0, 0, "Decoding")
    assert log.getvalue() == "Loading\x1b it\nDecoding\n"


def prompt(argument: str, data: bytes = b"") -> str:
    return prompt_text(argument, io.TextIOWrapper(io.BytesIO(data)))


def test_a_prompt_is_text_a_file_or_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo \r\n")
    assert prompt("plain") == "plain"
    assert prompt(f"@{file}") == "one\r\ntwo "
    assert prompt("@-", "drei ☃\n\n".encode()) == "drei ☃\n"
    assert prompt("@@home") == "@home"
    assert prompt("@-") == ""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"abc\xff", "is not UTF-8 text: byte 3 does not fit."),
        (b"x" * (MOST + 1), "is too long; 1,000,000 bytes are allowed."),
    ],
)
def test_a_prompt_file_that_will_not_do_is_told(tmp_path: Path, data: bytes, said: str) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=f"^The prompt in '{file}' {said}$"):
        prompt(f"@{file}")
    with pytest.raises(UsageError, match=f"^The prompt in 'standard input' {said}$"):
        prompt("@-", data)


def test_the_number_formats_are_those_that_models_know() -> None:
    assert set(DTYPES) == {devices.AUTO, *devices.DTYPES}


@pytest.mark.parametrize("key", list(methods()))
def test_every_default_can_be_written_and_read_back(key: str) -> None:
    method = get(key)
    pairs = [(p.name, written(p.default)) for p in parameters(method.config)]
    assert method.configure(parse_settings(method, pairs)) == method.config()


class Odd(MethodConfig):
    """Every kind of setting that a method might have."""

    on: bool = Field(True, title="On", description="A switch.")
    share: float | None = Field(None, gt=0, le=1, title="Share")
    level: Literal[1, 2, 4] = 2
    names: tuple[str, ...] = ("a", "b")
    pair: tuple[int, int] = (1, 2)
    few: list[Annotated[int, Field(ge=1)]] = Field([1])
    only: Literal["x"] = "x"
    word: str = ""


def odd(name: str) -> Parameter:
    return next(p for p in parameters(Odd) if p.name == name)


@pytest.mark.parametrize(
    ("name", "kind", "said", "default"),
    [
        ("on", "boolean", "true or false", "true"),
        ("share", "number", "0 to 1", "none"),
        ("level", "integer", "1, 2 or 4", "2"),
        ("names", "list of string", "list of strings", "a,b"),
        ("pair", "list of integer", "list of integers", "1,2"),
        ("few", "list of integer", "list of integers, each 1 or more", "1"),
        ("only", "string", "x", "x"),
        ("word", "string", "string", ""),
    ],
)
def test_every_kind_of_setting_is_described(name: str, kind: str, said: str, default: str) -> None:
    found = odd(name)
    assert (found.type, allowed(found), written(found.default)) == (kind, said, default)
    assert found.optional == (name == "share")


def test_values_are_read_as_their_config_declares_them() -> None:
    base = get("plain")
    method = type(base)(**{f: getattr(base, f) for f in base.__slots__} | {"config": Odd})
    pairs = [
        *(("on", "off"), ("share", "0.5"), ("level", "4"), ("names", " x, y ")),
        *(("pair", "(3,4)"), ("few", "[5]"), ("word", " as it is")),
    ]
    config = method.configure(parse_settings(method, pairs))
    assert config == Odd(
        on=False, share=0.5, level=4, names=("x", "y"), pair=(3, 4), few=[5], word="as it is"
    )
    assert method.configure(parse_settings(method, [("share", "None"), ("names", "")])) == Odd(
        names=()
    )
