"""What the endpoints are made of: fields, named functions, refusals in one sentence, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import gradio as gr
from gradio.components import Component
from gradio.components.api_component import Api
from gradio.processing_utils import save_bytes_to_cache
from gradio.utils import get_upload_folder

from app.orders import OrderError
from app.session import stranger
from core.trace_io import TraceError

Json = dict[str, object] | list[object] | None
Result = TypeVar("Result")


def named(
    work: Callable[..., object],
    inputs: Sequence[Component],
    outputs: Sequence[Component],
) -> None:
    """Make a function an endpoint under its own name; its components are never drawn."""
    for component in (*inputs, *outputs):
        component.visible = False
    gr.Button(visible=False).click(
        work,
        inputs=list(inputs),
        outputs=list(outputs),
        api_name=work.__name__,
        show_progress="hidden",
        concurrency_limit=None,  # the runner has a line of its own
    )


def checked(work: Callable[[], Result]) -> Result:
    """Return what `work` returns; its refusal becomes the caller's sentence."""
    try:
        return work()
    except (OrderError, TraceError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def number_field(label: str, default: float) -> Api:
    """Return a field that takes what it is given: a wrong type is told in our own sentence."""
    return Api(default, {"type": "number"}, label=label)


def whole_field(label: str, default: int) -> Api:
    return Api(default, {"type": "integer"}, label=label)


def caller(request: gr.Request | None) -> str:
    """Return the caller's name; one without a session is a visitor of its own."""
    return (request.session_hash if request else None) or stranger()


def as_file(name: str, data: bytes) -> str:
    """Write a file for a caller to fetch, into Gradio's cache, which empties itself."""
    return save_bytes_to_cache(data, name, str(get_upload_folder()))
