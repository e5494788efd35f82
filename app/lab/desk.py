"""Answers the Lab's questions: from memory where it can, else in line with the runs, loading the
models only where the question says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Literal, NotRequired, TypedDict

from app.engines import Engines
from app.lab.memory import Memory
from app.lab.orders import LabOrder, models_for
from app.lab.tools import TOOLS, Tool
from app.limits import Limits
from app.messages import Message
from app.orders import ModelsOrder
from app.running import on_gpu
from app.studio import Found, Studio
from core.trace import Trace

KEPT = 32  # answers of the models; the laws of one node are about half a megabyte
_TOLD = 128  # answers to the page


class Answer(TypedDict):
    """One line for the browser. `unloaded`: the models are not here, and were not to be loaded."""

    phase: Literal["unloaded", "waiting", "loading", "decoding", "done", "cancelled", "error"]
    words: str
    done: NotRequired[int]  # bytes, while loading
    total: NotRequired[int]
    answer: NotRequired[Mapping[str, object]]


class Desk:
    """One server's Lab."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._ask = on_gpu(_asker(studio.engines))
        self._known = Memory[object](KEPT)
        self._told = Memory[Mapping[str, object]](_TOLD)

    async def answer(
        self, tool: Tool, found: Found, order: LabOrder, given: ModelsOrder
    ) -> AsyncIterator[Answer]:
        """Yield what to say until the answer is there; it is the last, or an error is."""
        question = (tool.name, order.model_copy(update={"load": False}))
        if (told := self._told.get(question)) is not None:
            yield {"phase": "done", "words": "", "answer": told}
            return
        if (sentence := too_long(found.trace, order, self._studio.limits)) is not None:
            yield {"phase": "error", "words": sentence}
            return
        models, is_known = self._models(found.trace, given), self._is_known(tool, order)
        if not (is_known or order.load or self._studio.engines.has(models)):
            yield {"phase": "unloaded", "words": _loads(found.trace)}
            return

        def work() -> None:
            known = self._known.get(tool.key(order))
            if known is None:
                known = self._ask(tool.name, models, found.trace, order)
                self._known.keep(tool.key(order), known)
            self._told.keep(question, tool.tell(known, found, order))

        async for message in self._studio.runner.ask(None if is_known else models, work):
            yield _line(message)
        if (told := self._told.get(question)) is not None:
            yield {"phase": "done", "words": "", "answer": told}

    def _models(self, trace: Trace, given: ModelsOrder) -> ModelsOrder:
        """Return what to load: of the sets that serve, one that is loaded, else the smallest."""
        *larger, smallest = models_for(trace, given)
        return next((m for m in larger if self._studio.engines.has(m)), smallest)

    def _is_known(self, tool: Tool, order: LabOrder) -> bool:
        return self._known.get(tool.key(order)) is not None


def _line(message: Message) -> Answer:
    line: Answer = {"phase": message["phase"], "words": message["words"]}
    if "total" in message:
        line["done"], line["total"] = message.get("done", 0), message["total"]
    return line


def too_long(trace: Trace, order: LabOrder, limits: Limits) -> str | None:
    """Return one sentence where the text is longer than a run here could make it."""
    most = limits.prompt_tokens + limits.new_tokens + limits.nodes
    nodes = max(
        (len(r.nodes.token) for r in trace.rounds[order.round : order.round + 1]), default=0
    )
    length = len(trace.prompt.token_ids) + trace.totals.emitted + nodes
    if length <= most:
        return None
    return f"The text has {length:,} tokens with its draft; the Lab reads up to {most:,} here."


def _asker(engines: Engines) -> Callable[[str, ModelsOrder, Trace, LabOrder], object]:
    """Return what asks the models for a tool; its arguments can go to another process."""

    def ask(name: str, models: ModelsOrder, trace: Trace, order: LabOrder) -> object:
        tool = next(tool for tool in TOOLS if tool.name == name)
        engine = engines.engine(models, lambda done, total, words: None)
        return tool.ask(engine, trace, order)

    return ask


def _loads(trace: Trace) -> str:
    """Say what would be loaded."""
    cards = [trace.models.target, *([trace.models.draft] if trace.models.draft else [])]
    named = " and ".join(f"{c.id}, {c.parameters / 1e6:,.0f} million parameters" for c in cards)
    return f"This loads the model first: {named}."
