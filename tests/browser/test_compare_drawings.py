"""The drawings of the Compare page, each alone in a file, on a comparison made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from core.compare.lanes import Leg as Lap
from core.compare.lanes import Machine
from tests.browser.compare_payload import MADE, PINNED, TEXT, comparison, position
from tests.browser.compare_sheet import sheet_html
from viz.compare.payload import Comparison, Method, Position

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
HOSTILE = '<img src=x onerror="window.hit=1"><b>x</b>&amp;'
LIGHT = ["107, 113, 120", "10, 77, 168", "42, 154, 120", "240, 165, 24"]
SHAPES = ["bar", "square", "disc", "triangle"]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a comparison; fail the test afterwards if the page complained or asked a host."""
    faults: list[str] = []

    def asked(url: str) -> None:
        if not url.startswith("file:"):
            faults.append(f"request: {url}")

    def open_page(
        shown: Comparison | None = None,
        here: Position | None = None,
        width: int = 1300,
        scheme: str = "light",
        motion: str = "reduce",
    ) -> Page:
        file = tmp_path / "sheet.html"
        file.write_text(sheet_html(shown or comparison(), here or position()), "utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
            reduced_motion="reduce" if motion == "reduce" else "no-preference",
        )
        page = context.new_page()
        page.on("console", lambda m: faults.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector(".ds-race-plot .barlayer .point", state="attached")
        return page

    yield open_page
    for context in chromium.contexts:
        context.close()
    assert faults == []


def names(page: Page) -> list[str]:
    return page.locator(".ds-compare-table tbody .ds-method-word").all_inner_texts()


def column(page: Page, name: str) -> Locator:
    return page.locator(".ds-compare-table thead").get_by_role("button", name=name)


def choose(page: Page, method: int, place: int) -> None:
    page.evaluate("([method, place]) => sheet.api.choose(method, place)", [method, place])


# -- table --
def test_a_click_on_a_head_sorts_and_another_turns_the_order(opened: Open) -> None:
    page = opened()
    assert names(page)[0] == "Prompt lookup"
    head = column(page, "target passes")
    head.click()
    assert names(page) == ["Judge decoding", "EAGLE-2", "Prompt lookup", "Plain"]
    expect(head.locator("..")).to_have_attribute("aria-sort", "ascending")
    expect(head).to_be_focused()
    head.click()
    assert names(page) == ["Plain", "Prompt lookup", "EAGLE-2", "Judge decoding"]
    expect(head.locator("..")).to_have_attribute("aria-sort", "descending")


def test_rows_without_a_number_come_last_either_way(opened: Open) -> None:
    page = opened()
    head = column(page, "draft passes")
    for _ in range(2):
        head.click()
        assert names(page)[-1] == "Plain"


def test_best_and_worst_of_a_column_are_told_apart_without_colour(opened: Open) -> None:
    page = opened()
    best = page.locator(".ds-figure.ds-best")
    assert best.all_text_contents() == ["best ▸599 ms", "best ▸6", "best ▸45%"]
    assert best.first.evaluate("(e) => getComputedStyle(e).fontWeight") == "600"
    expect(best.first).to_contain_text("▸")


def test_a_method_that_failed_says_so_in_its_row(opened: Open) -> None:
    shown = comparison()
    failed: Method = {
        **shown["methods"][3],
        "status": "error",
        "words": "The draft model could not be loaded.",
    }
    shown["methods"][3] = failed
    shown["table"]["rows"] = [row for row in shown["table"]["rows"] if row["method"] != 3]
    page = opened(shown)
    row = page.locator("tr", has_text="could not be loaded")
    expect(row.get_by_role("alert")).to_be_visible()
    expect(row).to_contain_text("Judge decoding")
    assert len(names(page)) == 4


def test_a_definition_shows_on_focus(opened: Open) -> None:
    page = opened()
    head = column(page, "thrown away")
    tip = page.locator(f"#{head.get_attribute('aria-describedby')}")
    expect(tip).to_be_hidden()
    column(page, "of these accepted").focus()
    page.keyboard.press("Tab")
    expect(head).to_be_focused()
    expect(tip).to_be_visible()
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1300


def test_slower_than_plain_stands_left_of_one(opened: Open) -> None:
    shown = comparison()
    shown["table"]["rows"][1]["delivered"] = 0.6
    page = opened(shown)
    found = page.evaluate(
        """() => { const table = sheet.comparison.table;
           const scale = Draftscope.dumbbellScale(table.rows, table.axis, 400);
           return [scale.ticks[0], scale.x(0.6) < scale.x(1), scale.x(0.6) > 0]; }"""
    )
    assert found == [0, True, True]


# -- marks and hues --
def test_a_method_has_its_mark_and_hue_wherever_it_is_named(opened: Open) -> None:
    page = opened()
    looks = page.evaluate("Draftscope.methodLooks(sheet.comparison.methods)")
    assert looks == [{"shape": shape, "hue": hue} for hue, shape in enumerate(SHAPES)]
    for hue, made in enumerate(MADE):
        named = page.locator(".ds-method-name-line", has=page.get_by_text(made.name, exact=True))
        marks = named.locator("path").all()
        assert len(marks) >= (4 if made.key == "plain" else 6)
        assert len({mark.get_attribute("d") for mark in marks}) == 1
        fills = {mark.evaluate("(e) => getComputedStyle(e).fill") for mark in marks}
        assert fills == {f"rgb({LIGHT[hue]})"}


def test_after_five_methods_all_are_grey(opened: Open) -> None:
    page = opened()
    looks = page.evaluate(
        "Draftscope.methodLooks(Array.from({length: 8}, (_, k) => ({plain: k === 0})))"
    )
    assert [look["hue"] for look in looks] == [0, 1, 2, 3, 4, 5, 0, 0]
    assert len({look["shape"] for look in looks}) == 7


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_a_hue_and_on_a_hue_can_be_read(opened: Open, scheme: str) -> None:
    page = opened(scheme=scheme)
    ratios = page.evaluate(
        """() => {
          const box = document.createElement("span");
          document.querySelector(".ds").append(box);
          const rgb = (colour) => { box.style.color = colour;
            return getComputedStyle(box).color.match(/[\\d.]+/g).map(Number); };
          const light = (colour) => rgb(colour).slice(0, 3)
            .map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
          const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
            return (x + .05) / (y + .05); };
          return [0, 1, 2, 3, 4, 5].flatMap((hue) => {
            box.className = `ds-hue-${hue}`;
            return [ratio("var(--hue-text)", "var(--ds-paper)"),
                    ratio("var(--hue-text)", "var(--ds-sel)"),
                    ratio("var(--hue-on)", "var(--hue)")];
          });
        }"""
    )
    assert len(ratios) == 18
    assert min(ratios) >= 4.5


# -- score --
def spans(page: Page, method: int) -> list[tuple[int, int, str]]:
    """Return the columns of a stave's capsules as (first, stop, round), over all systems."""
    return [
        (first, stop, number)
        for first, stop, number in page.evaluate(
            """(method) => [...document.querySelectorAll(".ds-system")].flatMap((system) => {
              const grounds = [...system.querySelectorAll(".ds-score-column")];
              const start = Number(grounds[0].dataset.place);
              const first = Number(grounds[0].style.gridColumn.split("/")[0]);
              const capsules = system.querySelectorAll(`.ds-capsule[data-method="${method}"]`);
              return [...capsules].map((e) => {
                const [from, to] = e.style.gridColumn.split("/").map(Number);
                return [from - first + start, to - first + start, e.dataset.round];
              });
            })""",
            method,
        )
    ]


@pytest.mark.parametrize("width", [1300, 375])
def test_capsules_cover_every_column_once(opened: Open, width: int) -> None:
    page = opened(width=width)
    assert page.locator(".ds-system").count() > 1
    for method, made in enumerate(MADE):
        found = spans(page, method)
        columns = [column for first, stop, _ in found for column in range(first, stop)]
        assert columns == list(range(len(TEXT)))
        assert len({number for _, _, number in found}) == len(made.rounds.split())
        pieces = page.locator(f".ds-capsule[data-method='{method}'] .ds-piece").count()
        assert pieces == len(TEXT)


def test_a_capsule_stands_below_the_tokens_of_its_round(opened: Open) -> None:
    page = opened()
    off = page.evaluate(
        """() => [...document.querySelectorAll(".ds-system")].flatMap((system) => {
          const at = (e) => e.getBoundingClientRect();
          const words = new Map([...system.querySelectorAll("button.ds-score-word")]
            .map((e) => [e.dataset.place, at(e)]));
          return [...system.querySelectorAll(".ds-piece[data-column]")].map((piece) => {
            const word = words.get(piece.dataset.column);
            const [mark, box] = [at(piece), at(piece.parentElement)];
            const middle = (mark.left + mark.right) / 2;
            return middle > word.left && middle < word.right
              && box.left <= mark.left && mark.right <= box.right + 1;
          });
        })"""
    )
    assert len(off) == 4 * len(TEXT)
    assert all(off)


@pytest.mark.parametrize("place", [0, PINNED, 19, len(TEXT) - 1])
def test_a_selection_marks_the_covering_round_in_every_stave(opened: Open, place: int) -> None:
    page = opened()
    choose(page, 2, place)
    staves = (comparison()["score"] or {"staves": []})["staves"]
    for stave in staves:
        expected = [c["round"] for c in stave["capsules"] if c["start"] <= place < c["stop"]]
        marked = page.locator(f".ds-system .ds-covers[data-method='{stave['method']}']")
        rounds = {int(e.get_attribute("data-round") or -1) for e in marked.all()}
        assert rounds == set(expected)
    assert page.locator(".ds-score-column.ds-pinned").get_attribute("data-place") == str(place)
    assert page.locator("[aria-current=true]").get_attribute("data-place") == str(place)
    expect(page.locator("tr.ds-chosen")).to_contain_text("EAGLE-2")


def test_a_step_changes_two_classes_per_stave(opened: Open) -> None:
    page = opened()
    choose(page, 1, 14)
    changed = page.evaluate(
        """() => new Promise((done) => {
          const watcher = new MutationObserver((records) => done(records
            .filter((r) => r.target.matches(".ds-capsule"))
            .map((r) => [r.attributeName, r.target.dataset.method])));
          const options = { subtree: true, attributes: true, childList: true };
          watcher.observe(document.querySelector(".ds-systems"), options);
          sheet.drawings[1].select({ method: 1, place: 15 });
        })"""
    )
    assert {name for name, _ in changed} == {"class"}
    per_stave = [sum(method == str(stave) for _, method in changed) for stave in range(4)]
    assert per_stave == [2, 2, 0, 0]  # 14 and 15 are of one round of EAGLE-2, and of the judge's


def test_a_click_on_a_capsule_picks_method_and_place(opened: Open) -> None:
    page = opened()
    piece = page.locator(".ds-capsule[data-method='2'] .ds-piece[data-column='6']")
    piece.click()
    assert page.evaluate("sheet.api.chosen") == {"method": 2, "place": 6}


def test_replaced_tokens_stand_below_their_stave_only(opened: Open) -> None:
    page = opened()
    words = page.locator(".ds-system > .ds-instead-word").all_inner_texts()
    assert words == [",", ",", "·and"]
    assert page.locator(".ds-replaced").count() == 3


def test_an_insertion_has_a_column_that_is_empty_in_the_exact_text(opened: Open) -> None:
    shown = comparison()
    score = shown["score"]
    assert score is not None
    score["places"].append({"place": None, "label": None, "replaced": False})
    last = score["staves"][3]
    last["capsules"][-1]["stop"] += 1
    last["capsules"][-1]["pieces"].append({"column": 33, "kind": "accepted", "place": 33})
    last["instead"].append(
        {"column": 33, "label": {"text": "more", "space": True, "special": False, "breaks": 0}}
    )
    page = opened(shown)
    assert page.locator(".ds-score-column").count() == len(TEXT) + 1
    assert page.locator("button.ds-score-word").count() == len(TEXT)
    expect(page.locator(".ds-instead-word", has_text="more")).to_be_visible()


def test_systems_break_at_the_seam_that_most_methods_share(opened: Open) -> None:
    page = opened()
    found = page.evaluate(
        """() => [Draftscope.breakSystems(Array(10).fill(10), [4,1,1,1,1,1,1,3,2,1], 85),
                  Draftscope.breakSystems(Array(10).fill(10), [4,1,9,1,1,1,1,1,1,1], 85),
                  Draftscope.breakSystems([300, 10, 10], [1,1,1], 50)]"""
    )
    assert found == [[[0, 7], [7, 10]], [[0, 8], [8, 10]], [[0, 1], [1, 3]]]


# -- position --
def test_the_pinned_place_moves_in_all_trees_and_on_the_map(opened: Open) -> None:
    page = opened()
    choose(page, 1, 18)
    assert page.locator(".ds-small-pinned").count() == 4
    bold = page.locator(".ds-small-place .ds-svg-bold").all_text_contents()
    assert bold == ["18"] * 4
    assert page.locator(".ds-map-drawing .ds-svg-bold").all_text_contents() == ["18"]


def test_a_shared_station_is_drawn_once_with_the_marks_of_all(opened: Open) -> None:
    page = opened()
    comma = page.locator(".ds-station", has=page.get_by_text(",", exact=True))
    assert comma.count() == 1
    assert comma.locator(".ds-method-mark").count() == 3
    assert comma.locator(".ds-method-mark.ds-hollow").count() == 2
    assert comma.locator(".ds-map-edge.ds-hue-3").count() == 1
    assert comma.locator(".ds-map-strike").count() == 0
    ocean = page.locator(".ds-station", has=page.get_by_text("ocean", exact=True))
    assert ocean.locator(".ds-map-strike").count() == 1


def test_the_switch_leaves_the_shared_or_the_different_stations(opened: Open) -> None:
    page = opened()
    stations = position()["map"]["stations"]
    shared = sum(sum(line["node"] is not None for line in s["lines"]) > 1 for s in stations)
    page.get_by_role("button", name="Only shared").click()
    assert page.locator(".ds-station:not(.ds-map-away)").count() == shared
    page.get_by_role("button", name="Only differences").click()
    away = page.locator(".ds-station.ds-map-away")
    assert away.count() == 0  # every shared token is accepted by one and not by another
    expect(page.get_by_role("button", name="Only differences")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_stations_and_notes_do_not_overlap(opened: Open) -> None:
    page = opened()
    boxes = page.evaluate(
        """() => [...document.querySelectorAll(".ds-map-pill, .ds-map-stage .ds-map-note")]
          .map((e) => e.getBoundingClientRect())
          .map((b) => [b.left, b.right, b.top, b.bottom])"""
    )
    assert len(boxes) == len(position()["map"]["stations"]) + 2
    for at, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:at]:
            apart = right <= other[0] or left >= other[1] or bottom <= other[2] or top >= other[3]
            assert apart


def test_a_position_on_its_way_waits(opened: Open) -> None:
    page = opened()
    page.evaluate("sheet.drawings[2].update(null, sheet.comparison)")
    assert "ds-waiting" in (page.locator("#position-part").get_attribute("class") or "")
    page.evaluate("sheet.drawings[2].update(sheet.position, sheet.comparison)")
    assert "ds-waiting" not in (page.locator("#position-part").get_attribute("class") or "")


# -- race --
def counts(page: Page) -> list[str]:
    return page.locator(".ds-lane-count").all_inner_texts()


def test_at_the_end_of_the_race_all_tokens_are_there(opened: Open) -> None:
    page = opened()
    stage = page.get_by_role("slider", name="Playhead of the race")
    stage.press("Home")
    assert set(counts(page)) == {"0 of 33"}
    stage.press("End")
    assert counts(page) == ["33 of 33"] * 8
    assert page.locator(".ds-block-number:not(.ds-done)").count() == 0
    shades = page.evaluate(
        "[...document.querySelectorAll('.ds-race-plot .point path')].map((e) => e.style.opacity)"
    )
    assert set(shades) == {"1"}
    page.wait_for_function(
        """() => document.querySelector(".ds-race-plot").data
          .every((trace) => trace.marker.opacity.every((o) => o === 1))"""
    )


def test_tokens_of_the_prompt_pass_are_there_from_the_start(opened: Open) -> None:
    shown = comparison()
    assert shown["race"] is not None
    shown["race"]["lanes"][0]["begin"] = 2
    page = opened(shown)
    stage = page.get_by_role("slider", name="Playhead of the race")
    stage.press("Home")
    assert counts(page)[0] == "2 of 35"
    stage.press("End")
    assert counts(page)[0] == "35 of 35"


def test_each_axis_places_the_rounds_by_its_own_measure(opened: Open) -> None:
    page = opened()
    ends = {
        "position": ["33"] * 8,
        "rounds": ["14", "9", "6", "33", "11", "11", "11", "11"],
        "target passes": ["14", "9", "6", "33", "11", "11", "11", "11"],
    }
    for name, expected in ends.items():
        page.locator(".ds-race-controls").get_by_role("button", name=name, exact=True).click()
        assert page.locator(".ds-lane-total").all_text_contents() == expected


@pytest.mark.parametrize(("draft", "wide", "batch"), [(1, 1.6, 1), (0.25, 25, 1), (3, 4.5, 24)])
def test_modelled_time_is_that_of_the_machine(
    opened: Open, draft: float, wide: float, batch: int
) -> None:
    page = opened()
    race = comparison()["race"]
    assert race is not None
    found = page.evaluate(
        """(dials) => sheet.comparison.race.lanes.map((lane) =>
          Draftscope.laneTimes(lane, sheet.comparison.race, dials, "modelled").end)""",
        {"draft": draft, "wide": wide, "batch": batch, "wide_at": race["wide_at"]},
    )
    for lane, end in zip(race["lanes"], found, strict=True):
        machine = Machine(draft * (lane["draft_cost"] or 0), wide, batch)
        laps = [
            Lap(0, 0, 0, leg["forwards"], leg["passes"], leg["width"], leg["tokens"])
            for leg in lane["legs"]
        ]
        assert end == pytest.approx(race["plain_ms"] * sum(machine.cost(lap) for lap in laps))


def test_a_slider_says_what_it_means_and_shows_modelled_time(opened: Open) -> None:
    page = opened()
    batch = page.get_by_role("slider", name="batch size")
    batch.press("End")
    expect(batch).to_have_attribute("aria-valuetext", "batch size 64 texts at once")
    expect(page.get_by_role("button", name="modelled time")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator(".ds-what-said")).to_contain_text("Modelled time is shown")
    race = comparison()["race"]
    assert race is not None
    plain = next(lane for lane in race["lanes"] if lane["method"] == 0)
    each = max(1.0, 64 * race["wide"] / race["wide_at"])
    expected = f"{len(plain['legs']) * each * race['plain_ms']:,.0f}"
    expect(page.locator(".ds-race-over .ds-hue-0 .ds-lane-total")).to_have_text(expected)
    page.get_by_role("button", name="as measured").click()
    expect(page.get_by_role("button", name="measured time")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator(".ds-race-over .ds-hue-0 .ds-lane-total")).to_have_text("1,267")


def playhead(page: Page) -> int:
    return int(page.locator(".ds-race-stage").get_attribute("aria-valuenow") or -1)


def test_space_plays_and_pauses_but_not_while_someone_types(opened: Open) -> None:
    page = opened(motion="move")
    page.keyboard.press(" ")
    expect(page.locator(".ds-race-play")).to_contain_text("Pause")
    page.wait_for_function("Number(document.querySelector('.ds-race-stage').ariaValueNow) > 3")
    page.keyboard.press(" ")
    expect(page.locator(".ds-race-play")).to_contain_text("Play")
    stopped = playhead(page)
    page.wait_for_timeout(150)
    assert 3 <= playhead(page) == stopped < 100
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("textarea").press(" ")
    expect(page.locator(".ds-race-play")).to_contain_text("Play")


def test_without_motion_the_playhead_jumps(opened: Open) -> None:
    page = opened()
    page.evaluate(
        """() => { window.seen = new Set();
          const stage = document.querySelector(".ds-race-stage");
          new MutationObserver(() => seen.add(stage.ariaValueNow))
            .observe(stage, { attributes: true }); }"""
    )
    page.locator(".ds-race-play").click()
    page.wait_for_timeout(1300)
    page.locator(".ds-race-play").click()
    assert 2 <= page.evaluate("seen.size") <= 4


def test_the_covering_round_is_marked_in_every_compared_lane(opened: Open) -> None:
    page = opened()
    choose(page, 1, 14)
    assert page.locator(".ds-race-chosen line").count() == 4


# -- waterfalls --
def test_bars_of_a_waterfall_join_and_the_waste_is_hatched(opened: Open) -> None:
    page = opened()
    assert page.locator(".ds-fall").count() == 3
    third = page.locator(".ds-fall-box").nth(2)
    drafting = comparison()["waterfalls"][2]["bars"][3]
    width = third.locator(".ds-fall-cost").nth(1).evaluate("(e) => e.width.baseVal.value")
    wasted = third.locator(".ds-fall-wasted").nth(1).evaluate("(e) => e.width.baseVal.value + 1")
    assert wasted / (width + wasted) == pytest.approx(drafting["wasted"], abs=0.01)
    fill = third.locator(".ds-fall-wasted").first.get_attribute("fill") or ""
    assert page.locator(fill[4:-1]).count() == 1


def test_all_waterfalls_share_one_scale(opened: Open) -> None:
    page = opened()
    widths = {
        round(bar.evaluate("(e) => e.width.baseVal.value"), 3)
        for bar in page.locator(".ds-fall-plain").all()
    }
    assert len(widths) == 1


# -- all --
def test_hostile_token_text_stays_text(opened: Open) -> None:
    text = [HOSTILE if place % 3 else f" {HOSTILE}" for place in range(len(TEXT))]
    shown, here = comparison(text), position()
    for station in here["map"]["stations"]:
        station["label"]["text"] = HOSTILE
    shown["score"]["staves"][3]["instead"][0]["label"]["text"] = HOSTILE  # type: ignore[index]
    shown["methods"][1]["name"] = HOSTILE
    shown["race"]["lanes"][0]["name"] = HOSTILE  # type: ignore[index]
    shown["race"]["lanes"][-1]["name"] = HOSTILE  # type: ignore[index]
    shown["finding"][0]["text"] = HOSTILE
    page = opened(shown, here)
    assert page.locator("section :is(img, script)").count() == 0
    assert page.evaluate("window.hit") is None
    assert page.locator("button.ds-score-word").first.inner_text() == f"·{HOSTILE}"
    expect(page.locator(".ds-finding")).to_contain_text(HOSTILE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_no_sideways_scroll(opened: Open, scheme: str) -> None:
    page = opened(width=375, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    inside = page.evaluate(
        """() => [...document.querySelectorAll(".ds button, .ds select, .ds p, .ds li")]
          .filter((e) => e.getClientRects().length && !e.closest(".ds-map-scroll, .ds-heard"))
          .filter((e) => { const { left, right } = e.getBoundingClientRect();
            return left < 0 || right > 376; })
          .map((e) => e.className + e.textContent)"""
    )
    assert inside == []
    expect(page.get_by_label("sorted by")).to_be_visible()


@pytest.mark.parametrize("width", [1300, 375])
def test_a_long_name_covers_nothing(opened: Open, width: int) -> None:
    shown = comparison()
    assert shown["race"] is not None
    shown["methods"][2]["name"] = shown["race"]["lanes"][1]["name"] = (
        "Multi-candidate decoding " * 3
    )
    page = opened(shown, width=width)
    for names, numbers in (
        (".ds-stave-name", ".ds-stave-passes"),
        (".ds-lane-name", ".ds-lane-count"),
    ):
        ends = page.locator(names).evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect().right)"
        )
        starts = page.locator(numbers).evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect().left)"
        )
        assert len(ends) == len(starts)
        assert all(end <= start for end, start in zip(ends, starts, strict=True))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1300, 1024, 375])
