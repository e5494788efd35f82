"""The Compare page of the running app, driven in a real browser, with a toy for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Page, expect

from app.ui import App
from core.compare.files import dumps, loads
from tests.app.recorded import METHODS, PROMPT, comparison, record
from tests.app.served import served
from tests.app.toys import HOSTILE, ToyEngines

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]

COUNT = len(METHODS)
NASTY = "Why <b>is</b> <img src=x onerror=alert(1)> ${7*7} {{7*7}} $x^2$ &amp; so?"
SHOWN = "() => window.draftscope?.body?.position && document.querySelector('.ds-run-all:enabled')"
AT_REST = "() => document.querySelector('.ds-run-all').textContent.startsWith('Run')"


class Site:
    """A running app, and what its pages must never do."""

    def __init__(self, browser: Browser, app: App, url: str) -> None:
        self.app = app
        self.url = url
        self.faults: list[str] = []
        self._browser = browser

    def open(
        self,
        path: str = "/compare",
        size: tuple[int, int] = (1300, 900),
        scheme: str = "light",
        ready: str = SHOWN,
    ) -> Page:
        """Open a page in a fresh context; wait until it is drawn and its fields are there."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        page = context.new_page()
        page.on("console", lambda m: self.faults.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        page.goto(f"{self.url}{path}")
        page.wait_for_function(ready)
        return page

    def _asked(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:", "about:")):
            self.faults.append(f"request: {url}")


@pytest.fixture(scope="module")
def engines() -> ToyEngines:
    return ToyEngines(load_seconds=0.4, step_seconds=0.004)


@pytest.fixture(scope="module")
def running(
    engines: ToyEngines, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[App, str]]:
    with served(engines, None, record(tmp_path_factory.mktemp("comparisons"))) as found:
        yield found


@pytest.fixture
def site(chromium: Browser, running: tuple[App, str]) -> Iterator[Site]:
    """Give the site; fail the test afterwards if a page complained or asked another host."""
    found = Site(chromium, *running)
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.faults == []


def state(page: Page, what: str) -> object:
    return page.evaluate(f"draftscope.body.{what}")


def statuses(page: Page) -> object:
    return state(page, "comparison.methods.map((one) => one.status)")


def selection(page: Page) -> tuple[object, object]:
    return state(page, "selection.method"), state(page, "selection.place")


def address(page: Page) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return query and hash of the address, once it has followed the view."""
    page.wait_for_timeout(300)
    parts = urlparse(page.url)
    return parse_qs(parts.query), parse_qs(parts.fragment)


def covered(page: Page) -> object:
    """Return the methods of which a round is marked; a round may be cut by the end of a line."""
    return page.locator(".ds-capsule.ds-covers[data-method]").evaluate_all(
        "(all) => [...new Set(all.map((one) => one.dataset.method))].sort()"
    )


def write_prompt(page: Page, prompt: str) -> None:
    page.click(".ds-ask-prompt")
    page.fill("[data-field='prompt']", prompt)
    page.keyboard.press("Escape")


def set_tokens(page: Page, tokens: int) -> None:
    page.click(".ds-ask-settings")
    page.fill("[data-field='max_new_tokens'] input", str(tokens))
    page.click(".ds-over-done")


def run(page: Page) -> None:
    """Run to the end."""
    page.click(".ds-run-all")
    page.wait_for_function("() => document.querySelector('.ds-run-all').textContent === 'Cancel'")
    page.wait_for_function(AT_REST)


def test_the_first_paint_is_a_recorded_comparison_and_no_model_is_loaded(
    site: Site, engines: ToyEngines
) -> None:
    page = site.open()
    assert state(page, "comparison.id") == "sky"
    assert page.title() == "Compare · Draftscope"
    for part in (".ds-finding", ".ds-compare-table", ".ds-capsule", ".ds-small-plot svg"):
        expect(page.locator(part).first).to_be_visible()
    expect(page.locator(".ds-ask-prompt")).to_contain_text(PROMPT)
    expect(page.locator(".ds-ask-method")).to_have_count(COUNT - 1)
    expect(page.locator("nav a[aria-current]")).to_have_text("Compare")
    assert page.locator("footer").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1300
    assert engines.loads == 0


def test_a_live_comparison_takes_the_place_of_the_recorded_one_method_by_method(
    site: Site, engines: ToyEngines
) -> None:
    page = site.open()
    write_prompt(page, NASTY)
    page.click(".ds-ask-method[data-place='2']")
    page.click(".ds-over-links button")
    expect(page.locator(".ds-run-all")).to_have_text("Run all three")
    page.click(".ds-run-all")
    page.wait_for_selector(".ds-compare-progress")
    expect(page.locator(".ds-progress-rows li")).to_have_count(3)
    page.wait_for_function("() => draftscope.body.comparison.methods.length === 3")
    assert state(page, "comparison.methods[0].status") == "done"
    page.wait_for_function(AT_REST)
    assert statuses(page) == ["done"] * 3
    assert state(page, "comparison.prompt") == NASTY
    assert page.locator(".ds-compare-progress").count() == 0
    expect(page.locator(".ds-ask-prompt")).to_contain_text(NASTY)
    expect(page.locator(".ds-compare-table tbody .ds-name-cell")).to_have_count(3)
    assert engines.loads == 1
    page.click(".ds-ask-examples summary")
    expect(page.locator(".ds-ask-examples li")).to_have_count(4)


def test_plain_decoding_is_compared_with_at_once_and_alone_it_cannot_be_run(site: Site) -> None:
    page = site.open()
    for _ in range(COUNT - 1):
        page.click(".ds-ask-method[data-place='0']")
        page.click(".ds-over-links button")
    expect(page.locator(".ds-run-all")).to_be_disabled()
    page.click(".ds-ask-add")
    expect(page.locator(".ds-over select option[value='plain']")).to_have_count(0)
    page.select_option(".ds-over select", "prompt_lookup")
    expect(page.locator(".ds-over [data-field='methods.0.config.length']")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ds-run-all")).to_have_text("Run both")
    run(page)
    assert statuses(page) == ["done", "done"]


def test_one_selection_moves_in_every_column_and_stands_behind_the_hash(site: Site) -> None:
    page = site.open("/compare#method=1&place=4")
    assert selection(page) == (1, 4)
    assert covered(page) == [str(method) for method in range(COUNT)]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert selection(page) == (2, 6)
    page.wait_for_function("() => draftscope.body.position")
    expect(page.get_by_role("heading", name=re.compile("^Position 6"))).to_be_visible()
    assert covered(page) == [str(method) for method in range(COUNT)]
    assert address(page)[1] == {"method": ["2"], "place": ["6"]}
    page.locator(".ds-capsule[data-method='3']").nth(2).click()
    assert state(page, "selection.method") == 3
    page.keyboard.press("Home")
    assert state(page, "selection.place") == 0
    page.keyboard.press("End")
    assert state(page, "selection.place") == state(page, "comparison.places.length - 1")


def test_positions_are_fetched_in_pages_each_once(site: Site) -> None:
    page = site.open("/compare#method=1&place=0")
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if "/positions" in r.url else None)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => draftscope.body.position")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("() => draftscope.body.position")
    assert len(asked) == len(set(asked)) <= 3


def test_a_cancel_keeps_what_is_done(site: Site) -> None:
    page = site.open()
    set_tokens(page, 300)
    page.click(".ds-run-all")
    page.wait_for_function(
        "() => draftscope.body.comparison.id !== 'sky'"
        " && draftscope.body.comparison.methods[0].status === 'done'"
    )
    page.click(".ds-run-all")
    page.wait_for_function(AT_REST)
    found = statuses(page)
    assert isinstance(found, list)
    assert found[0] == "done"
    assert set(found[1:]) <= {"done", "cancelled"}
    assert found[-1] == "cancelled"
    expect(page.locator(".ds-state-cancelled")).to_contain_text("methods are done")
    expect(page.locator(".ds-score")).to_be_visible()


def test_what_goes_wrong_with_one_method_stands_in_its_row_and_leaves_the_others(
    site: Site,
) -> None:
    page = site.open()
    page.click(".ds-ask-method[data-place='0']")
    page.fill("[data-field='methods.0.config.tree'] input", "0")
    page.keyboard.press("Escape")
    run(page)
    assert statuses(page) == ["done", "error", "done", "done"]
    row = page.locator(".ds-compare-table .ds-status-error")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("each 1 to 16")


def test_a_refused_field_is_opened_and_says_what_is_allowed(site: Site) -> None:
    page = site.open()
    page.click(".ds-ask-settings")
    page.fill("[data-field='temperature'] input", "9")
    page.keyboard.press("Escape")
    page.click(".ds-run-all")
    error = page.locator(".ds-over .ds-state-error")
    expect(error).to_have_text("Temperature is 9; it may be 0 to 2.")
    expect(page.locator(".ds-over [data-field='temperature'] input")).to_be_focused()
    page.fill("[data-field='temperature'] input", "0")
    expect(error).to_have_count(0)
    assert state(page, "comparison.id") == "sky"


def test_a_link_sets_up_the_same_comparison(site: Site) -> None:
    page = site.open()
    write_prompt(page, NASTY)
    page.click(".ds-ask-method[data-place='1']")
    page.fill("[data-field='methods.1.config.length'] input", "2")
    page.keyboard.press("Escape")
    run(page)
    page.keyboard.press("ArrowRight")
    query, _ = address(page)
    assert query["m"] == [key for key, _ in METHODS[1:]]
    assert query["m.2.length"] == ["2"]
    assert query["prompt"] == [NASTY]
    text = state(page, "comparison.score.places.map((one) => one.label?.text)")
    again = site.open(page.url.removeprefix(site.url))
    expect(again.locator(".ds-state-empty")).to_contain_text("sets up a comparison")
    assert state(again, "comparison.id") == "sky"
    again.click(".ds-state-empty .ds-button")
    again.wait_for_function("() => draftscope.body.comparison.id !== 'sky'")
    again.wait_for_function(AT_REST)
    assert state(again, "comparison.score.places.map((one) => one.label?.text)") == text
    assert state(again, "comparison.methods[2].note") == "2 tokens"


def test_a_link_to_a_recorded_comparison_opens_it_at_its_place(site: Site) -> None:
    page = site.open("/compare?comparison=sea#method=2&place=7")
    assert state(page, "comparison.id") == "sea"
    assert selection(page) == (2, 7)
    page.click(".ds-ask-examples summary")
    page.locator(".ds-ask-examples li button").first.click()
    page.wait_for_function("() => draftscope.body.comparison.id === 'sky'")
    assert address(page)[0] == {"comparison": ["sky"]}
    unknown = site.open("/compare?comparison=nope")
    expect(unknown.locator(".ds-state-error")).to_contain_text("there are: sky, sea.")


def test_prompt_and_settings_go_to_explore_and_come_back(site: Site) -> None:
    page = site.open()
    write_prompt(page, NASTY)
    page.locator(".ds-stave-name").nth(1).click()
    page.locator("nav a", has_text="Explore").click()
    page.wait_for_function("() => window.draftscope?.store?.overview && Draftscope.mountControls")
    page.wait_for_selector(".ds-run:enabled")
    expect(page.locator("#ds-prompt")).to_have_value(NASTY)
    expect(page.locator("#ds-method")).to_have_value("rsd")
    expect(page.locator("[data-field='config.tree'] input")).to_have_value("3 · 2 · 1")
    expect(page.locator("[data-field='temperature'] input")).to_have_value("0.7")
    page.fill("[data-field='seed'] input", "11")
    page.locator("nav a", has_text="Compare").click()
    page.wait_for_function(SHOWN)
    expect(page.locator(".ds-ask-prompt")).to_contain_text(NASTY)
    expect(page.locator(".ds-ask-settings")).to_contain_text("seed 11")
    names = page.locator(".ds-ask-name").all_inner_texts()
    assert len(names) == COUNT - 1
    assert names[0] == "Recursive speculative decoding"


def test_every_name_of_the_table_leads_to_that_run_on_explore(site: Site) -> None:
    page = site.open()
    links = page.locator(".ds-compare-table .ds-name-alone")
    expect(links).to_have_count(COUNT)
    found = {
        parse_qs(urlparse(href).query)["method"][0]
        for href in links.evaluate_all("(all) => all.map((one) => one.href)")
    }
    assert found == {key for key, _ in METHODS}
    links.first.click()
    page.wait_for_selector(".ds-run:enabled")
    expect(page.locator("#ds-prompt")).to_have_value(PROMPT)


def test_a_method_of_explore_is_compared(site: Site) -> None:
    query = f"?method=prompt_lookup&set.length=3&prompt={PROMPT}"
    page = site.open(f"/compare{query}")
    expect(page.locator(".ds-ask-method")).to_have_count(1)
    expect(page.locator(".ds-ask-method")).to_contain_text("3")
    page.click(".ds-ask-method")
    expect(page.locator("[data-field='methods.0.config.length'] input")).to_have_value("3")


def test_keys_rest_in_fields_and_escape_closes_them(site: Site) -> None:
    page = site.open("/compare#method=1&place=4")
    page.click(".ds-ask-prompt")
    expect(page.locator("#ds-compare-prompt")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.focus(".ds-over-done")
    page.keyboard.press("End")
    assert selection(page) == (1, 4)
    page.keyboard.press("Escape")
    expect(page.locator(".ds-over")).to_be_hidden()
    expect(page.locator(".ds-ask-prompt")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("position")
    page.keyboard.press("ArrowRight")
    assert selection(page) == (1, 4)


def test_everything_can_be_reached_by_keyboard(site: Site) -> None:
    page = site.open()
    page.focus("nav a >> nth=0")
    seen: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(str(page.evaluate("document.activeElement.className")))
    for name in ("ds-ask-prompt", "ds-ask-method", "ds-ask-add", "ds-ask-settings", "ds-run-all"):
        assert any(name in one.split() for one in seen), name
    page.focus(".ds-ask-method >> nth=0")
    page.keyboard.press("Enter")
    expect(page.locator(".ds-over")).to_be_visible()
    assert page.evaluate("document.querySelector('.ds-over').contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(page.locator(".ds-ask-method >> nth=0")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(site: Site, scheme: str) -> None:
    page = site.open(size=(375, 800), scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.click(".ds-ask-method >> nth=0")
    expect(page.locator(".ds-over")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.click(".ds-over-done")
    small = page.locator(
        ".ds-ask-prompt, .ds-ask-method, .ds-ask-add, .ds-ask-settings, .ds-run-all"
    ).evaluate_all(
        "(all) => all.filter((one) => one.offsetHeight < 44).map((one) => one.className)"
    )
    assert small == []


def test_files_go_out_and_come_back(site: Site, tmp_path: Path) -> None:
    page = site.open()
    page.click(".ds-menu summary:has-text('Export')")
    with page.expect_download() as caught:
        page.click("text='Comparison, .json.gz'")
    saved = loads(Path(caught.value.path()).read_bytes())
    assert [run.method for run in saved.runs] == [key for key, _ in METHODS]
    file = tmp_path / "mine.json.gz"
    file.write_bytes(dumps(comparison("Mine")))
    page.set_input_files(".ds-ask input[type='file']", str(file))
    page.wait_for_function("() => draftscope.body.comparison.title === 'Mine'")
    expect(page.locator(".ds-source")).to_contain_text("From a file")
    file.write_bytes(b"nothing")
    page.set_input_files(".ds-ask input[type='file']", str(file))
    expect(page.locator(".ds-state-error")).to_contain_text("no JSON")
    assert state(page, "comparison.title") == "Mine"
    site.faults = [fault for fault in site.faults if "400 (Bad Request)" not in fault]


def test_token_text_is_never_markup(site: Site) -> None:
    page = site.open()
    assert HOSTILE.split("|")[0] in json.dumps(state(page, "comparison.score"))
    assert page.locator("img[src='x']").count() == 0
    assert page.locator(".ds-score b, .ds-map-stage b").count() == 0


def test_another_example_while_a_comparison_runs_is_left_alone(site: Site) -> None:
    page = site.open()
    set_tokens(page, 200)
    page.click(".ds-run-all")
    page.wait_for_function("() => draftscope.body.comparison.id !== 'sky'")
    page.click(".ds-ask-examples summary")
    page.locator(".ds-ask-examples li button", has_text=re.compile("^A day")).click()
    page.wait_for_function("() => draftscope.body.comparison.id === 'sea'")
    page.wait_for_function(AT_REST)
    assert state(page, "comparison.id") == "sea"
    page.click(".ds-part-state .ds-button")
    page.wait_for_function("() => draftscope.body.comparison.id.startsWith('c')")
    assert statuses(page) == ["done"] * COUNT
