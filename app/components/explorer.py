"""The Explore page as one component: panels, controls and keys in the browser.

Orders go to the server as events. Its value is the newest message of the run under way; everything
else is asked for over plain HTTP. Knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
import msgspec

from app.components.assets import script, tags
from app.components.quiet import Quiet


class Explorer(gr.HTML, metaclass=Quiet):
    """The explorer of one trace. Triggers `run` with an order, `resume` with a run's name."""

    def __init__(
        self,
        *,
        settings: Mapping[str, object],
        server_functions: Sequence[Callable[..., object]],
        elem_id: str | None = None,
        render: bool = True,
    ) -> None:
        """`settings` is what explorer.js reads once: examples, pages, addresses."""
        super().__init__(
            value="",
            html_template='<div class="ds-mount" aria-busy="true"></div>',
            js_on_load=script("explorer.js"),
            apply_default_css=False,
            head=tags("page.js"),
            server_functions=list(server_functions),
            elem_id=elem_id,
            render=render,
            settings=dict(settings),
        )

    def postprocess(self, value: Any) -> Any:
        """Pass a message on as JSON text.

        As an object it would travel as differences to the message before, with which it has
        nothing in common.
        """
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
