"""The app with the default model: loading is told, and twenty users at once get their own texts."""

from __future__ import annotations

import asyncio
import time

import pytest

from app.engines import LoadedEngines
from app.limits import Limits
from app.orders import ModelsOrder, Order, SamplingOrder
from app.running import Runner
from app.session import Shelf
from core.registry import get
from core.run import Request, Run
from core.trace import token_ids
from tests.app.test_running import collected

pytestmark = pytest.mark.weights

MODELS = ModelsOrder(threads="1")
USERS = 20
TOKENS = 4


def order(user: int) -> Order:
    sampling = SamplingOrder(temperature=0.9, seed=user, max_new_tokens=TOKENS)
    return Order(
        f"Name {user + 2} colours.", "speculative_sampling", {}, sampling=sampling, models=MODELS
    )


def test_twenty_users_of_the_default_model_get_their_own_texts() -> None:
    engines, shelf = LoadedEngines(keep=1), Shelf(Limits())
    runner = Runner(engines, shelf, Limits())

    async def work():
        runs = [collected(runner.run(f"user {user}", order(user))) for user in range(USERS)]
        return await asyncio.gather(*runs)

    streams = asyncio.run(work())
    assert any(message["phase"] == "loading" for message in streams[0])
    assert all(message["phase"] != "loading" for message in streams[-1])
    engine = engines.engine(MODELS, lambda done, total, words: None)
    for user, stream in enumerate(streams):
        assert stream[-1]["phase"] == "done", stream[-1]
        request = Request(
            order(user).prompt,
            get("speculative_sampling"),
            temperature=0.9,
            seed=user,
            max_new_tokens=TOKENS,
        )
        run = Run(request, engine, time.perf_counter, "2026-01-01T00:00:00+00:00")
        list(run)
        stored = shelf.get(stream[0]["run"])
        assert stored is not None
        assert stored.trace is not None
        assert stored.trace.prompt.text == order(user).prompt
        assert token_ids(stored.trace) == token_ids(run.trace())


def test_engines_are_kept_and_the_oldest_dropped() -> None:
    engines = LoadedEngines(keep=1)
    single = ModelsOrder(dtype="float32", threads="1")
    first = engines.engine(MODELS, lambda done, total, words: None)
    assert engines.has(MODELS)
    assert engines.engine(MODELS, lambda done, total, words: None).target is first.target
    engines.engine(single, lambda done, total, words: None)
    assert engines.has(single)
    assert not engines.has(MODELS)
