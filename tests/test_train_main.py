"""The command line of the trainers: a file is a family, and one command makes all of it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
import torch

from core.heads.files import read_tensors
from core.train import __main__ as command_line
from core.train import family as family_module
from core.train.__main__ import main, trainers
from core.train.family import Family, command
from core.train.report import Plan
from tests.train_toys import ToyTask, features


def add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--two-words", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--loud", action="store_true")


TOY = Family(
    kind="toy",
    name="Toy head",
    paper="Nobody 2026",
    taps=lambda options: (-1,),
    make=lambda features, options: ToyTask(torch.nn.Linear(6, 11)),
    plan=Plan(epochs=2, rate=1e-2, mixed=True),
    vocabulary=5,
    add_options=add_shape,
    details=lambda options: {"words": str(options.two_words)},
)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    TOY.add_parser(parser)
    return parser.parse_args(words)


def test_every_file_with_a_parser_is_a_command_that_says_what_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = trainers()
    assert {"corpus", "features", "decision"} <= set(found)
    assert not {"loop", "data", "card", "family"} & set(found)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    for name, module in found.items():
        assert re.search(rf"^    {name}\s", told, re.MULTILINE)
        assert module.__doc__
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0


def test_what_goes_wrong_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["features", "--model", "/nowhere/at/all"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    with pytest.raises(SystemExit) as ended:
        main(["no-such-trainer"])
    assert ended.value.code == 2


def test_a_family_trains_saves_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def opened(taps: object, model: str, shards: int | None = None) -> object:
        asked.append((taps, model, shards))
        return features()

    monkeypatch.setattr(family_module, "open_features", opened)
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "cache"))
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    out = tmp_path / "out"
    TOY.run(parsed("--out", str(out), "--shards", "4", "--threads", "1"))
    torch.set_num_threads(threads)
    assert asked == [((-1,), "default", 4)]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert {file.name for file in out.iterdir()} == {
        "config.json",
        "model.safetensors",
        "README.md",
        "training.svg",
    }
    first = read_tensors(out / "model.safetensors", 10**6)
    assert "tokens per pass" in capsys.readouterr().out
    told = (out / "README.md").read_text(encoding="utf-8")
    assert "| words | 3 |" in told
    assert "the hub differ" in told
    assert str(tmp_path) not in told
    again = tmp_path / "again"  # the run is kept: the same weights, at once
    TOY.run(parsed("--out", str(again), "--shards", "4", "--threads", "1"))
    second = read_tensors(again / "model.safetensors", 10**6)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_command_on_the_card_makes_the_same_run() -> None:
    options = parsed("--layers", "1", "2", "--loud", "--no-mixed", "--rate", "0.25", "--threads=2")
    line = command("toy", options)
    assert line.startswith("python -m core.train toy ")
    words = line.removeprefix("python -m core.train toy ").split()
    again = vars(parsed(*words)) | {"threads": "2"}
    assert again == vars(options)
    assert "--threads" not in line
    assert "--loud" not in command("toy", parsed())
    assert "--mixed" in command("toy", parsed())


def test_a_stop_by_hand_says_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainers()["features"], "load_teacher", interrupted)
    assert command_line.main(["features"]) == 130
    assert "start it again" in capsys.readouterr().err


def test_the_documentation_names_every_command() -> None:
    text = (Path(__file__).parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(trainers())
