"""Warnings that Gradio's server and client cause when they are dropped, by name; all others are errors."""

from __future__ import annotations

import pytest

LEFT_OPEN = (
    "ignore:unclosed event loop:ResourceWarning",  # gradio.queueing makes locks on a loop of its own
    "ignore:unclosed <socket:ResourceWarning",  # that loop's own pipe
)


def pytest_configure(config: pytest.Config) -> None:
    for line in LEFT_OPEN:
        config.addinivalue_line("filterwarnings", line)
