"""The Compare page as one component: the row of what to compare, its drawings and keys in the
browser.

Orders go to the server as events. Its value is the newest message of the comparison under way;
everything else is asked for over plain HTTP. Knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
import msgspec

from app.components.assets import script, style, tags
from app.components.quiet import Quiet


class Comparer(gr.HTML, metaclass=Quiet):
    """A comparison and what makes the next one. Triggers `run` with an order."""

    def __init__(
        self,
        *,
        settings: Mapping[str, object],
        server_functions: Sequence[Callable[..., object]],
        elem_id: str | None = None,
        render: bool = True,
    ) -> None:
        """`settings` is what comparer.js reads once: examples, pages, addresses."""
        super().__init__(
            value="",
            html_template='<div class="ds-mount" aria-busy="true"></div>',
            js_on_load=script("comparer.js"),
            apply_default_css=False,
            head=style("compare.css") + tags("page.js", "compare.js"),
            server_functions=list(server_functions),
            elem_id=elem_id,
            render=render,
            settings=dict(settings),
        )

    def postprocess(self, value: Any) -> Any:
        """Pass a message on as JSON text, as the explorer does."""
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
