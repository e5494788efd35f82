"""Runs comparisons: one place in the line for all methods, plain decoding first, then one by one.

Each method is a stored run of its own, with the same prompt and seed. What goes wrong with one is
said in its column, and the others go on; a cancel keeps what is done.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from app.compare_messages import Clock, CompareMessage, CompareTeller
from app.compare_orders import ComparisonOrder, Wish
from app.comparisons import StoredComparison, put, put_run
from app.orders import ModelsOrder, Order
from app.running import RunCancelledError, Runner, is_expected, refusal
from app.session import Shelf
from core.trace import Trace
from viz.compare.entry import Entry
from viz.compare.export import entry_of

_WARM = 4  # tokens that a method decodes before its time counts: the first passes are slow
_LOG = logging.getLogger(__name__)


class Comparing:
    """One server's comparisons."""

    def __init__(self, runner: Runner, shelf: Shelf, clock: Clock = time.perf_counter) -> None:
        self._runner = runner
        self._shelf = shelf
        self._clock = clock
        self._warm: set[tuple[ModelsOrder, str]] = set()  # methods whose first passes are over

    async def run(self, user: str, order: ComparisonOrder) -> AsyncGenerator[CompareMessage, None]:
        """Yield the messages of a new comparison; the last says how it ended."""
        orders, entries = _columns(order)
        made = put(self._shelf, user, "Your run", "", entries)
        teller = CompareTeller(made, order.reference.sampling.max_new_tokens, self._clock)
        work = self._decoded(made, orders, teller)
        try:
            async with aclosing(self._runner.in_turn(made, teller, work)) as messages:
                async for message in messages:
                    yield message
        finally:  # whoever left does not wait for the rest
            _give_up(made)

    async def _decoded(
        self, made: StoredComparison, orders: Sequence[Order | None], teller: CompareTeller
    ) -> AsyncIterator[CompareMessage]:
        reference = orders[0]
        assert reference is not None
        async for message in self._runner.loaded(made, reference.models, teller):
            self._warm.clear()  # others may have had to go
            yield message
        for place, order in enumerate(orders):
            if made.cancelled.is_set():
                break
            if order is not None:
                async for message in self._method(made, place, order, teller):
                    yield message
        if all(run.trace is None for run in made.runs.values()):
            raise RunCancelledError
        is_cut = made.cancelled.is_set() and _give_up(made)
        await self._drawn(made)
        yield teller.words("cancelled", _kept(made)) if is_cut else teller.words("done", "")

    def _warmed(self, order: Order) -> None:
        """Decode a little, once per method and models."""
        known = (order.models, order.method)
        if known in self._warm:
            return
        few = min(_WARM, order.sampling.max_new_tokens)
        sampling = order.sampling.model_copy(update={"max_new_tokens": few})
        for _ in self._runner.decode(replace(order, sampling=sampling)):
            pass
        self._warm.add(known)

    async def _method(
        self, made: StoredComparison, place: int, order: Order, teller: CompareTeller
    ) -> AsyncIterator[CompareMessage]:
        run = put_run(self._shelf, made, place)
        made.entries[place] = replace(made.entries[place], status="running")
        teller.begin()
        yield teller.method(place)
        try:
            await self._runner.on_worker(lambda: self._warmed(order))
            run.steps = self._runner.decode(order)
            async for words, tokens in self._runner.pulled(run, teller.step):
                yield teller.method(place, words, tokens)
        except Exception as error:
            if place == 0 and run.trace is None:
                raise  # nothing can be compared
            if not is_expected(error):
                _LOG.exception("A method of a comparison failed")
            _, words = refusal(error)
            made.entries[place] = replace(made.entries[place], status="error", words=words)
        else:
            made.entries[place] = _ended(made.entries[place], run.trace)
        finally:
            run.steps = None
        teller.end()
        await self._drawn(made)
        yield teller.method(place)

    async def _drawn(self, made: StoredComparison) -> None:
        """Work out what the page shows between two methods, on their thread: beside a method it
        would take its time.
        """
        made.changed()
        await self._runner.on_worker(made.packed)


def _columns(order: ComparisonOrder) -> tuple[list[Order | None], list[Entry]]:
    """Return the orders, plain decoding's first, and their entries."""
    first = Wish(-1, order.reference.method, order.reference)
    wishes = [first, *order.wishes]
    return [wish.order for wish in wishes], [_entry(wish) for wish in wishes]


def _entry(wish: Wish) -> Entry:
    from core.registry import methods  # late: it brings torch

    method = methods().get(wish.key)
    name = method.name if method else wish.key
    lossless = method is None or method.lossless
    if wish.refusal is None:
        return Entry(wish.key, name, lossless, "waiting")
    return Entry(wish.key, name, lossless, "error", words=str(wish.refusal))


def _ended(entry: Entry, trace: Trace | None) -> Entry:
    """Return the entry of a run as it ended; the trace itself stays on the shelf."""
    if trace is None:
        return replace(entry, status="cancelled", words="Not run.")
    return replace(entry_of(trace), trace=None)


def _give_up(made: StoredComparison) -> bool:
    """Say of all that wait that they are not run; return whether anything was cut short."""
    for place, entry in enumerate(made.entries):
        if entry.status in ("waiting", "running"):
            run = made.runs.get(place)
            made.entries[place] = _ended(entry, run.trace if run else None)
            made.changed()
    return any(entry.status == "cancelled" for entry in made.entries)


def _kept(made: StoredComparison) -> str:
    """Say what a cancel left."""
    done = sum(entry.status == "done" for entry in made.entries)
    return f"Cancelled: {done} of {len(made.entries)} methods are done, the rest is cut short."
