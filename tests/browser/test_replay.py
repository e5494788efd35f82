"""What a reader of a replay file may rely on, driven in a real browser."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from core.trace import token_ids
from tests.browser.conftest import Replays
from tests.sample_traces import ALL, hostile, long_run, tree
from viz.compare.scripts import COMPARE_SCRIPTS
from viz.replay import ASSETS, SCRIPTS, notebook_html, replay_html
from viz.replay_data import explore_payload

pytestmark = pytest.mark.browser

MOST_BYTES = 4_000_000
STEP_MS = 50


def round_of(page: Page) -> int:
    return page.evaluate("draftscope.store.round")


def order_of(page: Page) -> list[int]:
    return page.evaluate("draftscope.store.order")


def click_node(page: Page, node: int) -> None:
    """Click the mark of a node where the tree's layout says that it stands."""
    x, y = page.evaluate(
        """(id) => {
          const frame = document.querySelector('.ds-tree-scroll');
          const layout = Draftscope.treeLayout(draftscope.store.view, frame.clientWidth);
          const { x, y } = layout.nodes.get(id);
          const box = frame.getBoundingClientRect();
          return [box.left + x, box.top + y];
        }""",
        node,
    )
    page.mouse.click(x, y)


def test_every_script_is_in_the_page() -> None:
    files = {path.stem for path in (ASSETS / "js").glob("*.js")}
    listed = [*SCRIPTS, *COMPARE_SCRIPTS, "carried", "replay", "compare_replay"]
    assert sorted(files) == sorted(listed)


@pytest.mark.parametrize("name", ["tree", "big_tree", "hostile", "huge_tree"])
def test_a_replay_is_small_and_names_no_host(replays: Replays, name: str) -> None:
    page = replays.path(name).read_text("utf-8")
    assert len(page.encode()) < MOST_BYTES
    assert page.count("</script>") == 3
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("width", [1300, 375])
def test_every_kind_of_trace_opens_without_a_complaint(
    replays: Replays, name: str, width: int
) -> None:
    page = replays.open(name, size=(width, 800))
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(250)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_keys_step_rounds_and_darts(replays: Replays) -> None:
    page = replays.open("tree")
    order = order_of(page)
    page.keyboard.press("Home")
    assert round_of(page) == order[0]
    page.keyboard.press("ArrowLeft")
    assert round_of(page) == order[0]
    page.keyboard.press("ArrowRight")
    assert round_of(page) == order[1]
    page.keyboard.press("End")
    assert round_of(page) == order[-1]
    page.keyboard.press("ArrowLeft")
    tried = page.evaluate("draftscope.store.tried()")
    first = tried.index(page.evaluate("draftscope.store.marked"))
    page.keyboard.press("ArrowDown")
    assert page.evaluate("draftscope.store.pin") == tried[first + 1]
    page.keyboard.press("ArrowUp")
    assert page.evaluate("draftscope.store.pin") == tried[first]
    page.keyboard.press("Escape")
    assert page.evaluate("draftscope.store.pin") is None


def test_keys_rest_while_someone_types(replays: Replays) -> None:
    page = replays.open("tree")
    before = round_of(page)
    page.evaluate("document.body.prepend(document.createElement('input'))")
    page.locator("body > input").focus()
    for key in ("ArrowRight", "End", "?", "Space"):
        page.keyboard.press(key)
    assert round_of(page) == before
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("draftscope.player.playing") is False


def test_a_click_on_a_node_pins_it_in_every_view(replays: Replays) -> None:
    page = replays.open("tree", "?round=10")
    dart = page.evaluate("draftscope.store.view.darts.at(-1)")
    click_node(page, dart["node"])
    assert page.evaluate("draftscope.store.pin") == dart["node"]
    row = page.locator(".ds-dart.ds-chosen")
    assert row.get_attribute("data-number") == str(dart["number"])
    assert page.locator(".ds-inspector h3").inner_text().startswith(f"Dart {dart['number']}")
    page.mouse.move(2, 2)
    page.keyboard.press("Escape")
    assert page.locator(".ds-unpin").count() == 0


