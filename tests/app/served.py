"""The app on a free port for a test, with toy engines unless the test brings others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from app.comparisons import FOLDER as COMPARISONS
from app.engines import Engines
from app.limits import Limits
from app.recordings import FOLDER as EXAMPLES
from app.ui import App, build
from tests.app.toys import ToyEngines


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def served(
    engines: Engines | None = None,
    limits: Limits | None = None,
    comparisons: Path = COMPARISONS,
) -> Iterator[tuple[App, str]]:
    """Yield the app and its address."""
    port = free_port()
    launching = _launched(engines or ToyEngines(), limits, port, comparisons)
    with ThreadPoolExecutor(1) as thread:  # a browser test has a loop of its own in this one
        app = thread.submit(asyncio.run, launching).result()
    try:
        yield app, f"http://127.0.0.1:{port}"
    finally:
        app.close(verbose=False)


async def _launched(engines: Engines, limits: Limits | None, port: int, comparisons: Path) -> App:
    """Launch inside a running loop; without one Gradio makes loops that it never closes."""
    app = build(engines, limits, EXAMPLES, comparisons)
    app.launch(prevent_thread_lock=True, server_port=port, quiet=True)
    return app