def test_no_text_is_smaller_than_eleven_pixels(opened: Open, width: int) -> None:
    page = opened(width=width)
    small = page.evaluate(
        """() => { const found = []; const walk = document.createTreeWalker(
            document.querySelector(".ds"), NodeFilter.SHOW_TEXT);
          while (walk.nextNode()) { const e = walk.currentNode.parentElement;
            if (!walk.currentNode.textContent.trim() || !e.getClientRects().length) continue;
            if (e.closest(".ds-sort-arrow, .ds-best-arrow, select, .ds-heard")) continue;
            if (parseFloat(getComputedStyle(e).fontSize) < 11) found.push(e.outerHTML); }
          return found; }"""
    )
    assert small == []


@pytest.mark.parametrize("width", [1300, 1024])
def test_heads_and_figures_do_not_run_into_each_other(opened: Open, width: int) -> None:
    page = opened(width=width)
    clashes = page.evaluate(
        """() => [...document.querySelectorAll(".ds-compare-table tr")].flatMap((row) => {
          const boxes = [...row.children].map((cell) => { const r = document.createRange();
            r.selectNodeContents(cell.querySelector(".ds-sort") ?? cell);
            return r.getBoundingClientRect(); }).filter((b) => b.width > 1);
          return boxes.slice(1).filter((b, k) => b.left < boxes[k].right - 0.5)
            .map((b, k) => [row.textContent, k]); })"""
    )
    assert clashes == []


