"""Comparisons as named endpoints: several methods on one prompt, and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import gradio as gr
import msgspec
from gradio.components import Component
from gradio.components.api_component import Api
from starlette.concurrency import run_in_threadpool

from app.api_parts import Json, as_file, caller, checked, named, number_field, whole_field
from app.commands.compared import compared
from app.compare_messages import CompareMessage
from app.compare_orders import ComparisonOrder, read_comparison
from app.comparisons import Compared
from app.orders import Order, OrderError, check_draft
from app.studio import Studio
from core.compare.comparison import Comparison, refusal
from core.compare.files import dumps
from core.trace import Trace
from viz.compare.entry import Entry
from viz.compare.export import comparison_html
from viz.compare.finding import finding
from viz.sentence import plain

_SHOWN = (
    *("name", "lossless", "config", "text", "finish_reason", "verdict"),
    *("tokens_per_pass", "speedup", "wasted", "waterfall", "metrics"),
)


def comparison_endpoints(studio: Studio) -> None:
    """Add the endpoints to the current Blocks; nothing of them is seen."""

    async def compare(
        prompt: str,
        methods: Json = None,
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
    ) -> tuple[dict[str, object], str]:
        """
        Decode a prompt with several methods and compare them with plain decoding.

        Returns what the comparison shows, in a sentence and in numbers per method (tokens per
        target pass, speed-up by the clock, share of drafts thrown away, whether the text is that
        of plain decoding); and all records as a file, .json.gz.

        Args:
            prompt: The text to go on from, or the question to answer when chat is on.
            methods: List of methods: keys such as "mcsd", or {"method": "mcsd", "config": {"tree":
                [4, 2, 2]}}. Plain decoding is always compared with.
            chat: Put the prompt into the model's chat template.
            temperature: 0 takes the likeliest token, 1 is the model's own law.
            top_k: Keep the k likeliest tokens; 0 keeps all.
            top_p: Keep the likeliest tokens up to this mass; 1 keeps all.
            seed: The same seed gives the same text.
            max_new_tokens: Each text ends after so many tokens.
            stop: List of strings before which a text ends.
            target: The model: "default", a hub id, a folder or a GGUF file.
            draft: A second model that drafts, for methods with the setting drafter = model;
                empty: the project's own for that target.
        """
        order = checked(lambda: _order({
            "prompt": prompt, "methods": _blocks(methods), "chat": chat,
            "sampling": {
                "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed,
                "max_new_tokens": max_new_tokens, "stop": stop or [],
            },
            "models": {"target": target, "draft": draft},
        }, studio))  # fmt: skip
        last: CompareMessage | None = None
        async for message in studio.comparing.run(caller(request), order):
            last = message
        if last is None or last["phase"] == "error":
            words = last["words"] if last else "The comparison ended early."
            raise gr.Error(words, print_exception=False)
        found = _find(studio, last["comparison"])
        data = await run_in_threadpool(dumps, _whole(found))
        return _summary(found), as_file(f"draftscope-{found.name}.json.gz", data)

    def export_comparison(comparison: str) -> str:
        """
        Return a stored comparison as one HTML file that shows it without a network.

        Args:
            comparison: Name of the comparison, as compare returned it, or a recorded one's key.
        """
        found = _find(studio, comparison)
        page = comparison_html(_whole(found), found.origin)
        return as_file(f"draftscope-{found.name}.html", page.encode())

    named(
        compare,
        _order_fields(),
        [gr.JSON(label="summary"), gr.File(label="comparison file")],
    )
    named(export_comparison, [gr.Textbox(label="comparison")], [gr.File(label="page")])


def _order_fields() -> Sequence[Component]:
    strings = cast("dict[str, str]", {"type": "array", "items": {"type": "string"}})
    either = {"anyOf": [{"type": "string"}, {"type": "object"}]}
    methods = cast("dict[str, str]", {"type": "array", "items": either})
    return [
        gr.Textbox(label="prompt"),
        Api(["speculative_sampling", "prompt_lookup"], methods, label="methods"),
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


def _blocks(methods: object) -> object:
    """Return the methods of an order; a key alone stands for its method with its own settings."""
    if not isinstance(methods, list):
        return methods or []
    return [
        {"method": each} if isinstance(each, str) else each
        for each in cast("list[object]", methods)
    ]


def _order(data: Mapping[str, object], studio: Studio) -> ComparisonOrder:
    """Return the checked order. A page shows one method's refusal beside the others; a call is
    refused as a whole.
    """
    order = read_comparison(data, studio.limits)
    for wish in order.wishes:
        if wish.refusal is not None:
            raise wish.refusal
    refused = [_refused_draft(wish.order) for wish in order.wishes if wish.order is not None]
    if refused[0] is not None and all(refused):
        raise refused[0]
    return order


def _refused_draft(order: Order) -> OrderError | None:
    try:
        check_draft(order)
    except OrderError as error:
        return error
    return None


def _find(studio: Studio, name: str) -> Compared:
    try:
        return studio.find_comparison(name)
    except KeyError as error:
        raise gr.Error(str(error.args[0]), print_exception=False) from None


def _whole(found: Compared) -> Comparison:
    """Return what a file holds; refuse where only plain decoding wrote something."""
    comparison = found.file()
    if (sentence := refusal(comparison.runs)) is not None:
        raise gr.Error(sentence, print_exception=False)
    return comparison


def _summary(found: Compared) -> dict[str, object]:
    plain_trace = found.entries[0].trace
    return {
        "comparison": found.name,
        "finding": plain(finding(found.entries)),
        "methods": [_told(entry, plain_trace) for entry in found.entries],
    }


def _told(entry: Entry, exact: Trace | None) -> dict[str, object]:
    """Return one method's numbers, or what went wrong."""
    about: dict[str, object] = {"method": entry.key, "status": entry.status, "words": entry.words}
    if entry.trace is None or exact is None:
        return about
    numbers = msgspec.to_builtins(compared(entry.key, entry.trace, exact))
    return {**about, **{name: numbers[name] for name in _SHOWN}}
