"""A Plotly graph that can be clicked: `gr.Plot` has no click event.

The figure is drawn in the browser by the plotly.js of the installed `plotly` package. In a figure's
JSON, colours may be theme keys such as `@accepted`, which follow light and dark. Knows no trace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import gradio as gr
import plotly.graph_objects as go

from app.components.assets import script, tags
from app.components.quiet import Quiet

Value = go.Figure | Mapping[str, object] | None


class PlotlyGraph(gr.HTML, metaclass=Quiet):
    """A figure. A clicked point triggers `select`.

    `evt.index` is [curve, point], `evt.value` the point's custom data, text or height.
    """

    def __init__(
        self,
        value: Value = None,
        *,
        label: str = "Graph",
        elem_id: str | None = None,
        render: bool = True,
    ):
        """`value` is a figure or its JSON; `label` is read to people who do not see it."""
        super().__init__(
            value=value,
            label=label,
            html_template='<div class="ds"><div class="ds-graph" role="img"></div></div>',
            js_on_load=script("plotly_graph.js"),
            apply_default_css=False,
            head=tags("plotly.js", "page.js"),
            elem_id=elem_id,
            render=render,
        )

    def postprocess(self, value: Any) -> Any:
        """Return a figure as JSON; JSON passes as it is."""
        return json.loads(cast(str, value.to_json())) if isinstance(value, go.Figure) else value

    def api_info(self) -> dict[str, object]:
        return {"type": "object"}
