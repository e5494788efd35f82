"""Runs on a toy: the stream adds up to the trace, cancel and resume lose nothing, no mixing."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import AsyncIterator, Iterator

import pytest

from app.limits import Limits
from app.messages import Message
from app.orders import ModelsOrder, Order, SamplingOrder
from app.running import Runner, on_gpu
from app.session import Shelf
from core.models.errors import ModelError
from core.trace import Trace, token_ids
from core.trace_io import dumps, loads
from tests.app.toys import ToyEngines
from viz.overview import overview
from viz.round import round_view

LIMITS = Limits()


def order(prompt: str = "Why is the sky blue?", tokens: int = 24, seed: int = 1) -> Order:
    sampling = SamplingOrder(temperature=0.8, seed=seed, max_new_tokens=tokens)
    return Order(prompt, "rsd", {"drafter": "model", "tree": [2, 2]}, sampling=sampling)


class Shop:
    """A runner with its shelf."""

    def __init__(self, engines: ToyEngines | None = None, limits: Limits = LIMITS) -> None:
        self.shelf = Shelf(limits)
        self.engines = engines or ToyEngines()
        self.runner = Runner(self.engines, self.shelf, limits)

    def trace(self, name: str) -> Trace:
        stored = self.shelf.get(name)
        assert stored is not None
        assert stored.trace is not None
        return stored.trace


async def collected(messages: AsyncIterator[Message]) -> list[Message]:
    return [message async for message in messages]


def rebuilt(messages: list[Message]) -> tuple[dict[str, object], list[int]]:
    """Return the overview and the round indices that a browser ends up with."""
    whole: dict[str, object] = {"strip": [], "scrub": []}
    indices: list[int] = []
    for message in messages:
        growth = message.get("growth")
        if growth is None:
            continue
        strip, scrub = whole["strip"], whole["scrub"]
        assert isinstance(strip, list)
        assert isinstance(scrub, list)
        whole |= growth["changed"]
        whole["strip"] = strip[: growth["at"]] + growth["strip"]
        whole["scrub"] = scrub[: growth["at"]] + growth["scrub"]
        indices += [view["index"] for view in message.get("rounds", [])]
    return whole, indices


def test_what_is_streamed_adds_up_to_the_trace_without_a_round_lost_or_doubled() -> None:
    shop = Shop(ToyEngines(step_seconds=0.004))
    messages = asyncio.run(collected(shop.runner.run("anna", order(tokens=60))))
    name = messages[-1]["run"]
    trace = shop.trace(name)
    whole, indices = rebuilt(messages)
    assert len([m for m in messages if m["phase"] == "decoding"]) > 3
    assert [message["number"] for message in messages] == list(range(len(messages)))
    assert indices == list(range(len(trace.rounds)))
    assert whole == {**overview(trace, "Your run"), "id": name, "finished": True}
    assert messages[-1]["phase"] == "done"


def test_only_increments_are_sent() -> None:
    shop = Shop(ToyEngines(step_seconds=0.004))
    messages = asyncio.run(collected(shop.runner.run("anna", order(tokens=60))))
    sent = sum(len(m["growth"]["strip"]) for m in messages if "growth" in m)
    rounds = len(shop.trace(messages[-1]["run"]).rounds)
    assert sent <= rounds + len(messages)  # a character may run on into the next message


def test_streamed_rounds_are_those_of_the_finished_trace() -> None:
    shop = Shop(ToyEngines(step_seconds=0.004))
    messages = asyncio.run(collected(shop.runner.run("anna", order(tokens=40))))
    trace = shop.trace(messages[-1]["run"])
    for message in messages:
        for view in message.get("rounds", []):
            assert view == round_view(trace, view["index"])


def test_a_cancelled_run_keeps_its_rounds_and_goes_on_as_if_nothing_had_been() -> None:
    async def work(shop: Shop) -> tuple[list[Message], list[Message]]:
        first: list[Message] = []
        async for message in shop.runner.run("anna", order(tokens=60)):
            first.append(message)
            if len([m for m in first if m["phase"] == "decoding"]) == 2:
                shop.runner.cancel(message["run"])
        return first, await collected(shop.runner.resume(first[0]["run"]))

    shop, straight = Shop(ToyEngines(step_seconds=0.004)), Shop()
    first, second = asyncio.run(work(shop))
    assert first[-1]["phase"] == "cancelled"
    assert first[-1].get("resumable") is True
    assert first[-1]["words"].startswith("Cancelled in round ")
    kept = rebuilt(first)[1]
    whole, indices = rebuilt(second)
    assert 0 < len(kept) < len(indices)
    assert indices == list(range(len(indices)))
    assert second[-1]["phase"] == "done"
    name = asyncio.run(collected(straight.runner.run("x", order(tokens=60))))[-1]["run"]
    resumed = shop.trace(first[0]["run"])
    assert token_ids(resumed) == token_ids(straight.trace(name))
    assert whole["finished"] is True
    loads(dumps(resumed))


def test_cancel_comes_through_between_two_rounds() -> None:
    async def work(shop: Shop) -> list[Message]:
        seen: list[Message] = []
        async for message in shop.runner.run("anna", order(tokens=2000)):
            seen.append(message)
            if message["phase"] == "decoding":
                shop.runner.cancel(message["run"])
        return seen

    messages = asyncio.run(work(Shop(ToyEngines(step_seconds=0.002))))
    assert [m["phase"] for m in messages if m["phase"] == "decoding"] == ["decoding"]
    assert messages[-1]["phase"] == "cancelled"


def test_loading_tells_how_far_it_is_and_can_be_cancelled() -> None:
    async def work(shop: Shop) -> list[Message]:
        seen: list[Message] = []
        async for message in shop.runner.run("anna", order()):
            seen.append(message)
            if len([m for m in seen if m.get("done", 0)]) == 2:
                shop.runner.cancel(message["run"])
        return seen

    shop = Shop(ToyEngines(load_seconds=1.5))
    messages = asyncio.run(work(shop))
    done = [m["done"] for m in messages if "done" in m]
    assert done == sorted(done)
    assert messages[-1]["phase"] == "cancelled"
    assert messages[-1].get("resumable", False) is False
    assert shop.engines.loads == 0
    assert len(shop.shelf) == 0


@pytest.mark.parametrize(
    ("error", "field", "words"),
    [
        (ModelError("There is no such model."), "target", "There is no such model."),
        (ValueError("the vocabularies differ"), "run", "the vocabularies differ."),
        (RuntimeError("out of memory\nlong trace"), "run", "out of memory."),
    ],
)
def test_what_goes_wrong_is_one_sentence(error: Exception, field: str, words: str) -> None:
    shop = Shop(ToyEngines(error=error))
    last = asyncio.run(collected(shop.runner.run("anna", order())))[-1]
    assert (last["phase"], last.get("field"), last["words"]) == ("error", field, words)
    assert len(shop.shelf) == 0


def test_a_prompt_of_too_many_tokens_is_refused_at_the_prompt() -> None:
    shop = Shop(limits=Limits(prompt_tokens=5))
    last = asyncio.run(collected(shop.runner.run("anna", order("123456"))))[-1]
    assert (last["phase"], last.get("field")) == ("error", "prompt")
    assert "7 tokens; 5 are allowed" in last["words"]


def test_an_unknown_run_cannot_go_on() -> None:
    (message,) = asyncio.run(collected(Shop().runner.resume("r123")))
    assert message["phase"] == "error"


def test_twenty_users_at_once_get_their_own_texts_and_see_their_place() -> None:
    async def work(shop: Shop) -> list[list[Message]]:
        runs = [
            collected(shop.runner.run(f"user {i}", order(f"Prompt {i}", 12, seed=i)))
            for i in range(20)
        ]
        return await asyncio.gather(*runs)

    shop = Shop(ToyEngines(step_seconds=0.001))
    streams = asyncio.run(work(shop))
    places = [m["words"] for stream in streams for m in stream if m["phase"] == "waiting"]
    assert "One run is before yours." in places
    assert "5 runs are before yours." in places
    for i, stream in enumerate(streams):
        alone = Shop()
        name = asyncio.run(collected(alone.runner.run("x", order(f"Prompt {i}", 12, seed=i))))[-1][
            "run"
        ]
        mine = shop.trace(stream[-1]["run"])
        assert mine.prompt.text == f"Prompt {i}"
        assert token_ids(mine) == token_ids(alone.trace(name))
        assert {message["run"] for message in stream} == {stream[0]["run"]}


def test_a_full_line_is_told_in_a_sentence() -> None:
    async def work(shop: Shop) -> list[list[Message]]:
        return await asyncio.gather(
            *(collected(shop.runner.run("anna", order())) for _ in range(4))
        )

    streams = asyncio.run(work(Shop(ToyEngines(step_seconds=0.005), Limits(runs_waiting=1))))
    last = [stream[-1] for stream in streams]
    assert sorted(message["phase"] for message in last) == ["done", "done", "error", "error"]
    assert "in line" in next(m["words"] for m in last if m["phase"] == "error")


def test_a_stream_that_nobody_reads_any_more_frees_the_line() -> None:
    async def work(shop: Shop) -> list[Message]:
        left = shop.runner.run("anna", order(tokens=2000))
        async for message in left:
            if message["phase"] == "decoding":
                break
        await left.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        return await collected(shop.runner.run("bert", order(tokens=4)))

    assert asyncio.run(work(Shop(ToyEngines(step_seconds=0.002))))[-1]["phase"] == "done"


def test_a_gpu_is_borrowed_where_one_is_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    borrowed: list[str] = []

    def gpu(function):
        def wrapped(wanted: Order) -> Iterator[Trace]:
            borrowed.append(wanted.method)
            yield from function(wanted)

        return wrapped

    spaces = types.ModuleType("spaces")
    spaces.GPU = gpu  # pyright: ignore[reportAttributeAccessIssue]
    spaces.__spec__ = types.SimpleNamespace()  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    shop = Shop()
    assert asyncio.run(collected(shop.runner.run("anna", order())))[-1]["phase"] == "done"
    assert borrowed == ["rsd"]


def test_without_spaces_nothing_is_wrapped() -> None:
    def decode(wanted: Order) -> Iterator[Trace]:
        yield from ()

    assert on_gpu(decode) is decode


def test_the_models_of_an_order_are_those_asked_for() -> None:
    asked: list[ModelsOrder] = []

    class Asked(ToyEngines):
        def has(self, wanted: ModelsOrder) -> bool:
            asked.append(wanted)
            return super().has(wanted)

    models = ModelsOrder(target="./mine", dtype="float32")
    wanted = Order("x", "plain", {}, models=models)
    asyncio.run(collected(Shop(Asked()).runner.run("anna", wanted)))
    assert asked == [models]
