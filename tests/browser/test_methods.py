"""The Methods page of the running app, driven in a real browser, with a toy for a model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlparse

import pytest
from playwright.sync_api import Browser, Page, expect

from app.cards import entries
from tests.app.served import served
from tests.app.toys import ToyEngines

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]

METHODS = entries().methods
KEYS = [method.key for method in METHODS]
NASTY = "It's <b>bold</b> <img src=x onerror=alert(1)> ${7*7} $x^2$ &amp; $(rm x)"


class Site:
    """A running app, and what its pages must never do."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.faults: list[str] = []
        self._browser = browser

    def open(
        self, query: str = "", size: tuple[int, int] = (1300, 900), scheme: str = "light"
    ) -> Page:
        """Open the page in a fresh context; wait until it is drawn."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and self.faults.append(m.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        page.goto(f"{self.url}/methods{query}")
        page.wait_for_selector(".ds-mount:not([aria-busy]) .ds-results")
        return page

    def _asked(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:", "about:")):
            self.faults.append(f"request: {url}")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(ToyEngines(load_seconds=0.0, step_seconds=0.0)) as (_, found):
        yield found


@pytest.fixture
def site(chromium: Browser, url: str) -> Iterator[Site]:
    """Give the site; fail the test afterwards if a page complained or asked another host."""
    found = Site(chromium, url)
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.faults == []


def shown(page: Page) -> list[str]:
    """Return the keys of the entries that can be seen."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.ds-entry')]"
        ".filter((entry) => entry.offsetParent).map((entry) => entry.id)"
    )


def made_with(rule: str) -> set[str]:
    return {m.key for m in METHODS if "rule" in m.parts and m.parts["rule"].key == rule}


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlparse(page.url).query)


def test_every_method_has_an_entry_and_what_is_to_come_is_listed(site: Site) -> None:
    page = site.open()
    assert sorted(shown(page)) == sorted(KEYS)
    expect(page.locator(".ds-planned li")).to_have_count(len(entries().planned))
    expect(page.locator("h1")).to_have_count(1)
    assert page.title() == "Methods · Draftscope"
    expect(page.locator("nav a[aria-current]")).to_have_text("Methods")


def test_filters_hide_at_once_stand_in_the_address_and_count(site: Site) -> None:
    page = site.open()
    page.select_option("label[data-filter='rule'] select", "typical")
    assert set(shown(page)) == made_with("typical")
    assert query(page) == {"rule": ["typical"]}
    expect(page.locator(".ds-result")).to_have_text(
        f"{len(made_with('typical'))} of {len(KEYS)} methods"
    )
    option = page.locator("[data-filter='law'] option[value='lossless']")
    assert option.is_disabled()
    page.select_option("label[data-filter='rule'] select", "")
    page.select_option("[data-filter='law'] select", "lossless")
    assert set(shown(page)) == {m.key for m in METHODS if m.lossless}
    page.go_back()
    page.go_back()
    assert set(shown(page)) == made_with("typical")
    page.click("text=Show all")
    assert len(shown(page)) == len(KEYS)
    assert query(page) == {}


def test_a_narrowed_list_is_opened_by_its_address(site: Site) -> None:
    page = site.open("?rule=typical&find=medusa_typical&shape=magic")
    assert shown(page) == ["medusa_typical"]
    expect(page.locator("#ds-find")).to_have_value("medusa_typical")


def test_search_finds_words_in_any_order_and_in_what_is_planned(site: Site) -> None:
    page = site.open()
    page.fill("#ds-find", "2401.10774 HEADS")
    assert set(shown(page)) == {"medusa", "medusa_typical", "typical_acceptance"}
    page.fill("#ds-find", "tetris")
    assert shown(page) == []
    expect(page.locator(".ds-planned li:visible")).to_have_count(1)
    expect(page.locator(".ds-result")).to_contain_text("and 1 planned")
    page.fill("#ds-find", "no such thing at all")
    expect(page.locator(".ds-state-empty")).to_be_visible()
    page.wait_for_function(
        "new URLSearchParams(location.search).get('find') === 'no such thing at all'"
    )
    page.press("#ds-find", "Escape")
    assert len(shown(page)) == len(KEYS)


def test_a_part_leads_to_all_methods_that_share_it_and_back(site: Site) -> None:
    page = site.open("?find=spectr")
    link = page.locator("#spectr .ds-part-link[data-filter='shape']")
    assert parse_qs(urlparse(link.get_attribute("href") or "").query) == {"shape": ["sequences"]}
    link.click()
    assert set(shown(page)) == {
        m.key for m in METHODS if m.parts.get("shape", None) and m.parts["shape"].key == "sequences"
    }
    assert query(page) == {"shape": ["sequences"]}
    expect(page.locator(".ds-result")).to_be_focused()
    page.go_back()
    assert "spectr" in shown(page)
    expect(page.locator("#ds-find")).to_have_value("spectr")


