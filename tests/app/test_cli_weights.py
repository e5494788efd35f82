"""The command line on the real default model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.commands.surroundings import LoadEngine
from core.engine import load_engine
from core.models.sources import Progress, silent
from core.registry import methods
from core.run import Engine
from core.trace import token_ids
from core.trace_io import read
from tests.shipped import missing

pytestmark = pytest.mark.weights
ROOT = Path(__file__).parent.parent.parent
WORDS = (
    "run",
    "--prompt",
    "List three colours. List three colours.",
    "--max-new-tokens",
    "16",
    "--json",
)


@pytest.fixture(scope="module")
def loaded() -> LoadEngine:
    engine = load_engine(dtype="float32", threads=1)

    def load(
        target: str, draft: str | None, *, dtype: str, device: str, threads: str, progress: Progress
    ) -> Engine:
        return engine

    return load


def ids(key: str, loaded: LoadEngine, capsys: pytest.CaptureFixture[str]) -> list[int]:
    assert main([*WORDS, "--method", key], load_engine=loaded) == 0
    return json.loads(capsys.readouterr().out)["token_ids"]


@pytest.mark.parametrize("key", [key for key, method in methods().items() if method.lossless])
def test_every_lossless_method_writes_what_plain_decoding_writes(
    key: str, loaded: LoadEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = loaded("", None, dtype="", device="", threads="", progress=silent)
    if lacking := missing(methods()[key], engine.target.card):
        pytest.skip(lacking)
    plain = ids("plain", loaded, capsys)
    assert len(plain) == 16
    assert ids(key, loaded, capsys) == plain


def test_a_real_run_prints_one_object_and_writes_the_same_trace(tmp_path: Path) -> None:
    out = tmp_path / "t.json.gz"
    words = [
        *WORDS,
        "--method",
        "prompt_lookup",
        "--dtype",
        "float32",
        "--threads",
        "1",
        "--out",
        str(out),
    ]
    result = subprocess.run(
        [sys.executable, "-m", "app", *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    found, trace = json.loads(result.stdout), read(out)
    assert found["token_ids"] == token_ids(trace)
    assert (found["text"], len(found["rounds"])) == (trace.text, len(trace.rounds))
    assert (trace.models.target.dtype, trace.environment.threads) == ("float32", 1)
    assert f"Wrote {out}" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_model_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--method", "plain", "--model", "./absent"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "absent" in captured.err
