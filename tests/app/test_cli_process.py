"""The command line as a process of its own: what it imports, exit statuses, pipes, interruption."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from core.trace_io import read, write
from tests import sample_traces

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent

_SPY = """
import json, sys
from app.cli import main

for argv in json.loads(sys.argv[1]):
    status = main(argv)
    heavy = sorted({"torch", "transformers", "gradio", "pydantic"} & set(sys.modules))
    print(json.dumps({"status": status, "heavy": heavy}), file=sys.stderr)
"""

_SLOW = """
import signal, sys, time
from app.cli import main
from tests.app.engines import Interrupting, Loader, toy_engine

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore Ctrl-C

def wait():
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(60)

sys.exit(main(sys.argv[1:], load_engine=Loader(toy_engine(Interrupting(4, wait)))))
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("traces") / "t.json.gz"
    write(sample_traces.tree(), path)
    return str(path)


def call(*argv: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "app"]
    return subprocess.run(
        [sys.executable, *start, *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


def test_what_needs_no_model_imports_no_library_of_models(trace: str, tmp_path: Path) -> None:
    commands = ("methods", "run", "compare", "bench", "show", "export", "check", "serve")
    calls = [
        ["--help"],
        *([name, "--help"] for name in commands),
        ["show", trace],
        ["show", trace, "--json"],
        ["show", trace, "--round", "1"],
        ["check", trace],
        ["export", trace, str(tmp_path / "o.csv")],
        ["export", trace, str(tmp_path / "o.html")],
    ]
    result = call(json.dumps(calls), code=_SPY)
    assert result.returncode == 0, result.stderr
    assert [json.loads(line) for line in result.stderr.splitlines() if line[:1] == "{"] == [
        {"status": 0, "heavy": []} for _ in calls
    ]


def test_exit_statuses_reach_the_shell(trace: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json.gz"
    bad.write_bytes(Path(trace).read_bytes()[:-20])
    fine, failed, wrong = call("check", trace), call("check", str(bad)), call("check")
    assert [r.returncode for r in (fine, failed, wrong)] == [0, 1, 2]
    assert "Traceback" not in failed.stderr + wrong.stderr
    assert [r.stderr.count("\n") for r in (fine, failed, wrong)] == [0, 1, 1]


@pytest.mark.parametrize("words", ["show {}", "show {} --json", "run --help"])
def test_a_closed_pipe_is_no_error(trace: str, words: str) -> None:
    command = f"{sys.executable} -m app {words.format(trace)} | head -c 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
def test_a_full_disk_is_one_sentence(trace: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "app", "show", trace],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1
    assert result.stderr == "Reading or writing failed: No space left on device.\n"


def test_an_encoding_without_the_signs_is_no_error(trace: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "app", "show", trace],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "\\u25cf" in result.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals differ elsewhere")
def test_ctrl_c_writes_what_was_decoded_and_exits_130(tmp_path: Path) -> None:
    out = tmp_path / "t.json.gz"
    argv = ["run", "--method", "plain", "--prompt", "@-", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, *argv],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("hello\n")
    process.stdin.close()
    process.stdin = None
    while process.stderr.readline() not in ("waiting\n", ""):
        pass
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate(timeout=30)
    trace = read(out)
    assert process.returncode == 130
    assert trace.finish_reason == "cancelled"
    assert len(trace.rounds) > 1
    assert trace.prompt.text == "hello"
    assert "Traceback" not in told
    assert shown.startswith(trace.text)


def test_a_taken_port_is_one_sentence() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = call("serve", "--port", str(port))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Port {port} cannot be used (address already in use): ")
    assert result.stderr.count("\n") == 1