def test_a_row_of_the_ledger_previews_and_pins_its_node(replays: Replays) -> None:
    page = replays.open("tree", "?round=10")
    row = page.locator(".ds-dart").nth(1)
    row.hover()
    node = int(row.get_attribute("data-node") or "")
    assert page.evaluate("draftscope.store.hovered") == node
    assert page.locator(".ds-tree-hover circle").count() == 1
    row.click()
    page.mouse.move(2, 2)
    assert page.evaluate("[draftscope.store.pin, draftscope.store.hovered]") == [node, None]


def test_token_text_stays_text(replays: Replays) -> None:
    page = replays.open("hostile")
    page.evaluate("() => { window.alert = () => { window.struck = true; }; }")
    drawn = page.evaluate(
        "[...document.querySelectorAll('.ds-strip .ds-word')].map(w => w.textContent)"
    )
    assert {"<br>", "</p>", "$x^2$", "\\frac{1}{2}"} <= set(drawn)
    for _ in order_of(page):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.scripts.length") == 4
    made = page.locator(".ds-strip b, .ds-strip p, .ds-tree-stage b, .ds-tree-stage sup")
    assert made.count() == 0
    shown = "".join(page.locator(".ds-tree-over text").all_text_contents())
    labels = page.evaluate(
        "draftscope.store.view.nodes.filter(n => n.state !== 'pruned').map(n => n.label.text)"
    )
    for label in filter(lambda text: 0 < len(text) < 12, labels[1:]):
        assert label in shown
    assert page.evaluate("window.struck") is None
    assert "<script>alert" not in replay_html(hostile())


def test_labels_of_a_tree_of_64_never_meet(replays: Replays) -> None:
    page = replays.open("big_tree")
    for index in order_of(page):
        page.evaluate("(round) => draftscope.store.select({ round })", index)
        boxes = page.evaluate(
            """() => [...document.querySelectorAll('.ds-tree-words text')].map((text) => {
              const { left, right, top, bottom } = text.getBoundingClientRect();
              return { left, right, top: top + 3, bottom: bottom - 3, text: text.textContent };
            }).filter((box) => !/^\\d+$/.test(box.text) && !box.text.startsWith('…'))"""
        )
        for a, b in combinations(boxes, 2):
            apart = a["right"] <= b["left"] or b["right"] <= a["left"]
            assert apart or a["bottom"] <= b["top"] or b["bottom"] <= a["top"], (a, b)


def test_a_tree_of_500_folds_and_opens_again(replays: Replays) -> None:
    page = replays.open("huge_tree", "?round=1")
    shape = "(open) => Draftscope.treeLayout(draftscope.store.view, 620, new Set(open))"
    nodes = page.evaluate(f"(open) => [...({shape})(open).nodes.values()]", [])
    drafted = page.evaluate("draftscope.store.view.nodes.length")
    assert len(nodes) + sum(node["hidden"] for node in nodes) == drafted
    assert {node["node"]["row"] for node in nodes} >= set(range(20))
    assert max(node["node"]["row"] for node in nodes) < 60
    folded = next(node["node"]["id"] for node in nodes if node["hidden"])
    click_node(page, folded)
    more = page.evaluate(f"(open) => [...({shape})(open).nodes.keys()]", [folded])
    assert {node["node"]["id"] for node in nodes} < set(more)


def test_a_step_takes_no_more_than_50_ms_of_work(replays: Replays) -> None:
    page = replays.open("big_tree")
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = client.send("Performance.getMetrics")["metrics"]
        return 1000 * next(m["value"] for m in metrics if m["name"] == "ScriptDuration")

    page.keyboard.press("Home")
    spent: list[float] = []
    for turn in range(40):
        before = worked()
        page.keyboard.press("ArrowRight" if turn % 12 < 6 else "ArrowLeft")
        spent.append(worked() - before)
    assert sorted(spent)[int(0.95 * len(spent))] <= STEP_MS


