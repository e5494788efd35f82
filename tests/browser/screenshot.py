"""Makes the README's picture from the running app: `python -m tests.browser.screenshot`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.app.served import served
from tests.app.toys import ToyEngines
from tests.browser.conftest import FLAGS

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "explore.png"


def main() -> int:
    with served(ToyEngines()) as (_, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1080})
        page.goto(url)
        page.wait_for_selector(".js-plotly-plot")
        page.wait_for_timeout(2500)
        page.screenshot(path=PICTURE)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
