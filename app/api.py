"""The app without its page: named endpoints for `gradio_client`, which are MCP tools as well.

Each does what a button of the page does, through the same runner, limits and shelf. Docstrings and
labels are what a caller reads. Errors are one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import gradio as gr
from gradio.components import Component
from gradio.components.api_component import Api

from app.api_compare import comparison_endpoints
from app.api_parts import Json, as_file, caller, checked, named, number_field, whole_field
from app.commands.summary import summary
from app.messages import Message
from app.orders import Order, check_draft, read_order
from app.studio import Found, Studio, overview_of, rounds_of
from core.trace_io import dumps, read
from viz.replay import replay_html


def endpoints(studio: Studio) -> None:
    """Add all endpoints to the current Blocks; nothing of them is seen."""

    async def run(
        prompt: str,
        method: str = "speculative_sampling",
        config: Json = None,
        chat: bool = True,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        max_new_tokens: int = 48,
        stop: Json = None,
        target: str = "default",
        draft: str = "",
        request: gr.Request | None = None,
    ) -> tuple[str, dict[str, object], str]:
        """
        Decode a prompt with a speculative decoding method and record every drafting round.

        Returns the generated text; a summary with the name of the stored trace, why the text
        ended and metrics such as tokens per target pass; and the trace as a file.

        Args:
            prompt: The text to go on from, or the question to answer when chat is on.
            method: Key of the method: plain, speculative_sampling, prompt_lookup, rsd ...
            config: Settings of the method by name, such as {"tree": [4, 2, 2]}.
            chat: Put the prompt into the model's chat template.
            temperature: 0 takes the likeliest token, 1 is the model's own law.
            top_k: Keep the k likeliest tokens; 0 keeps all.
            top_p: Keep the likeliest tokens up to this mass; 1 keeps all.
            seed: The same seed gives the same text.
            max_new_tokens: The text ends after so many tokens.
            stop: List of strings before which the text ends.
            target: The model: "default", a hub id, a folder or a GGUF file.
            draft: A second model that drafts, for methods with the setting drafter = model;
                empty: the project's own for that target.
        """
        order = checked(lambda: _checked({
            "prompt": prompt, "method": method, "config": config or {}, "chat": chat,
            "sampling": {
                "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed,
                "max_new_tokens": max_new_tokens, "stop": stop or [],
            },
            "models": {"target": target, "draft": draft},
        }, studio))  # fmt: skip
        last: Message | None = None
        async for message in studio.runner.run(caller(request), order):
            last = message
        if last is None or last["phase"] == "error":
            raise gr.Error(last["words"] if last else "The run ended early.", print_exception=False)
        found = _find(studio, last["run"])
        told = summary(found.trace)
        about: dict[str, object] = {
            "trace": found.name,
            "finish_reason": told.finish_reason,
            "metrics": told.metrics,
        }
        return told.text, about, _trace_file(found)

    def rounds(trace: str, start: int = 0, stop: int = 8) -> list[object]:
        """
        Show drafting rounds of a stored trace, at most 32 at a time.

        Each has its draft tree, every accept test with its numbers, and the target's and the
        drafter's laws at each node.

        Args:
            trace: Name of the trace, as run or import_trace returned it, or an example's key.
            start: First round, from 0; round 0 reads the prompt.
            stop: The round after the last one wanted.
        """
        first, end = _place("start", start), _place("stop", stop)
        views = rounds_of(_find(studio, trace), first, end)
        return cast("list[object]", _without_figures(views))

    def example(key: str = "") -> dict[str, object]:
        """
        Show a recorded example: its text, settings, timeline and acceptance.

        Args:
            key: Key of the example; empty lists them.
        """
        if not key:
            return {"examples": {r.key: r.title for r in studio.recordings.all.values()}}
        if key not in studio.recordings.all:
            keys = ", ".join(studio.recordings.all)
            raise gr.Error(
                f"There is no example {key!r}; there are: {keys}.", print_exception=False
            )
        return cast("dict[str, object]", _without_figures(overview_of(_find(studio, key))))

    def export_trace(trace: str) -> str:
        """
        Return a stored trace as a file, .json.gz, that import_trace and the command line read.

        Args:
            trace: Name of the trace, or an example's key.
        """
        return _trace_file(_find(studio, trace))

    def export_html(trace: str) -> str:
        """
        Return a stored trace as one HTML file that replays it without a network.

        Args:
            trace: Name of the trace, or an example's key.
        """
        found = _find(studio, trace)
        return as_file(
            f"draftscope-{found.name}.html", replay_html(found.trace, found.origin).encode()
        )

    def import_trace(file: str, request: gr.Request | None = None) -> dict[str, object]:
        """
        Open a trace file. Returns its overview; the field "id" is the name for rounds and exports.

        Args:
            file: A trace, .json.gz or .json.
        """
        trace = checked(lambda: read(Path(file)))
        stored = studio.shelf.add(caller(request), "From a file", trace)
        studio.shelf.tidy()
        opened = Found(stored.name, stored.origin, trace)
        return cast("dict[str, object]", _without_figures(overview_of(opened)))

    named(run, _order_fields(), _run_results())
    name = gr.Textbox(label="trace")
    places = [whole_field("start", 0), whole_field("stop", 8)]
    named(rounds, [name, *places], [gr.JSON(label="rounds")])
    named(example, [gr.Textbox("", label="key")], [gr.JSON(label="overview")])
    named(export_trace, [name], [gr.File(label="trace file")])
    named(export_html, [name], [gr.File(label="replay")])
    named(import_trace, [gr.File(label="file")], [gr.JSON(label="overview")])
    comparison_endpoints(studio)


def _order_fields() -> Sequence[Component]:
    strings = cast("dict[str, str]", {"type": "array", "items": {"type": "string"}})
    return [
        gr.Textbox(label="prompt"),
        gr.Textbox("speculative_sampling", label="method"),
        Api({}, {"type": "object"}, label="config"),
        gr.Checkbox(True, label="chat"),
        number_field("temperature", 0.0),
        whole_field("top_k", 0),
        number_field("top_p", 1.0),
        whole_field("seed", 0),
        whole_field("max_new_tokens", 48),
        Api([], strings, label="stop"),
        gr.Textbox("default", label="target"),
        gr.Textbox("", label="draft"),
    ]


def _run_results() -> Sequence[Component]:
    return [gr.Textbox(label="text"), gr.JSON(label="summary"), gr.File(label="trace file")]


def _checked(data: Mapping[str, object], studio: Studio) -> Order:
    order = read_order(data, studio.limits)
    check_draft(order)
    return order


def _place(name: str, value: object) -> int:
    """Return the number of a round."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    told = f"The argument {name} is {str(value)[:40]!r}; it may be a whole number, 0 or more."
    raise gr.Error(told, print_exception=False)


def _find(studio: Studio, name: str) -> Found:
    try:
        return studio.find(name)
    except KeyError as error:
        raise gr.Error(str(error.args[0]), print_exception=False) from None


def _without_figures(value: object) -> object:
    """Return JSON without charts: a `path` in a chart is a file to fetch for `gradio_client`."""
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value)
        return {name: _without_figures(part) for name, part in parts.items() if name != "figure"}
    if isinstance(value, list):
        return [_without_figures(part) for part in cast("list[object]", value)]
    return value


def _trace_file(found: Found) -> str:
    return as_file(f"draftscope-{found.name}.json.gz", dumps(found.trace))
