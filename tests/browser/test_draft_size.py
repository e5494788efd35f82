"""The sliders over a model of draft sizes: the browser's formulas are Python's, and there is a way
back to what was measured.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace as changed
from playwright.sync_api import Browser, Page

from core.metrics import totals
from tests.browser.conftest import Replays
from tests.viz.test_fastdraft_picture import trace
from viz.draft_size import DraftSize, draft_size
from viz.replay import replay_html

pytestmark = pytest.mark.browser
PICTURE = ".ds-picture:has(.ds-dials)"


@pytest.fixture
def page(chromium: Browser, replays: Replays, tmp_path: Path) -> Page:
    found = trace()
    file = tmp_path / "draft.html"
    file.write_text(replay_html(changed(found, totals=totals(found.rounds))), "utf-8")
    made = chromium.new_context(viewport={"width": 1300, "height": 900}, offline=True).new_page()
    replays.watch(made)
    made.goto(file.as_uri())
    replays.settle(made)
    index = next(r.index for r in found.rounds if r.drafted)
    made.evaluate(f"draftscope.store.select({{ round: {index} }})")
    made.wait_for_selector(f"{PICTURE} .js-plotly-plot")
    return made


def drawn(page: Page, name: str) -> tuple[list[float], list[float]]:
    """Return x and y of a curve or of points."""
    found = page.evaluate(
        f"""(name) => {{
          const plot = document.querySelector('{PICTURE} .js-plotly-plot');
          const {{ x, y }} = plot.data.find((trace) => trace.name === name);
          return [Array.from(x), Array.from(y)];
        }}""",
        name,
    )
    return cast(tuple[list[float], list[float]], tuple(found))


def drag(page: Page, place: int, value: float) -> None:
    page.locator(f"{PICTURE} input").nth(place).evaluate(
        "(input, value) => { input.value = value;"
        " input.dispatchEvent(new Event('input', { bubbles: true })); }",
        str(value),
    )


def assert_follows(page: Page, model: DraftSize) -> None:
    for name, at in (
        ("acceptance", model.beta_at),
        ("cost", model.cost_at),
        ("speed-up", model.speedup_at),
    ):
        x, y = drawn(page, name)
        assert y == pytest.approx([at(10**each) for each in x], abs=2e-3)
    here = [model.beta, model.c, model.speedup_at(model.size)]
    assert drawn(page, "chosen")[1] == pytest.approx(here, abs=1e-3)


def test_sliders_move_the_model_as_python_has_it(page: Page) -> None:
    told = draft_size(trace())
    assert told is not None
    assert_follows(page, told)
    drag(page, 0, 0.8)
    assert_follows(page, replace(told, kept=80, tested=100))
    drag(page, 1, 0.3)
    moved = replace(told, kept=80, tested=100, cost=0.3)
    assert_follows(page, moved)
    words = page.locator(PICTURE).inner_text()
    assert "acceptance β .80" in words
    assert f"{moved.speedup_at(moved.size):.2f} times plain" in words
    assert drawn(page, "measured")[1][0] == pytest.approx(told.beta, abs=1e-3)  # that stays


def test_a_button_leads_back_to_what_was_measured(page: Page) -> None:
    told = draft_size(trace())
    assert told is not None
    back = page.locator(f"{PICTURE} button", has_text="as measured")
    assert not back.is_visible()
    drag(page, 0, 0.1)
    back.click()
    assert_follows(page, told)
    assert not back.is_visible()
    assert float(page.locator(f"{PICTURE} input").first.input_value()) == pytest.approx(
        told.beta, abs=0.006
    )
