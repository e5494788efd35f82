"""The command line in this process, over toy models: what it prints and writes, how it ends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.cli import main
from core.metrics import METRICS
from core.models.errors import ModelError
from core.registry import methods
from core.trace import Trace, token_ids
from core.trace_io import dumps, read, write
from tests import sample_traces
from tests.app.engines import Interrupting, Loader, ToyText, toy_engine

RUN = ("run", "--method", "prompt_lookup", "--prompt", "abcabcabc", "--max-new-tokens", "30")
KEYS = {"text", "token_ids", "metrics", "rounds", "finish_reason"}


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one line on standard error, progress left out."""
        *progress, last = self.err.splitlines()
        assert all(line in ("Loading the toy", "Decoding") for line in progress), self.err
        return last


Cli = Callable[..., Result]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*argv: str, loader: Loader | None = None) -> Result:
        status = main(argv, load_engine=loader or Loader())
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Trace], str]:
    def save(trace: Trace) -> str:
        path = tmp_path / "saved.json.gz"
        write(trace, path)
        return str(path)

    return save


# run


def test_run_prints_the_text_then_the_metrics(cli: Cli, tmp_path: Path) -> None:
    result = cli(*RUN, "--out", str(tmp_path / "t.json.gz"))
    trace = read(tmp_path / "t.json.gz")
    text, _, metrics = result.out.partition("\n\n30 tokens in ")
    assert (result.status, text) == (0, trace.text)
    assert "Stopped at the limit of 30 new tokens." in metrics
    assert metrics.count(" / ") >= 4


def test_run_json_is_one_object_that_agrees_with_the_trace(cli: Cli, tmp_path: Path) -> None:
    result = cli(*RUN, "--json", "--out", str(tmp_path / "t.json"))
    found, trace = json.loads(result.out), read(tmp_path / "t.json")
    assert set(found) == KEYS
    assert found["text"] == trace.text
    assert found["token_ids"] == token_ids(trace)
    assert len(found["token_ids"]) == 30
    assert [r["index"] for r in found["rounds"]] == list(range(len(trace.rounds)))
    assert found["finish_reason"] == "length"
    assert found["metrics"] == {
        name: pytest.approx(metric.function(trace).value) for name, metric in METRICS.items()
    }


def test_show_json_prints_what_run_json_printed(cli: Cli, tmp_path: Path) -> None:
    path = str(tmp_path / "t.json.gz")
    assert cli(*RUN, "--json", "--out", path).out == cli("show", path, "--json").out


def test_the_same_seed_gives_the_same_text_and_another_seed_another(cli: Cli) -> None:
    def text(seed: int) -> str:
        out = cli(*RUN, "--json", "--temperature", "1", "--seed", str(seed)).out
        return json.loads(out)["text"]

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(5)}) > 1


def test_every_option_reaches_the_trace(cli: Cli, tmp_path: Path) -> None:
    loader = Loader()
    result = cli(
        *("run", "--method", "rsd", "--prompt", "hello", "--set", "drafter=model", "tree=2,1"),
        *("--temperature", "0.5", "--top-k", "3", "--top-p", "0.9", "--seed", "-4", "--no-chat"),
        *("--max-new-tokens", "5", "--model", "./m", "--draft", "org/name", "--dtype", "float32"),
        *("--device", "cuda:1", "--threads", "2", "--out", str(tmp_path / "t.json.gz")),
        loader=loader,
    )
    trace = read(tmp_path / "t.json.gz")
    sampling = trace.sampling
    assert result.status == 0
    assert loader.asked == [
        {
            "target": "./m",
            "draft": "org/name",
            "dtype": "float32",
            "device": "cuda:1",
            "threads": "2",
        }
    ]
    assert trace.config["drafter"] == "model"
    assert trace.config["tree"] == [2, 1]
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.5, 3, 0.9)
    assert (sampling.seed, sampling.max_new_tokens) == (-4, 5)
    assert trace.prompt.messages is None
    assert trace.prompt.text == "hello"


def test_every_method_gives_the_text_of_plain_decoding_when_greedy(cli: Cli) -> None:
    def ids(*words: str) -> list[int]:
        return json.loads(cli("run", "--prompt", "abcab", "--json", *words).out)["token_ids"]

    plain = ids("--method", "plain")
    drafted = ("--set", "drafter=model", "--draft", "./d")
    assert ids("--method", "prompt_lookup") == plain
    assert ids("--method", "speculative_sampling", *drafted) == plain
    assert ids("--method", "rsd", *drafted) == plain


