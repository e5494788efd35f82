"""Runs orders: waits for its turn, loads the models, decodes, and yields a message for each step.

Computing happens on one thread of its own, so that the server answers meanwhile and the models
always see the same thread. A run that is cancelled keeps its steps and can go on. What a message
looks like is its teller's business.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import importlib.util
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from app.engines import Engines
from app.limits import Limits
from app.line import Line, LineFullError
from app.messages import Message, Phase, Teller
from app.orders import ModelsOrder, Order, OrderError
from app.session import Shelf, Stored
from core.models.errors import ModelError
from core.trace import Trace

_LOOK = 0.1  # seconds between two looks at a line or at a download
_BATCH, _LONGEST = 0.08, 1.0  # seconds of decoding per message, at least and at most

Decode = Callable[[Order], Iterator[Trace]]
Result = TypeVar("Result")
Told = TypeVar("Told", covariant=True)
Work = TypeVar("Work", bound=Callable[..., object])


class Tells(Protocol[Told]):
    """Makes messages of what happens to whoever stands in line."""

    def words(self, phase: Phase, words: str) -> Told: ...

    def loading(self, done: int, total: int, words: str) -> Told: ...

    def error(self, field: str, words: str) -> Told: ...


class RunCancelledError(Exception):
    """The person does not want it any more."""


class Runner:
    """One server's runs."""

    def __init__(self, engines: Engines, shelf: Shelf, limits: Limits) -> None:
        self._engines = engines
        self._shelf = shelf
        self._line = Line(limits.runs_at_once, limits.runs_waiting)
        self._worker = ThreadPoolExecutor(
            max_workers=limits.runs_at_once, thread_name_prefix="models"
        )
        self.decode: Decode = on_gpu(decoder(engines, limits))

    async def run(self, user: str, order: Order) -> AsyncIterator[Message]:
        """Yield the messages of a new run; the last says how it ended. Its trace stays stored."""
        stored = self._shelf.add(user, "Your run")
        teller = Teller(
            stored.name, stored.origin, time.perf_counter, order.sampling.max_new_tokens
        )
        async for message in self.in_turn(stored, teller, self._begun(stored, order, teller)):
            yield message

    async def resume(self, name: str) -> AsyncIterator[Message]:
        """Yield the messages of a cancelled run that goes on, from its first round."""
        stored = self._shelf.get(name)
        if stored is None or stored.steps is None or stored.trace is None or stored.running:
            yield Teller(name, "", time.perf_counter, 0).error(
                "run", "This run cannot go on: start it again."
            )
            return
        stored.cancelled.clear()
        goal = stored.trace.sampling.max_new_tokens
        teller = Teller(name, stored.origin, time.perf_counter, goal)
        async for message in self.in_turn(stored, teller, self._decoded(stored, teller)):
            yield message

    async def ask(
        self, models: ModelsOrder | None, work: Callable[[], None]
    ) -> AsyncGenerator[Message, None]:
        """Do `work` on the thread of the models, in its turn among the runs, after loading `models`
        (None: it needs none). Yields what to say meanwhile; an error is the last message.

        A reader who leaves gives the place up; work that has begun goes on to its end.
        """
        question = Stored(secrets.token_urlsafe(9), "", "")  # a ticket, never on the shelf
        teller = Teller(question.name, "", time.perf_counter, 0)
        asked = self._asked(question, models, work, teller)
        try:
            async with aclosing(self.in_turn(question, teller, asked)) as messages:
                async for message in messages:
                    yield message
        finally:
            question.cancelled.set()

    async def _asked(
        self,
        question: Stored,
        models: ModelsOrder | None,
        work: Callable[[], None],
        teller: Teller,
    ) -> AsyncIterator[Message]:
        if models is not None:
            async for message in self.loaded(question, models, teller):
                yield message
        yield teller.words("decoding", "")
        await self.on_worker(work)

    def cancel(self, name: str) -> None:
        """Stop a run after the round at work; unknown names are none's business."""
        stored = self._shelf.get(name)
        if stored is not None:
            stored.cancelled.set()

    async def in_turn(
        self, stored: Stored, teller: Tells[Result], work: AsyncIterator[Result]
    ) -> AsyncGenerator[Result, None]:
        """Stand in line around `work`, and turn what goes wrong into a last message."""
        stored.running = True
        try:
            self._line.join(stored.name)
            yield teller.words("waiting", "")  # the browser learns the run's name, and can cancel
            async for message in self._waited(stored, teller):
                yield message
            async for message in work:
                yield message
        except RunCancelledError:
            yield teller.words("cancelled", "Cancelled before the first round.")
        except LineFullError as error:
            yield teller.error("run", str(error))
        except Exception as error:
            yield teller.error(*refusal(error))
            if not is_expected(error):  # a mistake of ours: told, since the page must not wait
                raise
        finally:
            stored.running = False
            self._line.leave(stored.name)
            self._shelf.tidy()

    async def _waited(self, stored: Stored, teller: Tells[Result]) -> AsyncIterator[Result]:
        told = 0
        while (ahead := self._line.ahead(stored.name)) > 0:
            if stored.cancelled.is_set():
                raise RunCancelledError
            if ahead != told:
                told = ahead
                before = "One run is" if ahead == 1 else f"{ahead} runs are"
                yield teller.words("waiting", f"{before} before yours.")
            await asyncio.sleep(_LOOK)

    async def _begun(self, stored: Stored, order: Order, teller: Teller) -> AsyncIterator[Message]:
        async for message in self.loaded(stored, order.models, teller):
            yield message
        stored.steps = self.decode(order)
        async for message in self._decoded(stored, teller):
            yield message

    async def loaded(
        self, stored: Stored, models: ModelsOrder, teller: Tells[Result]
    ) -> AsyncIterator[Result]:
        """Load the models on the worker unless they are here; tell how far it is."""
        if self._engines.has(models):
            return
        news: list[tuple[int, int, str]] = [(0, 0, "Loading the model")]

        def progress(done: int, total: int, words: str) -> None:
            if stored.cancelled.is_set():
                raise RunCancelledError
            news[:] = [(done, total, words)]

        task = self.on_worker(lambda: self._engines.engine(models, progress))
        task.add_done_callback(_heard)  # whoever asked may have left
        told: tuple[int, int, str] | None = None
        while not task.done():
            if news[0] != told:
                told = news[0]
                yield teller.loading(*told)
            await asyncio.wait({task}, timeout=_LOOK)
        task.result()

    async def _decoded(self, stored: Stored, teller: Teller) -> AsyncIterator[Message]:
        async for message in self.pulled(stored, teller.rounds):
            yield message
        yield self._ended(stored, teller)

    async def pulled(
        self, stored: Stored, tell: Callable[[Trace], Result]
    ) -> AsyncIterator[Result]:
        """Pull a run's steps on the worker and yield what `tell` makes of each, on the worker too;
        a cancelled run keeps the rest.
        """
        steps = stored.steps
        assert steps is not None

        def pull() -> tuple[Trace, Result] | None:
            trace = next(steps, None)
            return None if trace is None else (trace, tell(trace))

        while not stored.cancelled.is_set():
            pulled = await self.on_worker(pull)
            if pulled is None:
                break
            stored.trace = pulled[0]
            yield pulled[1]

    def _ended(self, stored: Stored, teller: Teller) -> Message:
        trace = stored.trace
        if trace is None:
            raise RunCancelledError
        if stored.cancelled.is_set() and trace.finish_reason == "cancelled":
            return teller.end(trace, "cancelled", resumable=stored.steps is not None)
        stored.steps = None
        return teller.end(trace, "error" if trace.finish_reason == "error" else "done")

    def on_worker(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        """Do `work` on the thread of the models."""
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._worker, lambda: context.run(work))


