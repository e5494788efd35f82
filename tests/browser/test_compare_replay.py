"""A comparison as an offline file, in a real browser: it opens, and one selection moves all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Replays
from tests.toy_comparison import toy_comparison
from tests.viz.test_compare_export import failed
from viz.compare.export import compare_payload, comparison_html

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("comparisons")
    whole = toy_comparison()
    for name, comparison in (("toy", whole), ("failed", failed(whole))):
        (made / f"{name}.html").write_text(comparison_html(comparison, "Your run"), "utf-8")
    return made


class Opened:
    """Opens the files in fresh contexts, cut off from the network."""

    def __init__(self, browser: Browser, replays: Replays, folder: Path) -> None:
        self._browser = browser
        self._replays = replays
        self._folder = folder

    def __call__(self, name: str = "toy", hash_: str = "", width: int = 1300) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, reduced_motion="reduce"
        )
        page = context.new_page()
        self._replays.watch(page)
        page.goto((self._folder / f"{name}.html").as_uri() + hash_)
        page.wait_for_function("() => window.draftscope && window.Plotly")
        page.wait_for_selector(".ds-race-plot .plotly")
        return page


@pytest.fixture
def opened(chromium: Browser, replays: Replays, folder: Path) -> Opened:
    return Opened(chromium, replays, folder)


@pytest.mark.parametrize("name", ["toy", "failed"])
@pytest.mark.parametrize("width", [1300, 375])
def test_it_opens_without_a_complaint_and_shows_every_part(
    opened: Opened, name: str, width: int
) -> None:
    page = opened(name, width=width)
    for part in ("table", "score", "position", "race", "falls"):
        assert page.locator(f".ds-compare-part[data-part={part}]").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".ds-source").inner_text().startswith("Your run")


def test_what_it_carries_is_the_payload(opened: Opened) -> None:
    page = opened()
    expected = json.loads(json.dumps(compare_payload(toy_comparison(), "Your run")))
    assert page.evaluate("draftscope.comparison") == expected["comparison"]
    place = page.evaluate("draftscope.selection.place")
    number = expected["comparison"]["places"][place]
    assert page.evaluate("draftscope.position") == expected["positions"][number]


def test_keys_move_one_selection_through_every_part(opened: Opened) -> None:
    page = opened(hash_="#method=1&place=5")
    assert page.evaluate("draftscope.selection") == {"method": 1, "place": 5}
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("draftscope.selection") == {"method": 2, "place": 6}
    head = page.locator("[data-part=position] .ds-section-head").inner_text()
    assert head == page.evaluate("draftscope.position.head")
    assert page.locator(".ds-score-column.ds-pinned").first.get_attribute("data-place") == "6"
    assert page.locator("[data-part=falls] .ds-chosen").count() == 1
    page.keyboard.press("End")
    assert page.evaluate("draftscope.selection.place") == 23
    page.keyboard.press("ArrowRight")
    assert page.evaluate("draftscope.selection.place") == 23
    page.keyboard.press("Home")
    assert page.evaluate("draftscope.selection.place") == 0
    heard = page.locator(".ds-compare-body > .ds-heard")
    heard.filter(has_text="Position 0.").wait_for(state="attached")


def test_a_wrong_place_in_the_address_is_no_harm(opened: Opened) -> None:
    page = opened(hash_="#method=99&place=1e9")
    assert (
        page.evaluate("draftscope.comparison.methods[draftscope.selection.method].plain") is False
    )
    assert 0 <= page.evaluate("draftscope.selection.place") < 24


def test_the_keys_are_listed_and_the_table_can_be_taken_home(
    opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    page.keyboard.press("?")
    assert "previous, next position" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Table, CSV").click()
    file = tmp_path / "table.csv"
    download.value.save_as(file)
    lines = file.read_text("utf-8").splitlines()
    assert lines[0].startswith("method,settings,verdict,where,speed-up,")
    assert len(lines) == 1 + 4


def test_a_comparison_that_grows_keeps_the_place_and_another_one_does_not(opened: Opened) -> None:
    page = opened(hash_="#method=1&place=5")
    whole = toy_comparison()
    smaller = compare_payload(replace(whole, runs=whole.runs[:3]))["comparison"]
    update = "(next) => draftscope.update(next)"
    page.evaluate(update, smaller)
    assert page.evaluate("draftscope.selection") == {"method": 1, "place": 5}
    assert page.evaluate("draftscope.position") is None
    assert page.locator(".ds-compare-table tbody tr").count() == 3
    page.evaluate(update, {**smaller, "id": "another"})
    assert page.evaluate("draftscope.selection.place") != 5


def test_positions_are_asked_for_once_and_a_failure_is_told(opened: Opened) -> None:
    page = opened()
    asked, shown = page.evaluate(
        """async () => {
          const { comparison, position } = draftscope;
          const host = document.createElement('div');
          document.querySelector('.ds-main').append(host);
          const asked = [];
          let fails = true;
          const body = Draftscope.mountCompare(host, {
            comparison, plotly: window.Plotly, place: 3, keys: false,
            fetchPosition: async (number) => {
              asked.push(number);
              if (fails) throw new Error('Gone.');
              return position;
            },
          });
          const rest = () => new Promise((done) => setTimeout(done, 20));
          await rest();
          const told = host.querySelector('.ds-state-error').textContent;
          fails = false;
          for (const place of [4, 3, 4, 3]) { body.choose(1, place); await rest(); }
          const left = host.querySelectorAll('.ds-state-error').length;
          body.destroy();
          return [asked, [told, left, host.childElementCount]];
        }"""
    )
    places = page.evaluate("draftscope.comparison.places")
    assert asked == [places[3], places[4], places[3]]
    assert shown == ["The trees of this position could not be fetched. Gone.", 0, 0]