def test_a_stop_string_ends_the_text_before_it(cli: Cli) -> None:
    whole = json.loads(cli(*RUN, "--json").out)["text"]
    stop = next(whole[i : i + 2] for i in range(4, 20) if whole[i : i + 2].isascii())
    cut = json.loads(cli(*RUN, "--json", "--stop", "never met", stop).out)
    assert cut["text"] == whole[: whole.index(stop)]
    assert cut["finish_reason"] == "stop"


def test_without_out_nothing_is_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli(*RUN).status == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("as_json", [False, True])
def test_a_decode_error_keeps_what_was_decoded(cli: Cli, tmp_path: Path, as_json: bool) -> None:
    def fail() -> None:
        raise RuntimeError("CUDA error: device lost\nmore lines")

    path = tmp_path / "t.json.gz"
    loader = Loader(toy_engine(Interrupting(4, fail)))
    argv = (*RUN, "--out", str(path), *(["--json"] if as_json else []))
    result = cli(*argv, loader=loader)
    trace = read(path)
    done = len(trace.rounds)
    assert done > 1
    assert result.status == 1
    assert result.err.endswith(f"\nDecoding failed in round {done}: CUDA error: device lost.\n")
    assert (trace.finish_reason, trace.message) == ("error", result.err.splitlines()[-1])
    printed = json.loads(result.out)["text"] if as_json else result.out.partition("\n\n")[0]
    assert printed == trace.text


