"""Text as tokens with a seam between rounds: the strip of the Explore page on its own.

Its value is a trace's overview (`viz.overview`). Token text is data, never markup.
"""

from __future__ import annotations

import gradio as gr

from app.components.assets import script, tags
from app.components.quiet import Quiet
from viz.payload import Overview


class TokenStrip(gr.HTML, metaclass=Quiet):
    """A strip. A clicked token triggers `select`.

    `evt.index` is [round, node], the node None for the target's own token; `evt.value` its text.
    """

    def __init__(
        self, value: Overview | None = None, *, elem_id: str | None = None, render: bool = True
    ):
        """`value` is the overview of the trace to show."""
        super().__init__(
            value=value,
            html_template='<div class="ds"><div class="ds-part-strip"></div></div>',
            js_on_load=script("token_strip.js"),
            apply_default_css=False,
            head=tags("page.js"),
            elem_id=elem_id,
            render=render,
        )

    def api_info(self) -> dict[str, object]:
        return {"type": "object"}
