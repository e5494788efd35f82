"""What has too little room is cut to it, or scrolls and shows so; nothing runs over a border."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.trace import Trace
from tests.browser.conftest import Replays
from tests.sample_traces import changed, long_run
from tests.viz.toy_rounds import SIZE, readings
from viz.replay import replay_html

pytestmark = pytest.mark.browser

WIDE, PHONE = (1300, 900), (375, 800)
LONG = {token: f" {'abcdefghijkl'[token:]}mnopq".encode() for token in range(SIZE)}

Open = Callable[[Trace, tuple[int, int]], Page]


@pytest.fixture
def opened(chromium: Browser, replays: Replays, tmp_path: Path) -> Open:
    """Return what opens a trace at its first round."""

    def open_it(trace: Trace, size: tuple[int, int]) -> Page:
        file = tmp_path / f"{size[0]}.html"
        file.write_text(replay_html(trace), "utf-8")
        context = chromium.new_context(offline=True, viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        replays.watch(page)
        page.goto(file.as_uri())
        replays.settle(page)
        return page

    return open_it


def edges(page: Page, box: str) -> set[str]:
    """Return the sides at which a box says that it hides more."""
    names = page.locator(box).evaluate("(box) => [...box.classList]")
    return {str(name)[8:] for name in names if str(name).startswith("ds-more-")}


def test_a_long_strip_fades_where_it_goes_on(opened: Open) -> None:
    page = opened(long_run(), WIDE)
    page.wait_for_selector(".ds-strip.ds-cue")
    assert edges(page, ".ds-strip") == {"bottom"}
    page.evaluate("document.querySelector('.ds-strip').scrollTop = 1e9")
    page.wait_for_selector(".ds-strip.ds-more-top")
    assert edges(page, ".ds-strip") == {"top"}


def test_a_deep_tree_fades_where_it_goes_on_and_a_flat_one_does_not(opened: Open) -> None:
    deep = opened(readings("specinfer", {"tree": [1] * 12})[0].trace, WIDE)
    deep.wait_for_selector(".ds-tree-scroll.ds-cue")
    assert edges(deep, ".ds-tree-scroll") == {"right"}
    deep.evaluate("document.querySelector('.ds-tree-scroll').scrollLeft = 1e9")
    deep.wait_for_selector(".ds-tree-scroll.ds-more-left")
    assert edges(deep, ".ds-tree-scroll") == {"left"}
    flat = opened(readings("specinfer", {"tree": [2, 1]})[0].trace, WIDE)
    flat.wait_for_timeout(300)
    assert edges(flat, ".ds-tree-scroll") == set()


def names(page: Page) -> list[dict[str, float | str]]:
    """Return the names in the method's own picture, with where they begin and end."""
    page.wait_for_selector(".ds-part-picture .annotation-text")
    found = page.evaluate(
        """() => [...document.querySelectorAll('.ds-part-picture .annotation-text')]
             .filter((one) => one.textContent.startsWith('·'))
             .map((one) => ({ text: one.textContent, ...one.getBoundingClientRect().toJSON() }))"""
    )
    return list(found)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desk", "phone"])
def test_names_in_a_picture_end_before_the_next_column(opened: Open, size: tuple[int, int]) -> None:
    settings: dict[str, object] = {"width": 2, "nodes": 12, "depth": 3}
    trace = readings("eagle2", settings, words=LONG)[0].trace
    found = names(opened(trace, size))
    columns = sorted({round(float(name["left"]) / 20) * 20 for name in found})
    step = min(b - a for a, b in pairwise(columns))
    assert all(float(name["width"]) <= step + 1 for name in found)
    cut = [name for name in found if str(name["text"]).endswith("…")]
    assert bool(cut) == (size == PHONE)  # where there is room, nothing is cut


def test_the_badge_of_a_method_with_a_long_name_keeps_its_border(opened: Open) -> None:
    trace = changed(long_run(), method_name="A method with a name that no phone has room for")
    badge = opened(trace, PHONE).locator(".ds-method-row .ds-badge")
    expect(badge).to_be_visible()
    assert badge.evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_the_number_of_the_last_round_of_a_line_is_not_clipped(opened: Open) -> None:
    page = opened(long_run(), PHONE)
    over = page.evaluate(
        """() => {
          const strip = document.querySelector('.ds-strip').getBoundingClientRect();
          return [...document.querySelectorAll('.ds-strip .ds-num')].slice(0, 400)
            .filter((number) => number.getBoundingClientRect().right > strip.right).length;
        }"""
    )
    assert over == 0