def decoder(
    engines: Engines, limits: Limits, clock: Callable[[], float] = time.perf_counter
) -> Decode:
    """Return what decodes an order: it yields the trace so far, as often as a reader can follow."""

    def decode(order: Order) -> Iterator[Trace]:
        from core.registry import get  # late: it brings torch
        from core.run import Request, Run

        sampling = order.sampling
        request = Request(
            prompt=order.prompt,
            method=get(order.method),
            config=order.config,
            chat=order.chat,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            max_new_tokens=sampling.max_new_tokens,
            stop=sampling.stop,
        )
        engine = engines.engine(order.models, lambda done, total, words: None)
        run = Run(request, engine, clock, datetime.now(UTC).isoformat(timespec="seconds"))
        if len(run.prompt_ids) > limits.prompt_tokens:
            raise OrderError(
                "prompt",
                f"The prompt has {len(run.prompt_ids):,} tokens; "
                f"{limits.prompt_tokens:,} are allowed.",
            )
        pause, last = _BATCH, clock()
        try:
            for _ in run:
                if run.finished is None and clock() - last >= pause:
                    told = clock()
                    yield run.trace()
                    last = clock()
                    pause = min(
                        max(_BATCH, last - told), _LONGEST
                    )  # a slow reader gets fewer, larger steps
        except (ValueError, RuntimeError, MemoryError) as error:
            yield run.trace("error", sentence(error))
            return
        yield run.trace()

    return decode


def _heard(task: asyncio.Future[Result]) -> None:
    """Take note of how a task ended, so that nobody is told that its error was never read."""
    if not task.cancelled():
        task.exception()


def on_gpu(work: Work) -> Work:
    """Borrow a GPU for each call where the host lends them: where the package `spaces` is."""
    if importlib.util.find_spec("spaces") is None:
        return work
    return importlib.import_module("spaces").GPU(work)


def refusal(error: Exception) -> tuple[str, str]:
    """Return the field that an error speaks of, and what it says, in one sentence."""
    if isinstance(error, OrderError):
        return error.field, str(error)
    if isinstance(error, ModelError):
        return "target", str(error)
    words = sentence(error)
    return "run", words if is_expected(error) else f"The run failed: {words}"


def is_expected(error: Exception) -> bool:
    """Tell whether an error is one that settings, models or memory bring about."""
    return isinstance(error, (ValueError, RuntimeError, MemoryError, ModelError))


def sentence(error: Exception) -> str:
    """Return the first line of what went wrong, as a sentence."""
    words = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
    return words if words.endswith((".", "!", "?")) else f"{words}."