def test_a_phone_gets_a_list_a_dock_and_no_sideways_scroll(replays: Replays) -> None:
    page = replays.open("tree", "?round=10", size=(375, 800))
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert not page.locator(".ds-tree-scroll").is_visible()
    for button in page.locator(".ds-dock button").all():
        box = button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
    row = page.locator(".ds-outline .ds-row-rejected").first
    row.click()
    assert page.evaluate("draftscope.store.pin") == int(row.get_attribute("data-node") or "")
    page.locator(".ds-dock [aria-label='Next round']").click()
    assert round_of(page) == 11
    page.locator(".ds-row-more").first.click()
    assert page.locator(".ds-row-unreached").first.is_visible()


def test_a_reload_restores_the_selection(replays: Replays) -> None:
    page = replays.open("tree", "?example=sky&round=10")
    node = page.evaluate("draftscope.store.view.darts[1].node")
    click_node(page, node)
    page.wait_for_url(re.compile(rf"example=sky&round=10&node={node}$"))
    page.reload()
    replays.settle(page)
    assert page.evaluate("[draftscope.store.round, draftscope.store.pin]") == [10, node]


def test_dark_follows_the_system_and_the_switch(replays: Replays) -> None:
    page = replays.open("tree", scheme="dark")
    ground = "getComputedStyle(document.querySelector('.ds')).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.ds-tree-over text')).fill"
    assert page.evaluate(ground) == "rgb(20, 23, 26)"
    assert page.evaluate(ink) == "rgb(236, 234, 228)"
    page.evaluate("Draftscope.theme.set('light')")
    assert page.evaluate(ground) == "rgb(251, 250, 247)"
    assert page.evaluate(ink) == "rgb(27, 30, 34)"


def test_the_projector_enlarges_the_type(replays: Replays) -> None:
    page = replays.open("tree")
    size = "parseFloat(getComputedStyle(document.querySelector('.ds-sentence')).fontSize)"
    before = page.evaluate(size)
    page.get_by_role("button", name="Projector").click()
    assert page.evaluate(size) == pytest.approx(1.4 * before)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1300


def test_the_keys_dialog_opens_closes_and_gives_the_focus_back(replays: Replays) -> None:
    page = replays.open("tree")
    button = page.get_by_role("button", name="Keys ?")
    button.focus()
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    before = round_of(page)
    page.keyboard.press("ArrowRight")
    assert round_of(page) == before
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert button.evaluate("(e) => e === document.activeElement")


def test_play_throws_the_darts_one_by_one_and_goes_on(replays: Replays) -> None:
    page = replays.open("tree", "?round=10")
    page.keyboard.press("Space")
    page.wait_for_function("() => draftscope.store.thrown === 1")
    states = page.evaluate(
        "Draftscope.asThrown(draftscope.store.view, 1).nodes.filter(n => n.dart !== null).length"
    )
    assert states == 1
    page.wait_for_function("() => draftscope.store.round === 11")
    page.keyboard.press("Space")
    assert page.evaluate("[draftscope.player.playing, draftscope.store.thrown]") == [False, None]


def test_a_live_trace_is_followed_until_the_reader_steps_away(replays: Replays) -> None:
    page = replays.open("tree")
    seen = page.evaluate(
        """() => {
          const { overview } = draftscope.store;
          const views = draftscope.store.views();
          const at = (count, finished) => ({
            ...overview, id: 'live', finished,
            strip: overview.strip.slice(0, count), scrub: overview.scrub.slice(0, count),
          });
          const store = draftscope.store;
          const seen = [];
          const words = () => document.querySelectorAll('.ds-drafting').length;
          const note = () => seen.push([store.round, words()]);
          store.setTrace(at(1, false), views.slice(0, 1)); note();
          store.update(at(2, false), views.slice(1, 2)); note();
          store.update(at(3, false), views.slice(2, 3)); note();
          store.step(-1); note();
          store.update(at(4, false), views.slice(3, 4)); note();
          store.select({ round: 3 });
          store.update(at(5, true), views.slice(4, 5)); note();
          return seen;
        }"""
    )
    assert seen == [[0, 1], [1, 1], [2, 1], [1, 1], [1, 1], [4, 0]]


