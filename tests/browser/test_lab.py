"""The Lab of the running app in a real browser, with a toy for a model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from playwright.sync_api import Browser, Page, expect

from app.ui import App
from tests.app.served import served
from tests.app.toys import ToyEngines
from tests.browser.conftest import Replays
from tests.browser.test_explore import Site, run, state

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]

READY = """() => {
  const lab = document.querySelector('.ds-part-ask');
  return lab.querySelector('.ds-rung') && lab.querySelector('.ds-verdict svg')
    && !lab.querySelector('.ds-waiting, .ds-lab-busy, .ds-lab-state > *');
}"""
SUMMARY = ".ds-part-ask summary"
SIZES = {"desk": (1300, 900), "phone": (375, 800)}


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[App, str]]:
    with served(ToyEngines(load_seconds=0.3)) as found:
        yield found


@pytest.fixture
def site(chromium: Browser, running: tuple[App, str]) -> Iterator[Site]:
    """Give the site; fail the test afterwards if a page complained or asked another host."""
    found = Site(chromium, *running)
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.faults == []


def opened(page: Page) -> None:
    """Open the Lab over a run of the toy, and wait for both tools."""
    run(page, "Why?")
    page.locator(SUMMARY).press("Enter")
    page.wait_for_function(READY)


def standard(page: Page) -> str:
    return page.locator(".ds-part-ask .ds-rung .ds-number").first.inner_text()


def test_a_recording_offers_to_load_the_model_and_loads_none_before(site: Site) -> None:
    page = site.open()
    assert page.locator(".ds-part-ask details").get_attribute("open") is None
    page.locator(SUMMARY).press("Enter")
    offer = page.locator(".ds-part-ask").get_by_role("button", name="Load the model and compute")
    expect(offer).to_be_visible()
    expect(page.locator(".ds-part-ask .ds-lab-offer")).to_contain_text(
        "This loads the model first: SmolLM2"
    )
    assert page.locator(".ds-part-ask .ds-button:visible").count() == 1
    engines = site.app.studio.engines
    assert isinstance(engines, ToyEngines)
    assert engines.loads == 0
    offer.click()  # a toy cannot answer for another model
    expect(page.locator(".ds-part-ask .ds-state-error")).to_contain_text("was made with SmolLM2")
    assert engines.loads == 1


def test_the_ladder_follows_its_slider_and_says_what_a_rule_does(site: Site) -> None:
    page = site.open()
    opened(page)
    rungs = page.locator(".ds-part-ask .ds-rung")
    assert rungs.count() == 13
    before = page.locator(".ds-part-ask .ds-rung .ds-number").all_inner_texts()
    one = standard(page)
    shown = state(page, "round")
    ticks = page.locator(".ds-part-ask .ds-rung-axis b").all_inner_texts()
    assert len(ticks) == 3
    assert ticks[-1] == "1"
    wide = page.locator(".ds-part-ask .ds-rung-bar").evaluate_all(
        "(bars) => bars.map((bar) => bar.getBoundingClientRect().width)"
    )
    values = [float(text.strip("≈ >")) for text in before]
    for a, b in combinations(range(len(values)), 2):  # whatever the axis begins at
        assert values[a] == values[b] or (values[a] < values[b]) == (wide[a] < wide[b] + 0.5)
    slider = page.locator(".ds-part-ask").get_by_label("Drafts").first
    slider.press("End")
    assert page.locator(".ds-part-ask .ds-lab-slider output").first.inner_text() == "8"
    assert page.locator(".ds-part-ask .ds-rung .ds-number").all_inner_texts() != before
    assert standard(page) == one  # one draft is one draft
    assert state(page, "round") == shown  # keys of the slider step no round
    rungs.nth(3).focus()
    words = page.locator(".ds-part-ask .ds-rung-words")
    expect(words).to_contain_text("K-SEQ: Try the drafts in order")


def test_the_verdict_turns_with_a_mistake_and_back(site: Site) -> None:
    page = site.open()
    opened(page)
    verdict = page.locator(".ds-verdict")
    expect(verdict).to_have_attribute("data-verdict", "kept")
    page.get_by_label("Temperature on one side").check()
    expect(verdict).to_have_attribute("data-verdict", "broken")
    expect(verdict).to_contain_text("does not follow p")
    page.get_by_label("None", exact=True).check()
    expect(verdict).to_have_attribute("data-verdict", "kept")
    page.get_by_role("button", name="Throw again").click()
    page.wait_for_function(READY)
    expect(verdict).to_contain_text("from it")
    assert page.locator(".ds-lab-plot svg").count() == 1
    assert "Total variation after 100 to 20,000 rounds" in str(
        page.locator(".ds-lab-plot").get_attribute("aria-label")
    )


def test_a_mistake_that_always_draws_two_takes_the_slider_away_and_says_why(site: Site) -> None:
    page = site.open()
    opened(page)
    rounds = page.locator(".ds-lab-choices")
    slider, output = rounds.get_by_label("Drafts"), rounds.locator("output")
    slider.press("End")
    page.wait_for_function(READY)
    assert output.inner_text() == "8"
    page.get_by_label("The likelier of two is kept").check()
    page.wait_for_function(READY)
    expect(slider).to_be_disabled()
    assert (slider.input_value(), output.inner_text()) == ("2", "2")
    expect(rounds.locator(".ds-lab-fixed")).to_have_text("This mistake always draws 2.")
    page.get_by_label("None", exact=True).check()
    page.wait_for_function(READY)
    expect(slider).to_be_enabled()
    assert (slider.input_value(), output.inner_text()) == ("8", "8")
    expect(rounds.locator(".ds-lab-fixed")).to_have_text("")


GAPS = """() => [...document.querySelectorAll('.ds-lab-result .ds-laws thead th')].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const { left, right } = range.getBoundingClientRect();
  return [left, right];
})"""


def test_the_heads_of_p_and_of_what_was_written_stand_apart(site: Site) -> None:
    page = site.open()
    opened(page)
    (_, right), (left, _) = page.evaluate(GAPS)
    assert left - right >= 8


def test_what_cuts_the_selection_short_is_read_on_its_bar(site: Site) -> None:
    page = site.open()
    opened(page)
    row = page.locator(".ds-rung", has_text="Importance selection")
    expect(row.locator(".ds-rung-tag")).to_have_text("30 tokens free")
    assert page.locator(".ds-rung-tag").count() == 1
    expect(page.locator(".ds-rung-bridge")).to_be_hidden()


def test_the_lab_follows_the_selected_node(site: Site) -> None:
    page = site.open()
    opened(page)
    head = page.locator(".ds-part-ask .ds-lab-where .ds-rule")
    first = head.inner_text()
    assert first.endswith(f"in round {state(page, 'round')}")
    page.evaluate(
        """() => {
          const { store } = draftscope;
          const deep = store.view.nodes.find((node) => node.depth === 2 && node.id > 0);
          store.select({ node: deep.id });
        }"""
    )
    expect(head).not_to_have_text(first)
    page.wait_for_function(READY)
    page.keyboard.press("Home")
    expect(head).to_contain_text("in round 0")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_page_and_no_token_is_markup(
    site: Site, size: str, scheme: str
) -> None:
    page = site.open(size=SIZES[size], scheme=scheme)
    if size == "phone":
        page.get_by_role("button", name="Change").click()
    opened(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    assert page.locator(".ds-part-ask img").count() == 0
    narrow = page.evaluate(
        """() => [...document.querySelectorAll('.ds-rung-name, .ds-mistakes span')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1
            || one.scrollHeight > one.parentElement.clientHeight + 1)
          .map((one) => one.textContent)"""
    )
    assert narrow == []


def test_a_replay_has_no_lab(replays: Replays) -> None:
    assert replays.open("tree").locator(".ds-part-ask").count() == 0