def test_the_command_line_is_copied_as_a_shell_reads_it(site: Site) -> None:
    page = site.open(f"?{urlencode({'prompt': NASTY})}")
    page.click("#rsd .ds-copy")
    expect(page.locator("#rsd .ds-copy")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert shlex.split(copied) == [
        "python", "-m", "app", "run", "--method", "rsd", "--prompt", NASTY,
    ]  # fmt: skip
    page.fill("#ds-carried", "@home")
    assert shlex.split(page.locator("#rsd code.ds-command-line").inner_text())[-1] == "@@home"


def test_words_of_the_address_stay_words(site: Site) -> None:
    page = site.open(f"?{urlencode({'prompt': NASTY, 'find': NASTY})}")
    expect(page.locator("#ds-carried")).to_have_value(NASTY)
    expect(page.locator("#ds-find")).to_have_value(NASTY)
    assert page.locator(".ds :is(img, script, b:has-text('bold'))").count() == 0


def test_run_it_lands_on_explore_with_the_method_and_the_prompt(site: Site) -> None:
    page = site.open(f"?{urlencode({'prompt': NASTY, 't': '0.7', 'set.length': '9'})}")
    page.click("#opt_tree .ds-entry-action:has-text('Run it')")
    page.wait_for_function("() => document.querySelector('.ds-run:enabled')")
    expect(page.locator("#ds-method")).to_have_value("opt_tree")
    expect(page.locator("#ds-prompt")).to_have_value(NASTY)
    expect(page.locator("[data-field='temperature'] input")).to_have_value("0.7")
    assert "set.length" not in query(page)


def test_an_example_s_prompt_is_carried_too(site: Site) -> None:
    page = site.open("?example=code")
    told = page.locator("#ds-carried").input_value()
    assert told.startswith("Write a Python function")
    href = page.locator("#rsd .ds-entry-action").first.get_attribute("href") or ""
    assert parse_qs(urlparse(href).query) == {"method": ["rsd"], "prompt": [told]}
    page.locator("nav a", has_text="Explore").hover()
    away = page.locator("nav a", has_text="Explore").get_attribute("href") or ""
    assert parse_qs(urlparse(away).query) == {"example": ["code"]}


def test_compare_with_plain_names_both_methods_and_the_prompt(site: Site) -> None:
    page = site.open("?prompt=Hello")
    href = page.locator("#svip .ds-entry-action", has_text="Compare").get_attribute("href") or ""
    assert urlparse(href).path == "./compare"
    assert parse_qs(urlparse(href).query) == {"m": ["plain", "svip"], "prompt": ["Hello"]}
    assert page.locator("#plain .ds-entry-action", has_text="Compare").count() == 0


def test_a_deep_link_goes_to_its_method_whatever_hides_it(site: Site) -> None:
    page = site.open("?rule=typical#svip")
    expect(page.locator("#svip")).to_be_in_viewport()
    expect(page.locator("#svip")).to_be_focused()
    assert len(shown(page)) == len(KEYS)
    assert page.url.endswith("#svip")


def test_a_recorded_round_is_drawn_when_it_is_opened(site: Site) -> None:
    page = site.open("#dyspec")
    assert page.evaluate("window.Plotly === undefined")
    page.click("#dyspec summary:has-text('A recorded round')")
    page.wait_for_selector("#dyspec .ds-plot svg")
    expect(page.locator("#dyspec .ds-entry-picture h3")).not_to_be_empty()
    assert page.locator("#hydra summary:has-text('A recorded round')").count() == 0
    expect(page.locator("#hydra")).to_contain_text("No recorded round yet")


def test_keys_search_clear_and_help(site: Site) -> None:
    page = site.open()
    page.keyboard.press("/")
    expect(page.locator("#ds-find")).to_be_focused()
    page.keyboard.type("svip")
    assert shown(page) == ["svip"]
    page.keyboard.press("Escape")
    assert len(shown(page)) == len(KEYS)
    page.keyboard.press("Tab")
    expect(page.locator("[data-filter='family'] select")).to_be_focused()
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()


def test_every_entry_s_controls_are_reached_by_the_keyboard(site: Site) -> None:
    page = site.open("?find=svip")
    page.focus("#svip .ds-entry-link")
    reached = [page.evaluate("document.activeElement.className + document.activeElement.tagName")]
    for _ in range(20):
        page.keyboard.press("Tab")
        inside = page.evaluate("Boolean(document.activeElement.closest('#svip'))")
        if not inside:
            break
        reached.append(
            page.evaluate("document.activeElement.className + document.activeElement.tagName")
        )
    told = " ".join(reached)
    for name in ("ds-cited-link", "ds-part-link", "ds-copy", "ds-entry-action", "SUMMARY"):
        assert name in told, told


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_one_way_and_folds_the_filters(site: Site, scheme: str) -> None:
    page = site.open("", (375, 800), scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 375
    expect(page.locator("label[data-filter='rule']")).not_to_be_visible()
    page.click("text=Filters and prompt")
    page.select_option("label[data-filter='rule'] select", "typical")
    assert set(shown(page)) == made_with("typical")
    page.click(f"#{next(iter(made_with('typical')))} summary:has-text('Settings')")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 375
    ground = page.locator(".ds-catalogue").evaluate("(e) => getComputedStyle(e).backgroundColor")
    assert ground == ("rgb(20, 23, 26)" if scheme == "dark" else "rgb(251, 250, 247)")