def test_rounds_are_fetched_in_pages_once_and_ahead(replays: Replays) -> None:
    page = replays.open("tree")
    asked, view = page.evaluate(
        """async () => {
          const asked = [];
          const base = draftscope.store.views()[1];
          const fetchRounds = async (id, from, to) => {
            asked.push([from, to]);
            return Array.from({ length: to - from }, (_, i) => ({ ...base, index: from + i }));
          };
          const store = Draftscope.createStore({ fetchRounds });
          const round = (index) => ({ index, tokens: [], rejected: [] });
          const strip = Array.from({ length: 100 }, (_, index) => round(index));
          const overview = { ...draftscope.store.overview, id: 'paged', strip, scrub: [] };
          store.setTrace(overview, [], { round: 40 });
          const rest = () => new Promise((done) => setTimeout(done));
          await rest(); store.select({ round: 50 });
          await rest(); store.select({ round: 60 });
          await rest(); store.select({ round: 40 });
          await rest();
          return [asked, store.view.index];
        }"""
    )
    assert sorted(asked) == [[32, 64], [64, 96]]
    assert view == 40


def test_the_texts_of_a_dart_never_meet(replays: Replays) -> None:
    page = replays.open("tree")
    meeting = page.evaluate(
        """() => {
          const bad = [];
          for (let keep = 0; keep <= 1.001; keep += 0.02) for (let u = 0; u <= 1.001; u += 0.02) {
            const board = { keep, u, keep_text: 'p/q .2647', u_text: 'u .2685' };
            const texts = Draftscope.boardTexts(board, 340);
            const outside = [texts.keep, texts.u].some((box) => box.from < -1 || box.to > 341);
            const meet = texts.keep.from < texts.u.to && texts.u.from < texts.keep.to;
            if (outside || (meet && !texts.above)) bad.push([keep, u]);
          }
          return bad;
        }"""
    )
    assert meeting == []


def test_a_picture_and_a_table_can_be_taken_home(replays: Replays, tmp_path: Path) -> None:
    page = replays.open("hostile", "?round=4")
    menu = page.locator("summary", has_text="Export")
    for name, start in (("Draft tree, PNG", b"\x89PNG"), ("Tokens, CSV", b"position,token")):
        menu.click()
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert file.read_bytes().startswith(start)
    cells = page.evaluate("['=1+1', '@x', '-2', 'a,b', 'say \"x\"', -2].map(Draftscope.csvCell)")
    assert cells == ["'=1+1", "'@x", "'-2", '"a,b"', '"say ""x"""', "-2"]


def test_a_notebook_shows_the_replay_in_a_frame(chromium: Browser, replays: Replays) -> None:
    page = chromium.new_context(offline=True).new_page()
    replays.watch(page)
    page.set_content(notebook_html(tree()))
    frame = page.frame_locator("iframe")
    frame.locator(".ds-tree-over text").first.wait_for()
    frame.locator(".ds-dart").nth(1).click()
    assert frame.locator(".ds-dart.ds-chosen").get_attribute("data-number") == "2"
    assert frame.get_by_role("button", name="Copy link").count() == 0


