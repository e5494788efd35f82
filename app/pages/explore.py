"""Explore: one method, one prompt, every round. Wires the explorer to the runner.

The trace shown first is a recorded one, so that nothing is computed until someone presses Run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import gradio as gr

from app.components.explorer import Explorer
from app.controls import Catalogue, catalogue
from app.messages import Message
from app.orders import ModelsOrder, OrderError, read_order
from app.routes import PREFIX, assets
from app.session import stranger
from app.studio import Studio

NAME = "Explore"


def explore(studio: Studio, pages: list[dict[str, str]]) -> None:
    """Build the page inside the current Blocks. `pages` are the entries of the navigation."""
    limits = studio.limits

    def controls(_: object = None) -> Catalogue:
        return catalogue(limits, studio.engines.has(ModelsOrder()))

    def cancel(name: object) -> None:
        studio.runner.cancel(str(name))

    explorer = Explorer(
        settings={
            "prefix": PREFIX,
            "plotly": assets()["plotly.js"].url,
            "pages": pages,
            "linkCharacters": limits.link_characters,
            "examples": [
                {"key": r.key, "title": r.title, "order": r.order}
                for r in studio.recordings.all.values()
            ],
        },
        server_functions=[controls, cancel],
        elem_id="explorer",
    )

    async def run(event: gr.EventData, request: gr.Request) -> AsyncIterator[Message]:
        try:
            wish = getattr(event, "order", None)
            order = read_order(wish if isinstance(wish, dict) else {}, limits)
        except OrderError as error:
            yield {
                "run": "",
                "number": 0,
                "phase": "error",
                "field": error.field,
                "words": str(error),
            }
            return
        async for message in studio.runner.run(request.session_hash or stranger(), order):
            yield message

    async def resume(event: gr.EventData) -> AsyncIterator[Message]:
        async for message in studio.runner.resume(str(getattr(event, "name", ""))):
            yield message

    # Gradio's queue lets all of them in: the runner has a line of its own, which lets one run at a
    # time, tells the others their place, can be left at once, and says when it is full.
    for listen, work in ((explorer.run, run), (explorer.resume, resume)):
        listen(
            work,
            inputs=None,
            outputs=explorer,
            show_progress="hidden",
            trigger_mode="multiple",
            concurrency_limit=None,
            api_name=f"explorer_{work.__name__}",
            api_visibility="private",
        )
