"""How the app starts: without torch or a model, on its port, with a sentence if that is taken."""

from __future__ import annotations

import asyncio
import os
import runpy
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from app.ui import App, address, check_free
from tests.app.served import free_port
from tests.app.timing import slowness

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 8.0


def test_the_entry_point_builds_and_serves_only_as_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launched: list[App] = []
    monkeypatch.setattr(App, "launch", lambda self: launched.append(self))

    async def entry(name: str) -> App:  # in a running loop, since Gradio leaves its own open
        return runpy.run_path(str(ROOT / "app.py"), run_name=name)["demo"]

    assert isinstance(asyncio.run(entry("app_file")), App)
    assert not launched
    demo = asyncio.run(entry("__main__"))
    assert launched == [demo]


def test_the_package_wins_over_the_file_of_its_name() -> None:
    words = "import app; print(app.__file__)"
    out = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(ROOT / "app" / "__init__.py")


def test_building_the_app_imports_no_torch_and_writes_no_file() -> None:
    words = (
        "import sys; from app.ui import build; build();"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    before = set(ROOT.glob("app/**/*"))
    out = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip().splitlines()[-1] == "[]"
    made = {path for path in set(ROOT.glob("app/**/*")) - before if "__pycache__" not in path.parts}
    assert not made


def test_the_server_is_ready_in_time_and_has_loaded_nothing() -> None:
    port = free_port()
    environment = {**os.environ, "GRADIO_SERVER_PORT": str(port)}
    began = time.monotonic()
    program = subprocess.Popen(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        wait_until_served(f"http://127.0.0.1:{port}/", began + 60)
        seconds = time.monotonic() - began
        maps = Path(f"/proc/{program.pid}/maps")
        assert not maps.exists() or "libtorch" not in maps.read_text()
    finally:
        program.terminate()
        program.wait()
    print(f"\nserver ready after {seconds:.1f} s")
    assert seconds < READY_SECONDS * slowness()


def told_by(words: str) -> str:
    """Return what a Python program prints."""
    program = [sys.executable, "-c", words]
    return subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def wait_until_served(url: str, ends: float) -> None:
    while time.monotonic() < ends:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the server did not come up")


def test_a_taken_port_is_told_in_a_sentence() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        out = subprocess.run(
            [sys.executable, "app.py"],
            cwd=ROOT,
            env={**os.environ, "GRADIO_SERVER_PORT": str(port)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert out.returncode == 1
    assert out.stderr == (
        f"Port {port} cannot be used (address already in use): "
        "stop what listens there, or set GRADIO_SERVER_PORT to another port.\n"
    )


def test_a_free_port_passes() -> None:
    check_free("127.0.0.1", free_port())


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("127.0.0.1", 7860)),
        ({"GRADIO_SERVER_PORT": "8000"}, ("127.0.0.1", 8000)),
        ({"SPACE_ID": "a/b"}, ("0.0.0.0", 7860)),
        ({"SPACE_ID": "a/b", "GRADIO_SERVER_NAME": "127.0.0.1"}, ("127.0.0.1", 7860)),
    ],
)
def test_only_a_space_listens_to_the_world(
    environ: dict[str, str], expected: tuple[str, int]
) -> None:
    assert address(environ) == expected


def test_an_empty_variable_counts_as_none_and_is_taken_out() -> None:
    environ = {"GRADIO_SERVER_PORT": "", "GRADIO_SERVER_NAME": ""}
    assert address(environ) == ("127.0.0.1", 7860)
    assert environ == {}


@pytest.mark.parametrize("text", ["x", "0", "65536", "-1"])
def test_a_port_that_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(SystemExit, match="1 to 65535"):
        address({"GRADIO_SERVER_PORT": text})
