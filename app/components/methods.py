"""The catalogue of methods as one component: everything that it does happens in the browser."""

from __future__ import annotations

from collections.abc import Mapping

import gradio as gr

from app.components.assets import script, style, tags
from app.components.quiet import Quiet


class MethodsCatalogue(gr.HTML, metaclass=Quiet):
    """The entries, their search and their filters."""

    def __init__(
        self,
        *,
        settings: Mapping[str, object],
        elem_id: str | None = None,
        render: bool = True,
    ) -> None:
        """`settings` is what methods.js reads once: where the entries are, pages, examples."""
        super().__init__(
            value="",
            html_template='<div class="ds-mount" aria-busy="true"></div>',
            js_on_load=script("methods.js"),
            apply_default_css=False,
            head=style("methods.css") + tags("page.js", "methods.js"),
            elem_id=elem_id,
            render=render,
            settings=dict(settings),
        )