def test_an_interruption_keeps_what_was_decoded(cli: Cli, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    path = tmp_path / "t.json.gz"
    whole = json.loads(cli(*RUN, "--json").out)
    result = cli(*RUN, "--out", str(path), loader=Loader(toy_engine(Interrupting(5, interrupt))))
    trace = read(path)
    done = len(token_ids(trace))
    assert result.status == 130
    assert trace.finish_reason == "cancelled"
    assert 1 < len(trace.rounds) < len(whole["rounds"])
    assert token_ids(trace) == whole["token_ids"][:done]
    assert f"The {done} tokens of {len(trace.rounds) - 1} rounds stay." in " ".join(
        result.out.split()
    )


def test_an_interruption_while_loading_is_one_word(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    result = cli(*RUN, "--out", str(path), loader=Loader(error=KeyboardInterrupt()))
    assert (result.status, result.sentence, result.out) == (130, "Interrupted.", "")
    assert not path.exists()


def test_a_run_that_fails_at_once_can_still_be_written(cli: Cli, tmp_path: Path) -> None:
    def fail() -> None:
        raise MemoryError

    path = tmp_path / "t.json.gz"
    result = cli(*RUN, "--out", str(path), loader=Loader(toy_engine(Interrupting(0, fail))))
    assert (result.status, len(read(path).rounds)) == (1, 0)
    assert result.err.endswith("Decoding failed in round 0: MemoryError.\n")


def test_the_text_is_printed_even_if_the_trace_cannot_be_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = cli(*RUN, "--out", str(tmp_path / "t.json.gz"))
    assert (result.status, result.sentence) == (
        1,
        "t.json.gz cannot be written: No space left on device.",
    )
    assert "30 tokens in " in result.out


class Terminal(io.StringIO):
    """A stream that says it is a terminal and remembers every write."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.writes.append(text)
        return super().write(text)


def test_on_a_terminal_the_text_comes_round_by_round(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    whole = json.loads(cli(*RUN, "--json").out)
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(RUN, load_engine=Loader()) == 0
    pieces = terminal.writes[: len(whole["rounds"])]
    assert "".join(terminal.writes).startswith(whole["text"] + "\n\n30 tokens in ")
    assert whole["text"].startswith("".join(pieces))
    assert sum(bool(piece) for piece in pieces) > len(pieces) / 2


def test_a_terminal_never_gets_control_characters_of_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Hostile(ToyText):
        def spell(self, token: int) -> bytes:
            return b"\x1b]0;owned\x07" if token % 2 else "\u202e\x9b2J".encode()

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(RUN, load_engine=Loader(toy_engine(text=Hostile()))) == 0
    assert not set(terminal.getvalue()) & set("\x1b\x07\x9b\u202e")
    assert "‹1B›]0;owned‹07›" in terminal.getvalue()


# every sentence about a wrong command line

WRONG = {
    "no command": ([], "Name a command: methods, run, compare, bench, show, export, "),
    "unknown command": (["rnu"], "invalid choice: 'rnu'"),
    "unknown option": (
        [*RUN, "--temprature", "1"],
        "no option --temprature; did you mean --temperature?",
    ),
    "unlike any option": (
        [*RUN, "--zzz=1"],
        "no option --zzz (python -m app run --help lists them)",
    ),
    "abbreviated option": ([*RUN, "--temp", "1"], "no option --temp"),
    "too many words": (["check", "a", "b"], "a word too many, 'b'"),
    "no method": (["run", "--prompt", "x"], "required: --method"),
    "no prompt": (["run", "--method", "plain"], "required: --prompt"),
    "no value": (["run", "--method", "plain", "--prompt"], "written --option=-value"),
    "dash value": (["run", "--method", "plain", "--prompt", "-x"], "written --option=-value"),
    "unknown method": ([*RUN, "--method", "magic"], "no method 'magic'; there are: plain, "),
    "temperature no number": (
        [*RUN, "--temperature", "hot"],
        "--temperature: 'hot' is not a number",
    ),
    "temperature range": ([*RUN, "--temperature", "3"], "Temperature is 3; it may be 0 to 2."),
    "temperature nan": ([*RUN, "--temperature", "nan"], "Temperature is nan; it may be 0 to 2."),
    "top-k": ([*RUN, "--top-k", "-1"], "--top-k: '-1' is out of range; it may be 0 to"),
    "top-p": ([*RUN, "--top-p", "0"], "Top-p is 0; it may be above 0 and at most 1."),
    "seed": ([*RUN, "--seed", "1.5"], "--seed: '1.5' is not a whole number"),
    "large seed": (
        [*RUN, "--seed", str(2**63)],
        "is out of range; it may be -9223372036854775808 to",
    ),
    "endless number": ([*RUN, "--seed", "9" * 5000], "is not a whole number"),
    "no tokens": ([*RUN, "--max-new-tokens", "0"], "'0' is out of range; it may be 1 to 100000"),
    "empty stop": ([*RUN, "--stop", ""], "A stop string is empty; give at least one character."),
    "dtype": ([*RUN, "--dtype", "int3"], "'int3' (choose from"),
    "device": ([*RUN, "--device", "tpu"], "'tpu' is no device: use auto, cpu, cuda, cuda:1 or mps"),
    "threads": ([*RUN, "--threads", "0"], "'0' is neither auto nor a number from 1"),
    "set without =": ([*RUN, "--set", "length"], "'length' is not of the form name=value"),
    "set without name": ([*RUN, "--set", "=3"], "'=3' is not of the form name=value"),
    "set twice": ([*RUN, "--set", "length=3", "length=4"], "'length' is given twice"),
    "unknown setting": ([*RUN, "--set", "width=3"], "it has: convention, ngram, length, match."),
    "setting range": ([*RUN, "--set", "length=99"], "at most 32"),
    "setting no number": ([*RUN, "--set", "length=x"], "Copied tokens is 'x'"),
    "setting choice": ([*RUN, "--set", "match=middle"], "'leftmost' or 'rightmost'"),
    "setting list": ([*RUN, "--method", "rsd", "--set", "tree=2,x"], "Tree is 'x'"),
    "setting empty list": ([*RUN, "--method", "rsd", "--set", "tree="], "Tree is empty"),
    "no draft model": (
        [*RUN, "--method", "rsd", "--set", "drafter=model", "--model", "x/y"],
        "needs a second model, and none comes along for 'x/y': add --draft ID.",
    ),
    "idle draft model": (
        [*RUN, "--method", "rsd", "--draft", "./d"],
        "--draft names a second model, but the drafter is skip: add --set drafter=model.",
    ),
    "model name": ([*RUN, "--model", "no name"], "'no name' is not a model's name: write a hub id"),
    "draft name": (
        [*RUN, "--method", "rsd", "--set", "drafter=model", "--draft", "a b"],
        "'a b' is not a model's name",
    ),
    "not text": ([*RUN, "--prompt", "\udcff"], "--prompt: this is not UTF-8 text"),
    "missing file": (
        [*RUN, "--prompt", "@absent.txt"],
        "'absent.txt' cannot be read: No such file",
    ),
    "folder as file": ([*RUN, "--prompt", "@."], "'.' cannot be read: Is a directory"),
    "no file": ([*RUN, "--prompt", "@"], "@ alone names no file"),
    "unknown user": ([*RUN, "--prompt", "@~nobody-here/x"], "cannot be read"),
    "out name": ([*RUN, "--out", "t.txt"], "'t.txt' must end with .json.gz or .json."),
    "out suffix only": ([*RUN, "--out", ".json"], "'.json' must end with .json.gz or .json."),
    "out folder": ([*RUN, "--out", "absent/t.json"], "no folder 'absent' to write to"),
    "no trace": (["show"], "required: TRACE"),
    "missing trace": (["show", "absent.json.gz"], "There is no file 'absent.json.gz'."),
    "folder as trace": (["check", "."], "'.' is a folder; a trace is a .json.gz or .json file."),
    "round no number": (
        ["show", "t.json.gz", "--round", "two"],
        "--round: 'two' is not a whole number",
    ),
    "export name": (["export", "t.json.gz", "t.pdf"], "'t.pdf' must end with .html or .csv."),
    "export table": (["export", "t", "t.html", "--table", "nodes"], "leave it out for .html"),
    "unknown table": (["export", "t", "t.csv", "--table", "x"], "invalid choice: 'x'"),
    "port": (["serve", "--port", "99999"], "--port: '99999' is out of range; it may be 1 to 65535"),
}


@pytest.mark.parametrize(("argv", "said"), WRONG.values(), ids=WRONG.keys())
def test_wrong_use_is_one_sentence_before_any_model_is_loaded(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: Sequence[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    loader = Loader()
    result = cli(*argv, loader=loader)
    assert result.status == 2
    assert said in result.err
    assert result.err.count("\n") == 1
    assert result.err.endswith((".\n", "?\n"))
    assert len(result.err) < 400
    assert (result.out, loader.asked) == ("", [])


@pytest.mark.parametrize(
    ("argv", "loader", "status", "said"),
    [
        (RUN, Loader(error=ModelError("It is gone.")), 1, "It is gone."),
        (RUN, Loader(error=ModelError("One\n sentence.")), 1, "One sentence."),
        (
            (*RUN, "--prompt", "x" * 500),
            Loader(),
            2,
            "The prompt has 500 tokens; the model's context",
        ),
        ((*RUN, "--prompt", ""), Loader(), 2, "The prompt is empty: at least one token is needed"),
        ((*RUN, "--prompt", "no template"), Loader(), 2, "This model has no chat template"),
    ],
)
def test_what_only_the_model_can_tell_is_one_sentence_too(
    cli: Cli, argv: Sequence[str], loader: Loader, status: int, said: str
) -> None:
    result = cli(*argv, loader=loader)
    assert (result.status, result.out) == (status, "")
    assert result.sentence.startswith(said)


def test_a_folder_without_the_right_to_write_is_told_before_decoding(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    result = cli(*RUN, "--out", str(tmp_path / "t.json"))
    assert (result.status, result.sentence) == (2, f"The folder '{tmp_path}' cannot be written to.")


# show, check, export


def test_show_tells_every_round_and_one_round_alone(
    cli: Cli, saved: Callable[[Trace], str]
) -> None:
    trace = sample_traces.tree()
    path = saved(trace)
    whole, one = cli("show", path), cli("show", path, "--round", "2")
    assert (whole.status, one.status) == (0, 0)
    assert all(f"\nRound {r.index}: " in whole.out for r in trace.rounds)
    assert one.out.startswith("Round 2: ")
    assert "Round 3" not in one.out


def test_show_round_json_is_that_round(cli: Cli, saved: Callable[[Trace], str]) -> None:
    trace = sample_traces.tree()
    found = json.loads(cli("show", saved(trace), "--round", "2", "--json").out)
    assert found["index"] == 2
    assert found["nodes"]["token"] == trace.rounds[2].nodes.token


def test_show_says_which_rounds_there_are(cli: Cli, saved: Callable[[Trace], str]) -> None:
    trace = sample_traces.tree()
    last = len(trace.rounds) - 1
    result = cli("show", saved(trace), "--round", "999")
    assert (result.status, result.out) == (2, "")
    assert result.sentence == f"There is no round 999; this trace has rounds 0 to {last}."
    result = cli("show", saved(sample_traces.empty()), "--round", "0")
    assert (result.status, result.sentence) == (2, "This trace has no rounds.")


@pytest.mark.parametrize(
    "name", ["chain", "plain", "hostile", "relaxed", "empty", "failed", "cancelled"]
)
def test_every_kind_of_trace_can_be_shown_checked_and_exported(
    cli: Cli, saved: Callable[[Trace], str], tmp_path: Path, name: str
) -> None:
    trace = sample_traces.ALL[name]()
    path = saved(trace)
    assert cli("show", path).status == 0
    assert json.loads(cli("show", path, "--json").out)["token_ids"] == token_ids(trace)
    checked = cli("check", path)
    assert checked.status == 0
    assert checked.out.startswith("Valid trace, schema version 2, recorded ")
    assert trace.method in checked.out
    assert checked.out.count("\n") == 1
    out = tmp_path / "t.csv"
    for table in ("rounds", "nodes", "darts"):
        assert cli("export", path, str(out), "--table", table).status == 0
        assert out.read_text().startswith("round,")


def test_export_writes_a_page_and_says_so(
    cli: Cli, saved: Callable[[Trace], str], tmp_path: Path
) -> None:
    out = tmp_path / "t.html"
    result = cli("export", saved(sample_traces.tree()), str(out))
    assert (result.status, result.out) == (0, "")
    assert result.err.startswith(f"Wrote {out} (")
    assert out.read_text().startswith("<!doctype html>")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["saved.json.gz", "t.html"]


def test_an_export_that_cannot_be_written_leaves_the_old_file(
    cli: Cli, saved: Callable[[Trace], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    path, out = saved(sample_traces.chain()), tmp_path / "t.csv"
    out.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = cli("export", path, str(out))
    assert result.status == 1
    assert result.sentence == f"'{out}' cannot be written: No space left on device."
    assert out.read_text() == "old"


@pytest.mark.parametrize("command", [("check",), ("show",), ("show", "--json"), ("export",)])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "The file is empty"),
        (b"\x00\x01", "The file is no JSON, or damaged"),
        (b"{}", "This file has no schema_version"),
        (dumps(sample_traces.chain())[:-9], "The file is cut short"),
    ],
)
def test_a_damaged_file_is_a_failure_in_one_sentence(
    cli: Cli, tmp_path: Path, command: Sequence[str], data: bytes, said: str
) -> None:
    path = tmp_path / "bad.json.gz"
    path.write_bytes(data)
    target = [str(tmp_path / "t.csv")] if command[0] == "export" else []
    result = cli(command[0], str(path), *target, *command[1:])
    assert (result.status, result.out) == (1, "")
    assert result.sentence.startswith(said)


# methods


def test_methods_json_is_the_registry(cli: Cli) -> None:
    cards = json.loads(cli("methods", "--json").out)
    assert [card["key"] for card in cards] == list(methods())
    for card, method in zip(cards, methods().values(), strict=True):
        assert [p["name"] for p in card["parameters"]] == list(method.config.model_fields)
        for name in ("name", "lossless", "idea", "paper", "url", "year", "family"):
            assert card[name] == getattr(method, name)


def test_methods_tells_every_key_idea_and_setting(cli: Cli) -> None:
    told = cli("methods").out
    flat = " ".join(told.split())
    for method in methods().values():
        badge = "lossless" if method.lossless else "lossy"
        assert f"{method.key} · {method.name} · {method.family}, {badge}" in flat
        assert method.idea in flat
        assert all(f"\n    {name}=" in told for name in method.config.model_fields)
    assert max(map(len, told.splitlines())) <= 80


def test_serve_starts_the_app_on_the_port_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []
    launched = SimpleNamespace(launch=lambda **options: asked.append(options))
    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    monkeypatch.setattr("app.commands.serve.build", lambda: launched)
    assert [cli("serve").status, cli("serve", "--port", "8000").status] == [0, 0]
    assert asked == [{}, {"server_port": 8000}]


def test_ctrl_c_is_how_the_app_is_meant_to_end(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    monkeypatch.setattr("app.commands.serve.build", lambda: SimpleNamespace(launch=interrupt))
    assert cli("serve") == Result(0, "", "")


def test_help_and_version_are_fine(cli: Cli) -> None:
    for argv in (["--help"], ["--version"], ["run", "--help"]):
        result = cli(*argv)
        assert (result.status, result.err) == (0, "")
        assert result.out