def test_keep_and_reject_never_meet_the_wedge(replays: Replays) -> None:
    page = replays.open("tree")
    met, shown = page.evaluate(
        """() => {
          const met = [];
          let shown = 0;
          for (const width of [300, 340, 420])
            for (let keep = 0; keep <= 1.001; keep += 0.02) for (let u = 0; u <= 1; u += 0.01) {
              const labels = Draftscope.boardLabels({ keep, u }, width);
              const stem = Math.min(width - 5, Math.max(5, u * width));
              for (const { word, from, to } of labels) {
                shown += 1;
                const [low, high] = word === 'keep' ? [0, keep * width] : [keep * width, width];
                const meets = from < stem + 6 && to > stem - 6;
                if (meets || from < low || to > high) met.push([word, width, keep, u]);
              }
            }
          return [met, shown];
        }"""
    )
    assert met == []
    assert shown > 10_000


@pytest.mark.parametrize("name", ["cancelled", "failed"])
def test_a_stored_text_is_over_however_it_ended(replays: Replays, name: str) -> None:
    page = replays.open(name)
    assert page.locator(".ds-drafting, .ds-skeleton").count() == 0
    assert page.evaluate("draftscope.store.overview.finish") in page.inner_text(".ds-strip-foot")
    assert "so far" not in page.inner_text(".ds-place >> nth=0")


@pytest.mark.parametrize("name", ["hostile", "with_blocks"])
def test_every_picture_of_a_round_is_drawn(replays: Replays, name: str) -> None:
    page = replays.open(name, "?round=1")
    for index in order_of(page):
        page.evaluate("(round) => draftscope.store.select({ round })", index)
        page.wait_for_timeout(120)
        heads = page.evaluate(
            """() => [draftscope.store.view.picture, ...draftscope.store.view.more_pictures]
                 .filter(Boolean).map((picture) => picture.section.head)"""
        )
        shown = page.locator(".ds-picture:not(.ds-none) h3").all_inner_texts()
        assert sorted(shown) == sorted(heads)
    assert page.locator(".ds-picture").count() > 1


def test_what_a_lookup_copied_is_marked_in_the_text(replays: Replays) -> None:
    page = replays.open("sampled_lookup")
    for index in order_of(page):
        page.evaluate("(round) => draftscope.store.select({ round })", index)
        page.wait_for_timeout(120)
        if page.evaluate("draftscope.store.view.nodes.some(n => n.state === 'accepted')"):
            mark = page.locator(".ds-quote-kept").first
            assert mark.is_visible()
            assert mark.evaluate("(e) => parseFloat(getComputedStyle(e).borderBottomWidth)") >= 2


def test_the_unpacked_payload_is_the_packed_one(replays: Replays) -> None:
    payload = json.loads(json.dumps(explore_payload(tree(), "Recorded example")))
    page = replays.open("tree")
    assert page.evaluate("draftscope.store.overview") == payload["overview"]
    assert page.evaluate("draftscope.store.views()") == payload["rounds"]


def test_a_thousand_rounds_open_within_two_seconds_and_step_as_fast(
    chromium: Browser, replays: Replays, tmp_path: Path
) -> None:
    file = tmp_path / "long.html"
    file.write_text(replay_html(long_run()), "utf-8")
    assert file.stat().st_size < MOST_BYTES
    page = chromium.new_context(offline=True, viewport={"width": 1300, "height": 900}).new_page()
    replays.watch(page)
    page.goto(file.as_uri())
    replays.settle(page)
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}
    assert metrics["TaskDuration"] <= 2
    page.evaluate("draftscope.store.select({ round: 500 })")
    spent = page.evaluate(
        """async () => {
          Draftscope.timings.step.length = 0;
          for (let turn = 0; turn < 20; turn += 1) {
            draftscope.store.step(turn % 2 ? -1 : 1);
            await new Promise((done) => setTimeout(done, 20));
          }
          return Draftscope.timings.step.sort((a, b) => a - b);
        }"""
    )
    assert spent[10] <= STEP_MS


