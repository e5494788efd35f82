"""Comparisons on a toy: plain decoding first, one place in line, columns that fail alone."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import json
from collections.abc import AsyncIterator, Iterator, Mapping

import pytest
from msgspec.structs import replace

from app.compare_messages import CompareMessage
from app.compare_orders import read_comparison
from app.comparing import Comparing
from app.comparisons import StoredComparison
from app.engines import Progress as Tell
from app.limits import Limits, limits_of
from app.orders import ModelsOrder, Order, OrderError, SamplingOrder
from app.running import Runner
from app.session import Shelf, numbers
from core.compare.verdict import verdict
from core.heads.base import no_heads
from core.run import Engine
from core.trace import Trace, token_ids
from tests import sample_traces
from tests.app.toys import ToyEngines

LIMITS = Limits()
TREE: Mapping[str, object] = {"drafter": "model", "tree": [2, 2]}
CHAIN: Mapping[str, object] = {"drafter": "model"}
BOTH: tuple[Mapping[str, object], ...] = (
    {"method": "rsd", "config": TREE},
    {"method": "speculative_sampling", "config": CHAIN},
)


def asked(
    *methods: Mapping[str, object], tokens: int = 16, temperature: float = 0.0
) -> dict[str, object]:
    """Return an order as the page sends it."""
    sampling = {"temperature": temperature, "seed": 1, "max_new_tokens": tokens}
    return {"prompt": "Why?", "methods": list(methods or BOTH), "sampling": sampling}


class Shop:
    """Comparisons with their runner and shelf."""

    def __init__(self, engines: ToyEngines | None = None, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.engines = engines or ToyEngines()
        self.shelf = Shelf(limits)
        self.runner = Runner(self.engines, self.shelf, limits)
        self.comparing = Comparing(self.runner, self.shelf)

    def messages(self, order: Mapping[str, object]) -> AsyncIterator[CompareMessage]:
        return self.comparing.run("anna", read_comparison(order, self.limits))

    def run(self, order: Mapping[str, object]) -> list[CompareMessage]:
        return asyncio.run(collected(self.messages(order)))

    def stored(self, message: CompareMessage) -> StoredComparison:
        found = self.shelf.get(message["comparison"])
        assert isinstance(found, StoredComparison)
        return found

    def traces(self, message: CompareMessage) -> list[Trace | None]:
        return [entry.trace for entry in self.stored(message).compared().entries]


async def collected(messages: AsyncIterator[CompareMessage]) -> list[CompareMessage]:
    return [message async for message in messages]


def statuses(message: CompareMessage) -> list[str]:
    return [one["status"] for one in message["methods"]]


def present(traces: list[Trace | None]) -> list[Trace]:
    assert all(trace is not None for trace in traces)
    return [trace for trace in traces if trace is not None]


# -- orders --


def test_plain_decoding_is_there_once_and_first() -> None:
    order = read_comparison(asked(BOTH[0], {"method": "plain", "config": {}}, BOTH[1]), LIMITS)
    assert order.reference.method == "plain"
    assert [(wish.place, wish.key) for wish in order.wishes] == [
        (0, "rsd"),
        (2, "speculative_sampling"),
    ]


def test_all_methods_share_prompt_seed_and_models() -> None:
    order = read_comparison(asked(temperature=0.7), LIMITS)
    orders = [order.reference, *(wish.order for wish in order.wishes)]
    kept = [each for each in orders if each is not None]
    assert len(kept) == 3
    assert len({(o.prompt, o.chat, o.sampling, o.models) for o in kept}) == 1


REFUSED = {
    "no list": ({"methods": "rsd"}, "methods", "no list"),
    "no block": ({"methods": ["rsd"]}, "methods", "no block"),
    "none": ({"methods": []}, "methods", "Choose a method"),
    "plain alone": ({"methods": [{"method": "plain"}]}, "methods", "Choose a method"),
    "too many": ({"methods": [BOTH[0]] * 4}, "methods", "There are 4 methods"),
    "no prompt": ({"prompt": " "}, "prompt", "empty"),
    "hot": ({"sampling": {"temperature": 3}}, "temperature", "0 to 2"),
    "too many tokens in all": (
        {"sampling": {"max_new_tokens": 40}},
        "max_new_tokens",
        "40 for each of 3 runs; 100 in all are allowed here: 33 each.",
    ),
    "nothing right": (
        {"methods": [{"method": "nope"}]},
        "methods.0.method",
        "There is no method 'nope'",
    ),
    "a part too many": (
        {"methods": [{"method": "rsd", "x": 1}]},
        "methods.0.method",
        "no part 'x'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_field_and_what_is_allowed(name: str) -> None:
    change, field, words = REFUSED[name]
    with pytest.raises(OrderError) as caught:
        read_comparison({**asked(), **change}, Limits(compared=3, compared_tokens=100))
    assert caught.value.field == field
    assert words in str(caught.value)


def test_settings_of_one_method_are_refused_alone() -> None:
    bad = {"method": "rsd", "config": {"tree": [0]}}
    order = read_comparison(asked(bad, BOTH[1]), LIMITS)
    first, second = order.wishes
    assert first.order is None
    assert first.refusal is not None
    assert first.refusal.field == "methods.0.config.tree"
    assert second.order is not None


def test_a_space_serves_strangers_less() -> None:
    home, space = limits_of({}), limits_of({"SPACE_ID": "a/b"})
    assert space.compared < home.compared
    assert space.compared_tokens < home.compared_tokens
    read_comparison(asked(*[BOTH[0]] * space.compared, tokens=64), space)


# -- running --


def test_a_comparison_runs_plain_decoding_first_and_every_method_with_the_same_seed() -> None:
    shop = Shop()
    messages = shop.run(asked(temperature=0.8))
    plain, tree, chain = present(shop.traces(messages[-1]))
    assert messages[-1]["phase"] == "done"
    assert statuses(messages[-1]) == ["done", "done", "done"]
    assert [trace.method for trace in (plain, tree, chain)] == [
        "plain",
        "rsd",
        "speculative_sampling",
    ]
    assert plain.sampling == tree.sampling == chain.sampling
    assert plain.prompt == tree.prompt == chain.prompt


def test_lossless_methods_write_the_text_of_plain_greedy_decoding() -> None:
    shop = Shop()
    plain, *others = present(shop.traces(shop.run(asked(tokens=24))[-1]))
    assert len(token_ids(plain)) == 24
    assert all(verdict(other, plain).is_identical for other in others)


def test_a_method_in_a_comparison_decodes_as_it_does_alone() -> None:
    shop, alone = Shop(), Shop()
    compared = present(shop.traces(shop.run(asked(temperature=0.8))[-1]))[1]
    sampling = SamplingOrder(temperature=0.8, seed=1, max_new_tokens=16)
    order = Order("Why?", "rsd", TREE, sampling=sampling)

    async def work() -> str:
        return [message async for message in alone.runner.run("x", order)][-1]["run"]

    stored = alone.shelf.get(asyncio.run(work()))
    assert stored is not None
    assert stored.trace is not None
    assert token_ids(compared) == token_ids(stored.trace)


def test_methods_arrive_one_by_one_and_each_is_told_as_it_goes() -> None:
    shop = Shop(ToyEngines(step_seconds=0.01))
    messages = shop.run(asked(tokens=24))
    assert [message["number"] for message in messages] == list(range(len(messages)))
    seen = [statuses(message) for message in messages]
    done = [[status == "done" for status in each] for each in seen]
    assert done == sorted(done)
    assert ["running", "waiting", "waiting"] in seen
    assert ["done", "running", "waiting"] in seen
    assert ["done", "done", "running"] in seen
    told = [m["methods"][0]["words"] for m in messages if statuses(m)[0] == "running"]
    assert any(words.startswith("Round ") and "of 24 tokens" in words for words in told)
    shares = [m["methods"][0]["share"] for m in messages]
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares)


def test_a_method_is_there_in_full_as_soon_as_it_is_done() -> None:
    async def work(shop: Shop) -> dict[int, list[str]]:
        seen: dict[int, list[str]] = {}
        async for message in shop.messages(asked()):
            whole = json.loads(gzip.decompress(shop.stored(message).packed()))
            seen.setdefault(message["revision"], [str(one["status"]) for one in whole["methods"]])
        return seen

    seen = asyncio.run(work(Shop()))
    assert seen[1] == ["done", "waiting", "waiting"]
    assert seen[2] == ["done", "done", "waiting"]
    assert seen[max(seen)] == ["done", "done", "done"]


def test_the_time_left_is_said_once_a_method_is_done_and_not_before() -> None:
    messages = Shop(ToyEngines(step_seconds=0.01)).run(asked(tokens=24))
    for message in messages:
        if message["phase"] == "decoding":
            is_known = statuses(message)[0] == "done"
            assert ("left" in message["words"]) is is_known


def test_time_left_counts_the_methods_that_wait() -> None:
    ticks = iter(range(10_000))
    shop = Shop()
    shop.comparing = Comparing(shop.runner, shop.shelf, lambda: float(next(ticks)))
    messages = shop.run(asked(BOTH[0], BOTH[0], BOTH[0], BOTH[0]))
    left = [int(m["words"].split("about ")[1].split()[0]) for m in messages if "left" in m["words"]]
    assert left[0] > left[-1]


def test_loading_is_told_before_anything_is_decoded() -> None:
    shop = Shop(ToyEngines(load_seconds=0.3))
    messages = shop.run(asked())
    phases = [message["phase"] for message in messages]
    assert phases.index("loading") < phases.index("decoding")
    assert "loading" not in phases[phases.index("decoding") :]
    assert shop.engines.loads == 1


def test_a_method_decodes_a_little_before_its_time_counts_once_per_models() -> None:
    shop = Shop()
    decode = shop.runner.decode
    asked_for: list[tuple[str, int]] = []

    def watched(order: Order) -> Iterator[Trace]:
        asked_for.append((order.method, order.sampling.max_new_tokens))
        yield from decode(order)

    shop.runner.decode = watched
    shop.run(asked(BOTH[0]))
    assert asked_for == [("plain", 4), ("plain", 16), ("rsd", 4), ("rsd", 16)]
    asked_for.clear()
    shop.run(asked(*BOTH))
    speculative = [("speculative_sampling", 4), ("speculative_sampling", 16)]
    assert asked_for == [("plain", 16), ("rsd", 16), *speculative]


# -- what goes wrong --


def test_refused_settings_are_said_in_their_column_and_the_others_go_on() -> None:
    bad = {"method": "rsd", "config": {"tree": [0]}}
    shop = Shop()
    last = shop.run(asked(bad, BOTH[1]))[-1]
    assert last["phase"] == "done"
    assert statuses(last) == ["done", "error", "done"]
    assert "each 1 to 16" in last["methods"][1]["words"]
    assert [trace is not None for trace in shop.traces(last)] == [True, False, True]


class Headless(ToyEngines):
    """Toy engines without any trained heads."""

    def engine(self, wanted: ModelsOrder, progress: Tell) -> Engine:
        return dataclasses.replace(super().engine(wanted, progress), heads=no_heads)


def test_missing_weights_are_said_in_their_column_and_the_others_go_on() -> None:
    last = Shop(Headless()).run(asked({"method": "medusa"}, BOTH[1]))[-1]
    assert statuses(last) == ["done", "error", "done"]
    words = last["methods"][1]["words"]
    assert words.endswith(".")
    assert "\n" not in words


class Failing(Shop):
    """A method that breaks after its first step, or before it."""

    def __init__(self, error: Exception, after: int) -> None:
        super().__init__()
        decode = self.runner.decode

        def broken(order: Order) -> Iterator[Trace]:
            for step, trace in enumerate(decode(order)):
                if order.method == "rsd" and step >= after:
                    raise error
                yield replace(trace, finish_reason="cancelled") if after else trace

        self.runner.decode = broken


@pytest.mark.parametrize("error", [ValueError("It broke"), KeyError("a mistake of ours")])
def test_an_exception_in_one_method_leaves_the_others(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    last = Failing(error, 0).run(asked())[-1]
    assert last["phase"] == "done"
    assert statuses(last) == ["done", "error", "done"]
    assert last["methods"][1]["words"].endswith(".")
    assert bool(caplog.records) is isinstance(error, KeyError)


def test_without_plain_decoding_nothing_is_compared() -> None:
    shop = Shop(limits=Limits(prompt_tokens=1))
    last = shop.run(asked())[-1]
    assert (last["phase"], last.get("field")) == ("error", "prompt")
    assert len(shop.shelf) == 0


def test_a_failed_load_is_one_sentence() -> None:
    last = Shop(ToyEngines(error=ValueError("the vocabularies differ"))).run(asked())[-1]
    assert (last["phase"], last["words"]) == ("error", "the vocabularies differ.")


# -- cancel --


def cancelled_when(
    shop: Shop, order: Mapping[str, object], when: list[str]
) -> list[CompareMessage]:
    """Return the messages of a comparison that is cancelled once the methods stand so."""

    async def work() -> list[CompareMessage]:
        seen: list[CompareMessage] = []
        async for message in shop.messages(order):
            seen.append(message)
            if statuses(message) == when and message["methods"][1]["share"] > 0:
                shop.runner.cancel(message["comparison"])
        return seen

    return asyncio.run(work())


def test_a_cancel_keeps_what_is_done_and_what_was_begun() -> None:
    shop = Shop(ToyEngines(step_seconds=0.01))
    last = cancelled_when(shop, asked(tokens=60), ["done", "running", "waiting"])[-1]
    assert last["phase"] == "cancelled"
    assert statuses(last) == ["done", "cancelled", "cancelled"]
    plain, tree, chain = shop.traces(last)
    assert plain is not None
    assert plain.finish_reason == "length"
    assert tree is not None
    assert 0 < tree.totals.emitted < 60
    assert chain is None
    assert last["methods"][2]["words"] == "Not run."


def test_a_cancel_while_loading_leaves_nothing() -> None:
    async def work(shop: Shop) -> list[CompareMessage]:
        seen: list[CompareMessage] = []
        async for message in shop.messages(asked()):
            seen.append(message)
            if message["phase"] == "loading":
                shop.runner.cancel(message["comparison"])
        return seen

    shop = Shop(ToyEngines(load_seconds=1.0))
    assert asyncio.run(work(shop))[-1]["phase"] == "cancelled"
    assert len(shop.shelf) == 0


def test_a_comparison_stands_in_line_once_and_others_wait_for_all_of_it() -> None:
    async def work(shop: Shop) -> tuple[list[CompareMessage], list[str]]:
        order = Order("Why?", "plain", {}, sampling=SamplingOrder(max_new_tokens=4))
        phases: list[str] = []

        async def other() -> None:
            await asyncio.sleep(0.05)
            async for message in shop.runner.run("bert", order):
                phases.append(message["words"])

        messages, _ = await asyncio.gather(collected(shop.messages(asked(tokens=40))), other())
        return messages, phases

    messages, words = asyncio.run(work(Shop(ToyEngines(step_seconds=0.01))))
    assert messages[-1]["phase"] == "done"
    assert "One run is before yours." in words
    assert not [word for word in words if word.startswith("2 runs")]


def test_whoever_leaves_gives_up_the_line_and_what_is_done_stays() -> None:
    async def work(shop: Shop) -> str:
        messages = shop.comparing.run("anna", read_comparison(asked(tokens=60), LIMITS))
        name = ""
        async for message in messages:
            name = message["comparison"]
            if statuses(message) == ["done", "running", "waiting"]:
                break
        await messages.aclose()
        order = Order("Why?", "plain", {}, sampling=SamplingOrder(max_new_tokens=2))
        last = [message async for message in shop.runner.run("bert", order)][-1]
        assert last["phase"] == "done"
        return name

    shop = Shop(ToyEngines(step_seconds=0.005))
    found = shop.shelf.get(asyncio.run(work(shop)))
    assert isinstance(found, StoredComparison)
    assert [entry.status for entry in found.entries] == ["done", "cancelled", "cancelled"]
    assert found.compared().entries[0].trace is not None


# -- the shelf --


def test_the_runs_of_a_comparison_are_kept_and_dropped_together() -> None:
    shop = Shop(limits=Limits(runs_per_user=1))
    first = shop.run(asked())[-1]
    second = shop.run(asked())[-1]
    assert shop.shelf.get(first["comparison"]) is None
    assert all(trace is not None for trace in shop.traces(second))
    assert len(shop.shelf) == 4
    assert all(
        entry.run and shop.shelf.get(entry.run) for entry in shop.stored(second).compared().entries
    )


def test_a_look_at_one_run_keeps_its_comparison() -> None:
    shop = Shop()
    trace = sample_traces.chain()
    message = shop.run(asked())[-1]
    weight = sum(numbers(each) for each in shop.traces(message))
    shop.shelf = Shelf(Limits(stored_numbers=weight + numbers(trace)))
    shop.comparing = Comparing(Runner(shop.engines, shop.shelf, LIMITS), shop.shelf)
    message = shop.run(asked())[-1]
    other = shop.shelf.add("bert", "Your run", trace)
    run = shop.stored(message).compared().entries[1].run
    shop.shelf.get(other.name)
    shop.shelf.get(run)
    shop.shelf.add("bert", "Your run", trace)
    shop.shelf.tidy()
    assert shop.shelf.get(other.name) is None
    assert shop.shelf.get(message["comparison"]) is not None
