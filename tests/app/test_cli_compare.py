"""`compare` and `bench` over toy models: what they print and write, how they end."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pytest

from app.cli import main
from app.commands.arguments import MOST_PROMPTS
from app.commands.chosen import chosen
from app.commands.console import Progress
from app.commands.errors import UsageError
from app.commands.prompts import MOST_BYTES, Line, read_prompts
from core.compare.files import read
from core.compare.verdict import verdict
from core.trace import token_ids
from tests.app.engines import Interrupting, Loader, ToyText, toy_engine
from tests.app.test_cli import Result, Terminal

Cli = Callable[..., Result]
COMPARE = ("compare", "--methods", "prompt_lookup,rsd", "--prompt", "abcabcabc")
DRAFT = ("--set", "drafter=model", "--draft", "./d", "--max-new-tokens", "20")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*argv: str, loader: Loader | None = None) -> Result:
        status = main(argv, load_engine=loader or Loader())
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


def told(result: Result) -> str:
    """Return the last line on standard error."""
    return result.err.splitlines()[-1]


# compare


def test_compare_prints_a_line_per_method_and_what_it_shows(cli: Cli) -> None:
    result = cli(*COMPARE, *DRAFT)
    assert result.status == 0
    table = [line for line in result.out.splitlines() if "= identical" in line]
    assert sorted(line.split(",")[0] for line in table) == ["prompt_lookup", "rsd"]
    assert re.search(r"^plain .*1\.00× .* reference$", result.out, re.M)
    assert re.search(
        r"^ +speed-up +tokens per pass +drafted +thrown away +time +text$", result.out, re.M
    )


def test_compare_json_agrees_with_the_file_that_it_wrote(cli: Cli, tmp_path: Path) -> None:
    result = cli(*COMPARE, *DRAFT, "--json", "--out", str(tmp_path / "new"))
    found, whole = json.loads(result.out), read(tmp_path / "new" / "comparison.json.gz")
    assert result.status == 0
    assert set(found) == {"prompt", "plain", "methods"}
    rows = [found["plain"], *found["methods"]]
    assert [row["method"] for row in rows] == [run.method for run in whole.runs]
    for row, run in zip(rows, whole.runs, strict=True):
        assert row["token_ids"] == token_ids(run)
        assert row["text"] == run.text
        assert row["verdict"]["identical"] == verdict(run, whole.runs[0]).is_identical
        fall = row["waterfall"]
        parts = ("plain", "fewer_passes", "wider_passes", "drafting", "rest")
        assert sum(fall[part] for part in parts) == pytest.approx(fall["total"])
        assert row["speedup"] == pytest.approx(fall["plain"] / fall["total"])


def test_compare_writes_three_files_to_a_folder_that_need_not_be_there(
    cli: Cli, tmp_path: Path
) -> None:
    for _ in range(2):
        result = cli(*COMPARE, *DRAFT, "--out", str(tmp_path / "new"))
        assert told(result).startswith("Wrote comparison.json.gz, comparison.html and table.csv")
    names = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert names == ["comparison.html", "comparison.json.gz", "table.csv"]
    assert (tmp_path / "new" / "comparison.html").read_text().startswith("<!doctype html>")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "new" / "table.csv").read_text())))
    assert {row["method"] for row in rows} == {"plain", "prompt_lookup", "rsd"}


def test_methods_share_prompt_seed_and_settings(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "c"
    words = ("--temperature", "1", "--seed", "5", "--top-k", "4", "--no-chat", "--out", str(out))
    cli("compare", "--methods", "rsd,rsd,plain", "--prompt", "abab", *DRAFT, *words,
        "--set", "rsd:2.tree=2,1", "rsd.tree=3")  # fmt: skip
    whole = read(out / "comparison.json.gz")
    assert [run.method for run in whole.runs] == ["plain", "rsd", "rsd"]
    assert [run.config.get("tree") for run in whole.runs] == [None, [3], [2, 1]]
    assert {run.config.get("drafter") for run in whole.runs[1:]} == {"model"}
    assert {(r.sampling.temperature, r.sampling.seed, r.sampling.top_k) for r in whole.runs} == {
        (1.0, 5, 4)
    }


def test_a_method_that_fails_is_told_and_the_others_go_on(cli: Cli, tmp_path: Path) -> None:
    result = cli(
        *("compare", "--methods", "rsd,prompt_lookup", "--prompt", "abab", "--max-new-tokens", "9"),
        *("--out", str(tmp_path / "c")),
    )
    assert result.status == 1
    assert told(result).startswith("Recursive speculative decoding: This target cannot draft")
    assert result.out.count("This target cannot draft with its own layers") == 1
    assert "prompt_lookup" in result.out
    assert [run.finish_reason for run in read(tmp_path / "c" / "comparison.json.gz").runs] == [
        "length",
        "error",
        "length",
    ]


def test_ctrl_c_before_anything_is_done_is_one_word(cli: Cli, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    loader = Loader(toy_engine(Interrupting(2, interrupt)))
    result = cli(*COMPARE, *DRAFT, "--out", str(tmp_path / "c"), loader=loader)
    assert (result.status, told(result), result.out) == (130, "Interrupted.", "")
    assert not (tmp_path / "c").exists()


class Hostile(ToyText):
    """Every token tries to drive the terminal."""

    def spell(self, token: int) -> bytes:
        return b"\x1b]0;owned\x07" if token % 2 else "\u202e\x9b2J".encode()


def test_a_terminal_never_gets_control_characters_of_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lossy text that differs is told with the tokens that differ."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    loader = Loader(toy_engine(text=Hostile()))
    sampled = ("--temperature", "1", "--methods", "typical_acceptance,rsd")
    assert main((*COMPARE, *DRAFT, *sampled), load_engine=loader) == 0
    assert "≠" in terminal.getvalue()
    assert "owned" in terminal.getvalue()
    assert not set(terminal.getvalue()) & set("\x1b\x07\x9b\u202e")


WRONG = {
    "no methods": (["compare", "--prompt", "x"], "required: --methods"),
    "plain alone": ([*COMPARE, "--methods", "plain"], "name at least one method beside plain"),
    "nothing": ([*COMPARE, "--methods", ","], "nothing to compare"),
    "too many": ([*COMPARE, "--methods", ",".join(["rsd"] * 13)], "13 methods are named; 12 are"),
    "unknown method": ([*COMPARE, "--methods", "rsd,magic"], "no method 'magic'"),
    "unknown setting": (
        [*COMPARE, "--set", "wideness=3"],
        "has a setting 'wideness'",
    ),
    "setting of another": (
        [*COMPARE, "--set", "mcsd.tree=3"],
        "for 'mcsd', which is not compared; there are: prompt_lookup, rsd.",
    ),
    "unknown setting of one": ([*COMPARE, "--set", "rsd.x=3"], "has no setting 'x'"),
    "setting twice": ([*COMPARE, "--set", "rsd.tree=3", "rsd.tree=4"], "'tree' is given twice"),
    "setting range": ([*COMPARE, "--set", "prompt_lookup.length=99"], "at most 32"),
    "idle draft": (
        ["compare", "--methods", "svip,prompt_lookup", "--prompt", "x", "--draft", "./d"],
        "the drafter is skip: add --set drafter=model.",
    ),
    "no draft": (
        [*COMPARE, "--set", "rsd.drafter=model", "--model", "x/y"],
        "needs a second model, and none comes along for 'x/y'",
    ),
    "temperature": ([*COMPARE, "--temperature", "3"], "Temperature is 3; it may be 0 to 2."),
    "out is a file": ([*COMPARE, "--out", "file.txt"], "'file.txt' is a file; name a folder."),
    "out is deep": ([*COMPARE, "--out", "a/b"], "There is no folder 'a' to write to."),
    "no prompt file": (["bench", "--methods", "rsd"], "required: FILE"),
    "missing file": (["bench", "absent.txt", "--methods", "rsd"], "'absent.txt' cannot be read"),
    "empty file": (
        ["bench", "empty.txt", "--methods", "rsd"],
        "no prompt in 'empty.txt'.",
    ),
    "limit": (["bench", "file.txt", "--methods", "rsd", "--limit", "0"], "it may be 1 to 1000"),
}


@pytest.mark.parametrize(("argv", "said"), WRONG.values(), ids=WRONG.keys())
def test_wrong_use_is_one_sentence_before_any_model_is_loaded(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: Sequence[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("one\n")
    (tmp_path / "empty.txt").write_text(" \n\n")
    loader = Loader()
    result = cli(*argv, loader=loader)
    assert (result.status, result.out, loader.asked) == (2, "", [])
    assert said in result.err
    assert result.err.count("\n") == 1
    assert len(result.err) < 400
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty.txt", "file.txt"]


def test_a_prompt_that_does_not_fit_is_told(cli: Cli) -> None:
    result = cli(*COMPARE, *DRAFT, "--prompt", "x" * 500)
    assert (result.status, result.out) == (2, "")
    assert told(result).startswith("The prompt has 500 tokens; the model's context")


# settings of several methods


def test_a_setting_goes_to_whom_it_names_and_else_to_all_that_have_it() -> None:
    pairs = [("drafter", "model"), ("rsd.tree", "3"), ("length", "6"), ("rsd:2.drafter", "exit")]
    found = {
        each.label: dict(each.pairs) for each in chosen("rsd, prompt_lookup,rsd", pairs, False)
    }
    assert found == {
        "rsd": {"tree": "3", "drafter": "model"},
        "prompt_lookup": {"length": "6"},
        "rsd:2": {"drafter": "exit"},
    }


def test_plain_decoding_may_be_its_own_control() -> None:
    assert [each.label for each in chosen("plain,rsd", [], with_plain=True)] == ["plain", "rsd"]
    assert [each.label for each in chosen("plain,rsd", [], with_plain=False)] == ["rsd"]


# prompt files


def lines_of(tmp_path: Path, name: str, text: str | bytes, limit: int | None = None) -> list[Line]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_prompts(str(path), limit)


def test_a_line_is_a_prompt_and_a_json_line_has_a_category(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "a.txt", "\ufeff one \r\n\n{two}\n") == [Line("one"), Line("{two}")]
    text = '{"prompt": "a\\nb", "category": "code", "id": 3}\n\n{"prompt": "c"}'
    assert lines_of(tmp_path, "a.jsonl", text) == [Line("a\nb", "code"), Line("c")]
    assert lines_of(tmp_path, "a.txt", "a\nb\nc", 2) == [Line("a"), Line("b")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"prompt": "a"}\n{"prompt": 3}', "^Line 2 is not of the form"),
        ("a.jsonl", '{"prompt": "a"', "^Line 1 is not of the form"),
        ("a.jsonl", "[" * 100_000, "^Line 1 is not of the form"),
        ("a.jsonl", '["a"]', "^Line 1 is not of the form"),
        ("a.jsonl", '{"category": "a"}', "^Line 1 is not of the form"),
        ("a.jsonl", '{"prompt": " "}', "^The prompt on line 1 is empty"),
        ("a.jsonl", '{"prompt": "a", "category": "' + "x" * 61 + '"}', "61 characters; 60 are"),
        ("a.jsonl", '{"prompt": "a", "category": "a\\nb"}', "character that cannot be shown"),
        ("a.txt", b"a\xff", "is not UTF-8 text: byte 1 does not fit"),
        ("a.txt", b"x" * (MOST_BYTES + 1), "8,000,000 bytes are allowed"),
        ("a.txt", "x\n" * (MOST_PROMPTS + 1), "more than 1,000 prompts: take some of them with"),
        ("a.txt", "", "There is no prompt in"),
    ],
)
def test_a_prompt_file_that_will_not_do_is_told(
    tmp_path: Path, name: str, text: str | bytes, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        lines_of(tmp_path, name, text)
    assert str(caught.value).endswith(".")


def test_a_limit_makes_a_long_file_short_enough(tmp_path: Path) -> None:
    assert len(lines_of(tmp_path, "a.txt", "x\n" * 2000, 5)) == 5


# bench


@pytest.fixture
def questions(tmp_path: Path) -> str:
    entries = [{"prompt": "ab" * (1 + i), "category": "ab"[i % 2]} for i in range(9)]
    path = tmp_path / "q.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    return str(path)


def test_bench_json_holds_the_medians_of_the_rows_that_it_lists(cli: Cli, questions: str) -> None:
    result = cli("bench", questions, "--methods", "plain,prompt_lookup,rsd", *DRAFT, "--json")
    found = json.loads(result.out)
    assert result.status == 0
    assert set(found) == {"about", "methods", "failures", "prompts"}
    assert len(found["prompts"]) == 9 * 3
    for method in found["methods"]:
        for name, told_of in [("", method["all"]), *method["categories"].items()]:
            rows = [
                row
                for row in found["prompts"]
                if row["key"] == method["key"] and name in ("", row["category"])
            ]
            assert told_of["prompts"] == len(rows)
            assert told_of["identical"] == len(rows)
            for number in ("tokens_per_pass", "speedup", "wasted"):
                values = [row[number] for row in rows if row[number] is not None]
                interval = told_of[number]
                if not values:
                    assert interval is None
                    continue
                assert interval["median"] == median(values)
                assert (interval["low"] is None) == (len(values) < 6)
    plain = found["methods"][0]["all"]
    assert plain["tokens_per_pass"]["median"] == 1
    assert plain["wasted"] is None
    assert list(found["methods"][1]["categories"]) == ["a", "b"]


def test_bench_prints_a_table_per_category(cli: Cli, questions: str) -> None:
    result = cli("bench", questions, "--methods", "prompt_lookup,rsd", *DRAFT)
    assert result.status == 0
    heads = [line.split("  ")[0] for line in result.out.splitlines() if "identical" in line]
    assert heads == ["all prompts", "a", "b"]
    assert len(re.findall(r"^rsd +\d", result.out, re.M)) == 3
    assert re.search(r"^rsd +9 +9 +\d\.\d\d \[\d\.\d\d, \d\.\d\d\]", result.out, re.M)
    assert re.search(r"^rsd +5 +5 +\d\.\d\d  ", result.out, re.M)


def test_bench_takes_the_first_prompts_only(cli: Cli, questions: str) -> None:
    result = cli("bench", questions, "--methods", "prompt_lookup", "--limit", "2", "--json")
    assert {row["prompt"] for row in json.loads(result.out)["prompts"]} == {0, 1}


def test_bench_leaves_out_what_failed_and_says_so(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text(f"abab\n{'x' * 500}\nabc\n")
    argv = ("bench", str(path), "--methods", "prompt_lookup,rsd", "--max-new-tokens", "9")
    result = cli(*argv, "--json")
    found = json.loads(result.out)
    assert (result.status, told(result)) == (1, "4 of 6 runs failed.")
    assert [(f["prompt"], f["key"]) for f in found["failures"]] == [
        (0, "rsd"),
        (1, "prompt_lookup"),
        (1, "rsd"),
        (2, "rsd"),
    ]
    assert [method["all"]["prompts"] for method in found["methods"]] == [2, 0]
    shown = cli(*argv).out
    assert "rsd, 2 prompts: This target cannot draft" in shown
    assert "rsd, 1 prompt: The prompt has 500 tokens" in shown


def interrupt_at(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come while the progress line with these words is written."""
    usual = Progress.__call__

    def interrupting(self: Progress, done: int, total: int, sentence: str) -> None:
        if words in sentence:
            raise KeyboardInterrupt
        usual(self, done, total, sentence)

    monkeypatch.setattr(Progress, "__call__", interrupting)


def test_bench_keeps_the_prompts_that_were_done_before_ctrl_c(
    cli: Cli, questions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at("Prompt 3 of 9", monkeypatch)
    result = cli("bench", questions, "--methods", "prompt_lookup", "--json")
    assert result.status == 130
    assert {row["prompt"] for row in json.loads(result.out)["prompts"]} == {0, 1}


def test_compare_keeps_the_methods_that_were_done_before_ctrl_c(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at("(3 of 3)", monkeypatch)
    result = cli(*COMPARE, *DRAFT, "--json", "--out", str(tmp_path / "c"))
    assert result.status == 130
    assert [row["key"] for row in json.loads(result.out)["methods"]] == ["prompt_lookup"]
    assert len(read(tmp_path / "c" / "comparison.json.gz").runs) == 2