def test_a_copied_strip_is_the_plain_text(replays: Replays) -> None:
    page = replays.open("tree", "?round=3")
    page.get_by_role("button", name="Show what was thrown away").click()
    copied = page.evaluate(
        """() => {
          const strip = document.querySelector('.ds-strip');
          getSelection().selectAllChildren(strip);
          const how = { bubbles: true, cancelable: true };
          const event = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), ...how });
          strip.firstElementChild.dispatchEvent(event);
          return [event.defaultPrevented, event.clipboardData.getData('text/plain')];
        }"""
    )
    trace = tree()
    whole = b"".join(
        trace.vocabulary[token] for token in token_ids(trace) if token not in trace.special
    )
    assert copied == [True, whole.decode()]


def test_paper_shows_the_round_on_light_ground_without_controls(replays: Replays) -> None:
    page = replays.open("tree", "?round=10", scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    ground = "getComputedStyle(document.querySelector('.ds')).backgroundColor"
    assert page.evaluate(ground) == "rgb(251, 250, 247)"
    for name in (".ds-header", ".ds-part-scrubber", ".ds-side"):
        assert not page.locator(name).first.is_visible()
    for name in (".ds-sentence", ".ds-strip", ".ds-tree-plot", ".ds-inspector", ".ds-darts"):
        assert page.locator(name).first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ground) == "rgb(20, 23, 26)"


def test_a_hard_token_leads_to_its_node(replays: Replays) -> None:
    page = replays.open("tree")
    hard = page.evaluate("draftscope.store.overview.hardest[1]")
    row = page.locator(".ds-hardest button").nth(1)
    assert hard["numbers"] in row.inner_text()
    row.click()
    place = page.evaluate("[draftscope.store.round, draftscope.store.pin]")
    assert place == [hard["round"], hard["node"]]


def test_the_marked_column_is_that_of_the_round(replays: Replays) -> None:
    """Also of rounds that kept nothing, which have no block above the line."""
    page = replays.open("big_tree")
    for index in order_of(page)[1:]:
        page.evaluate("(round) => draftscope.store.select({ round })", index)
        middle, column = page.evaluate(
            """() => {
              const box = document.querySelector('.ds-column-mark').getBoundingClientRect();
              const plot = document.querySelector('.ds-part-timeline .ds-plot');
              const { xaxis } = plot._fullLayout;
              const left = plot.getBoundingClientRect().left + xaxis._offset;
              return [(box.left + box.right) / 2, left + xaxis.d2p(draftscope.store.round)];
            }"""
        )
        assert middle == pytest.approx(column, abs=1)


def test_numbers_of_rounds_never_meet_on_a_phone(replays: Replays) -> None:
    page = replays.open("hostile", size=(375, 800))
    page.wait_for_selector(".ds-part-timeline .xtick text")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('.ds-part-timeline .xtick text')]
             .map((text) => text.getBoundingClientRect()).map(({ left, right }) => [left, right])"""
    )
    assert len(boxes) >= 5
    assert all(a[1] < b[0] for a, b in pairwise(boxes))


def test_a_long_strip_follows_the_round(
    chromium: Browser, replays: Replays, tmp_path: Path
) -> None:
    """Also into blocks of text that were never drawn before."""
    file = tmp_path / "long.html"
    file.write_text(replay_html(long_run()), "utf-8")
    page = chromium.new_context(offline=True, viewport={"width": 1300, "height": 900}).new_page()
    replays.watch(page)
    page.goto(file.as_uri())
    replays.settle(page)
    for index in (900, 10, 500):
        page.evaluate("(round) => draftscope.store.select({ round })", index)
        page.wait_for_function(
            """(round) => {
              const strip = document.querySelector('.ds-strip').getBoundingClientRect();
              const token = document.querySelector('.ds-selected');
              const { top, bottom } = token.getBoundingClientRect();
              const seen = top >= strip.top - 1 && bottom <= strip.bottom + 1;
              return Number(token.dataset.round) === round && seen;
            }""",
            arg=index,
            timeout=3000,
        )
