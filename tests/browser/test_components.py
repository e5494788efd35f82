"""The reusable components in a page of their own: drawn, clicked, changed by the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import gradio as gr
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser, Page, expect

from app.components.plotly_graph import PlotlyGraph
from app.components.token_strip import TokenStrip
from app.limits import Limits
from app.recordings import Recordings
from app.routes import assets, mount
from app.studio import Studio
from tests.app.served import free_port
from tests.sample_traces import chain, hostile
from viz.overview import overview

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),  # it counts calls with pandas
]

POINTS = go.Scatter(
    x=[1, 2, 3], y=[3, 1, 2], mode="markers", marker={"size": 20}, customdata=["a", "b", "<b>c</b>"]
)
BARS = {"data": [{"type": "bar", "x": ["<b>x</b>"], "y": [2], "marker": {"color": "@rejected"}}]}


async def launched(port: int) -> gr.Blocks:
    studio = Studio(Limits(), None, Recordings())
    with gr.Blocks() as demo:
        graph = PlotlyGraph(go.Figure(POINTS, {"height": 200}), elem_id="graph")
        strip = TokenStrip(overview(hostile()), elem_id="strip")
        swap = gr.Button("swap", elem_id="swap")
        said = gr.Textbox(elem_id="said")

        def say(event: gr.SelectData) -> str:
            return f"{event.index} {event.value}"

        graph.select(say, None, said)
        strip.select(say, None, said)
        swap.click(lambda: (BARS, overview(chain())), None, [graph, strip])
    demo.launch(
        prevent_thread_lock=True,
        server_port=port,
        quiet=True,
        app_kwargs={"routes": [mount(studio)]},
        head=f'<link rel="stylesheet" href="{assets()["page.css"].url}">',
    )
    return demo


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    port = free_port()
    with ThreadPoolExecutor(1) as thread:
        demo = thread.submit(asyncio.run, launched(port)).result()
    yield f"http://127.0.0.1:{port}"
    demo.close(verbose=False)


@pytest.fixture
def sheet(chromium: Browser, url: str) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 900, "height": 800})
    found = context.new_page()
    faults: list[str] = []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda m: m.type == "error" and faults.append(m.text))
    found.goto(url)
    found.wait_for_selector("#graph .point")
    yield found
    context.close()
    assert faults == []


def test_a_clicked_point_reaches_the_server_with_its_data(sheet: Page) -> None:
    box = sheet.locator("#graph .point").nth(2).bounding_box()
    assert box is not None
    sheet.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(sheet.locator("#said textarea")).to_have_value("[0, 2] <b>c</b>")


def test_a_clicked_token_reaches_the_server_with_its_place(sheet: Page) -> None:
    first = overview(hostile())["strip"][1]
    sheet.locator("#strip .ds-tok[data-round='1']").nth(0).click()
    node, text = first["tokens"][0]["node"], first["tokens"][0]["label"]["text"]
    expect(sheet.locator("#said textarea")).to_have_value(f"[1, {node}] {text}")


def test_the_server_changes_what_is_shown(sheet: Page) -> None:
    before = sheet.locator("#strip .ds-tok").count()
    sheet.click("#swap")
    sheet.wait_for_selector("#graph .bars path")
    colour = sheet.locator("#graph .bars path").first.evaluate("(e) => getComputedStyle(e).fill")
    assert colour == "rgb(178, 60, 6)"
    assert sheet.locator("#strip .ds-tok").count() != before


def test_token_text_is_never_markup(sheet: Page) -> None:
    assert sheet.locator("#strip :is(script, img, b)").count() == 0
    assert "<b>" in sheet.locator("#strip").inner_text()


def test_a_figure_takes_the_page_as_its_ground(sheet: Page) -> None:
    ground = sheet.locator("#graph .main-svg").first.evaluate("(e) => e.style.background")
    assert ground in ("rgba(0, 0, 0, 0)", "transparent")
