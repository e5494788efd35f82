"""The Tree X-ray in a real browser, with a toy for a model: keys, places, sorting, other rounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from app.ui import App
from tests.app.served import served
from tests.app.toys import ToyEngines
from tests.browser.test_explore import Site, run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]

KEYS = ("sequoia", "expansion", "static", "eagle2", "dyspec", "opt_tree")
PLACES = """() => [...document.querySelectorAll('.ds-xray-node')].map((node) =>
  [node.classList.contains('ds-xray-out'), node.style.transform])"""


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[App, str]]:
    with served(ToyEngines()) as found:
        yield found


@pytest.fixture
def site(chromium: Browser, running: tuple[App, str]) -> Iterator[Site]:
    found = Site(chromium, *running)
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.faults == []


def drafted(site: Site) -> Page:
    """Run the toy, and draft six trees in the round in view."""
    page = site.open()
    run(page, "Draft trees")
    page.click(".ds-xray > summary")
    page.click(".ds-xray .ds-lab-slider button")
    expect(page.locator(".ds-xray-plot svg")).to_be_visible()
    return page


def shown(page: Page) -> str | None:
    return page.locator(".ds-xray-tabs [aria-pressed=true]").get_attribute("data-key")


def test_keys_turn_one_tree_into_another_and_shared_nodes_stay_where_they_are(site: Site) -> None:
    page = drafted(site)
    seen: dict[int, str] = {}
    for place, key in enumerate(KEYS, start=1):
        page.keyboard.press(str(place))
        assert shown(page) == key
        for node, (is_out, where) in enumerate(page.evaluate(PLACES)):
            if not is_out:
                assert seen.setdefault(node, where) == where
    assert len(set(seen.values())) == len(seen)  # no two nodes at one place
    page.keyboard.press("7")
    assert shown(page) == KEYS[-1]


def test_digits_that_someone_types_are_no_keys(site: Site) -> None:
    page = drafted(site)
    page.keyboard.press("2")
    page.click("#ds-prompt")
    page.keyboard.press("5")
    assert shown(page) == "expansion"


def test_small_trees_sort_by_either_number(site: Site) -> None:
    page = drafted(site)
    first, second = (f".ds-xray-bar:nth-child({place}) .ds-number" for place in (1, 2))
    for value, column in (("believed", first), ("expected", second)):
        page.select_option(".ds-xray-sort select", value)
        texts = page.locator(f".ds-xray-thumbs {column}").all_inner_texts()
        assert len(texts) == 6
        assert texts == sorted(texts, key=float, reverse=True)
    page.locator(".ds-xray-thumbs button").last.click()
    assert shown(page) == page.locator(".ds-xray-thumbs button").last.get_attribute("data-key")


def test_an_answer_of_another_round_says_so_and_can_be_brought_up_to_date(site: Site) -> None:
    page = drafted(site)
    before = page.locator(".ds-xray-result > .ds-rule").first.inner_text()
    page.evaluate("draftscope.store.step(1)")
    expect(page.locator(".ds-xray-result")).to_have_class("ds-xray-result ds-waiting")
    page.click(".ds-xray .ds-lab-slider button")
    expect(page.locator(".ds-xray-result")).to_have_class("ds-xray-result")
    assert page.locator(".ds-xray-result > .ds-rule").first.inner_text() != before


def test_a_larger_budget_asks_again(site: Site) -> None:
    page = drafted(site)
    nodes = page.locator(".ds-xray-node").count()
    slider = page.locator(".ds-xray input[type=range]")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator(".ds-xray-result")).to_have_class("ds-xray-result")
    page.wait_for_function(f"document.querySelectorAll('.ds-xray-node').length > {nodes}")
    assert slider.input_value() == "64"


def test_a_phone_scrolls_the_tree_and_not_the_page(site: Site) -> None:
    page = drafted(site)
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_function("document.querySelector('.ds-xray-plot').clientWidth < 375")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    svg = page.locator(".ds-xray-plot svg")
    box = svg.bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert svg.get_attribute("aria-label")
