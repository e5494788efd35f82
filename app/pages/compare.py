"""Compare: one prompt, several methods beside each other. Wires the comparer to the server.

The comparison shown first is a recorded one, so that nothing is computed until someone presses Run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import gradio as gr

from app.compare_messages import CompareMessage
from app.compare_orders import read_comparison
from app.components.comparer import Comparer
from app.controls import Catalogue, catalogue
from app.orders import ModelsOrder, OrderError
from app.routes import PREFIX, assets
from app.session import stranger
from app.studio import Studio

NAME = "Compare"
PATH = "compare"


def compare(studio: Studio, pages: list[dict[str, str]]) -> None:
    """Build the page inside the current Blocks. `pages` are the entries of the navigation."""
    limits = studio.limits

    def controls(_: object = None) -> Catalogue:
        return catalogue(limits, studio.engines.has(ModelsOrder()))

    def cancel(name: object) -> None:
        studio.runner.cancel(str(name))

    comparer = Comparer(
        settings={
            "prefix": PREFIX,
            "plotly": assets()["plotly.js"].url,
            "pages": pages,
            "linkCharacters": limits.link_characters,
            "most": limits.compared,
            "examples": [
                {"key": one.key, "title": one.title, "order": one.order}
                for one in studio.comparisons.all.values()
            ],
        },
        server_functions=[controls, cancel],
        elem_id="comparer",
    )

    async def run(event: gr.EventData, request: gr.Request) -> AsyncIterator[CompareMessage]:
        try:
            wish = getattr(event, "order", None)
            order = read_comparison(wish if isinstance(wish, dict) else {}, limits)
        except OrderError as error:
            yield {
                "comparison": "",
                "number": 0,
                "phase": "error",
                "field": error.field,
                "words": str(error),
                "methods": [],
                "revision": 0,
            }
            return
        async for message in studio.comparing.run(request.session_hash or stranger(), order):
            yield message

    # As on Explore, the queue lets all of them in: the runner has a line of its own.
    comparer.run(
        run,
        inputs=None,
        outputs=comparer,
        show_progress="hidden",
        trigger_mode="multiple",
        concurrency_limit=None,
        api_name="comparer_run",
        api_visibility="private",
    )