def test_an_update_keeps_the_order_and_the_selection(opened: Open) -> None:
    page = opened()
    column(page, "target passes").click()
    choose(page, 3, 20)
    page.evaluate("sheet.update(sheet.comparison, sheet.position)")
    assert names(page)[0] == "Judge decoding"
    expect(page.locator("tr.ds-chosen")).to_contain_text(re.compile("Judge decoding"))
    assert page.locator(".ds-score-column.ds-pinned").get_attribute("data-place") == "20"


def test_a_comparison_that_has_just_begun_draws_what_there_is(opened: Open) -> None:
    page = opened()
    page.evaluate(
        """() => { const whole = sheet.comparison;
          const begin = (m) => ({ ...m, status: "running", words: "round 1", rounds: 0 });
          const begun = { ...whole, score: null, race: null, waterfalls: [], places: [],
            finding: [], table: { ...whole.table, rows: [] }, methods: whole.methods.map(begin) };
          sheet.api.selection = { method: 0, place: null };
          sheet.update(begun, null); }"""
    )
    assert page.locator("tr", has_text="round 1").count() == 4
    for name in ("score", "race", "falls", "position-part"):
        expect(page.locator(f"#{name}")).to_be_hidden()
    page.evaluate("sheet.update(sheet.comparison, sheet.position)")
    expect(page.locator("#race .ds-lane-name").first).to_be_visible()
    assert len(names(page)) == 4
