"""A headless Chromium and replay files for the browser tests. No test may reach a host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.sample_traces import ALL
from viz.replay import replay_html

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Replays:
    """Opens sample traces as files; collects what a page must never do."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self.faults: list[str] = []

    def path(self, name: str) -> Path:
        """Return the replay file of a sample trace, written once."""
        file = self._folder / f"{name}.html"
        if not file.exists():
            file.write_text(replay_html(ALL[name](), "Recorded example"), "utf-8")
        return file

    def open(
        self,
        name: str,
        query: str = "",
        size: tuple[int, int] = (1300, 900),
        scheme: str = "light",
    ) -> Page:
        """Open a sample in a fresh context, cut off from the network; wait until it is drawn."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
            reduced_motion="reduce",
        )
        page = context.new_page()
        self.watch(page)
        page.goto(self.path(name).as_uri() + query)
        self.settle(page)
        return page

    def watch(self, page: Page) -> None:
        page.on("console", lambda m: self.faults.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def settle(self, page: Page) -> None:
        """Wait for the page and, where it is shown, the tree."""
        page.wait_for_function(
            "() => window.draftscope?.store.overview && window.Plotly && (Draftscope.isPhone()"
            " || !draftscope.store.order.length || document.querySelector('.ds-tree-plot svg'))"
        )

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.faults.append(f"request: {url}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def replay_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replays")


@pytest.fixture
def replays(chromium: Browser, replay_folder: Path) -> Iterator[Replays]:
    """Give replays; fail the test afterwards if a page complained or asked a host for anything."""
    found = Replays(chromium, replay_folder)
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.faults == []
