"""What MCP tools answer: text and JSON. Gradio alone gives Python's own notation of a value, and
several results as one. Knows no endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from gradio.mcp import GradioMCPServer
from gradio_client.utils import is_file_obj_with_meta


def answer_in_json(server: GradioMCPServer) -> None:
    """Make the tools of `server` give each result by itself, values that are no text as JSON."""
    plain = server.postprocess_output_data

    def answers(data: Any, root_url: str) -> Any:
        given = cast("Sequence[object]", data)
        several = len(given) == 1 and isinstance(given[0], tuple)
        results = cast("Sequence[object]", given[0]) if several else given
        return plain([_shown(result) for result in results], root_url)

    server.postprocess_output_data = answers


def _shown(result: object) -> object:
    """Return JSON in place of a value; text stays, and a file, shown by its address."""
    if isinstance(result, str) or is_file_obj_with_meta(result):
        return result
    return json.dumps(result, ensure_ascii=False)
