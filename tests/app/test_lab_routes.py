"""The Lab over HTTP: answers equal the core's, in line with runs, from memory where known; every
refusal is a sentence, and whoever hangs up leaves no trace.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from msgspec import structs

from app.engines import Progress
from app.lab.desk import too_long
from app.lab.memory import Memory
from app.lab.orders import LabOrder, RoundsOrder, models_for, read_question
from app.limits import Limits
from app.messages import Message
from app.orders import ModelsOrder, OrderError
from app.running import Runner
from app.session import Shelf
from app.ui import App
from core.lab.ladder import ladders
from core.lab.rescore import rescore
from core.registry import get
from core.run import Engine, Request, Run
from core.trace import Trace
from tests.app.served import served
from tests.app.toys import HOSTILE, ToyEngines, toy_engine

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio")
TREE: Mapping[str, object] = {"drafter": "model", "tree": [3, 2]}
LIMITS = Limits()


class Counting(ToyEngines):
    """Toy engines that count how often a run or a question wanted the models."""

    asked = 0

    def engine(self, wanted: ModelsOrder, progress: Progress) -> Engine:
        self.asked += 1
        return super().engine(wanted, progress)


def made(method: str = "rsd", config: Mapping[str, object] = TREE) -> Trace:
    request = Request(
        "Why?", get(method), config, temperature=0.8, seed=2, max_new_tokens=16, chat=False
    )
    run = Run(request, toy_engine(), time.perf_counter, "2026-01-01T00:00:00+00:00")
    list(run)
    return run.trace()


def ask(url: str, tool: str, question: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the lines of an answer."""
    answer = httpx.post(f"{url}/draftscope/lab/{tool}", json=question, timeout=60)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["cache-control"] == "no-store"
    return [json.loads(line) for line in answer.text.splitlines()]


def answered(url: str, tool: str, question: Mapping[str, object]) -> dict[str, object]:
    last = ask(url, tool, {"load": True, **question})[-1]
    assert last["phase"] == "done", last["words"]
    found = last["answer"]
    assert isinstance(found, dict)
    return found


Server = tuple[App, str]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(Counting()) as running:
        yield running


@pytest.fixture(scope="module")
def name(server: Server) -> str:
    return server[0].studio.shelf.add("anna", "Your run", made()).name


served_tests = pytest.mark.process


@served_tests
def test_models_are_loaded_only_where_the_question_says_so() -> None:
    engines = Counting()
    with served(engines) as (app, url):
        stored = app.studio.shelf.add("anna", "Your run", made())
        question = {"trace": stored.name, "round": 1, "node": 0}
        (only,) = ask(url, "ladder", question)
        assert only["phase"] == "unloaded"
        assert str(only["words"]).startswith("This loads the model first: toy")
        assert engines.asked == 0
        phases = [line["phase"] for line in ask(url, "ladder", {**question, "load": True})]
        assert phases[0] == "waiting"
        assert "loading" in phases
        assert phases[-1] == "done"
        assert ask(url, "ladder", {**question, "node": 1})[-1]["phase"] == "done"


@served_tests
def test_the_ladder_is_that_of_the_laws_at_the_node(server: Server, name: str) -> None:
    trace = server[0].studio.find(name).trace
    for node in (0, 1):
        found = answered(server[1], "ladder", {"trace": name, "round": 1, "node": node})
        laws = rescore(toy_engine(), trace, 1, node)
        assert laws.q is not None
        expected = ladders(laws.p, laws.q)
        groups = found["ladder"]["groups"]
        rows = {(group["head"], row["name"]): row for group in groups for row in group["rows"]}
        standard = [bar["value"] for bar in rows["One draft", "Standard"]["bars"]]
        assert standard == [rungs["one/standard"].value for rungs in expected]
        k_seq = [bar["value"] for bar in rows["Drawn with replacement", "K-SEQ"]["bars"]]
        assert k_seq == [rungs["independent/k_seq"].value for rungs in expected]
        assert sum(len(group["rows"]) for group in groups) == len(expected[0])
        assert all(row["definition"] for row in rows.values())
        children = max(2, trace.rounds[1].nodes.parent.count(node))
        assert found["ladder"]["drafts"] == children
        selection = rows["Drawn with replacement", "Importance selection"]
        assert "30 tokens free, all tokens planned for" in selection["definition"]
        assert selection["tag"] == "30 tokens free"
        assert found["ladder"]["bridge"] == ""
        assert "within" in found["where"]["note"]
        assert found["where"]["warns"] is False


@served_tests
def test_a_standard_that_is_not_the_recorded_overlap_is_told_with_both(server: Server) -> None:
    app, url = server
    trace = made()
    scalars = trace.rounds[1].scalars
    other = structs.replace(scalars, overlap=[0.0123, *scalars.overlap[1:]])
    rounds = [*trace.rounds]
    rounds[1] = structs.replace(rounds[1], scalars=other)
    stored = app.studio.shelf.add("anna", "Your run", structs.replace(trace, rounds=rounds))
    found = answered(url, "ladder", {"trace": stored.name, "round": 1, "node": 0})["ladder"]
    text = found["groups"][0]["rows"][0]["bars"][0]["text"]
    assert found["bridge"].startswith(
        f"Standard is {text} here, and the inspector's overlap .012: the same quantity"
    )
    greedy = structs.replace(trace.sampling, temperature=0.0)
    cold = structs.replace(trace, rounds=rounds, sampling=greedy)
    stored = app.studio.shelf.add("anna", "Your run", cold)  # its overlap is of one-hot laws
    found = answered(url, "ladder", {"trace": stored.name, "round": 1, "node": 0})["ladder"]
    assert found["bridge"] == ""


@served_tests
def test_rounds_of_a_lossy_run_name_it_and_what_is_thrown(server: Server, name: str) -> None:
    app, url = server
    trace = made()
    lossy = structs.replace(trace, lossless=False)
    stored = app.studio.shelf.add("anna", "Your run", lossy)
    place = {"round": 1, "node": 0}
    own = answered(url, "rounds", {"trace": stored.name, **place})["rounds"]["own"]
    assert own["badge"]["word"] == "Lossy"
    assert own["words"].startswith(f"{trace.method_name}, which made this run")
    assert answered(url, "rounds", {"trace": name, **place})["rounds"]["own"] is None


@served_tests
def test_the_ladder_selects_as_the_run_did_and_begins_with_its_drafts(server: Server) -> None:
    app, url = server
    settings = {"drafter": "model", "drafts": 8, "length": 1, "free": 2, "alphabet": 3}
    trace = made("canonical_decomposition", settings)
    stored = app.studio.shelf.add("anna", "Your run", trace)
    repeated = next(r for r in trace.rounds if max(r.nodes.count) > 1)
    place = {"trace": stored.name, "round": repeated.index, "node": 0}
    found = answered(url, "ladder", place)["ladder"]
    assert found["drafts"] == 8  # one that was drawn twice counts twice
    rows = {row["name"]: row for group in found["groups"] for row in group["rows"]}
    told = rows["Importance selection"]["definition"]
    assert "2 tokens free, 3 tokens planned for: the settings of this run" in told


@served_tests
def test_rounds_are_thrown_and_mistakes_are_found(server: Server, name: str) -> None:
    place = {"trace": name, "round": 1, "node": 0}
    honest = answered(server[1], "rounds", {**place, "drafts": 2})["rounds"]
    assert honest["verdict"] == "kept"
    assert "follows p" in honest["words"]
    assert honest["rounds"][-1] == 20_000
    assert len(honest["apart"]) == len(honest["most"]) == len(honest["rounds"])
    for row in honest["rows"]:
        assert row["shares"][-1] == pytest.approx(row["p"], abs=0.02)
    assert sum(row["p"] for row in honest["rows"]) == pytest.approx(1)
    broken = answered(server[1], "rounds", {**place, "drafts": 2, "mistake": "one_side"})["rounds"]
    assert broken["verdict"] == "broken"
    assert "does not follow p" in broken["words"]
    assert broken["mistakes"][0]["key"] == "none"
    again = answered(server[1], "rounds", {**place, "drafts": 2, "seed": 1})["rounds"]
    assert again["apart"] != honest["apart"]


@served_tests
def test_what_is_known_needs_neither_the_models_nor_the_line(server: Server, name: str) -> None:
    app, url = server
    place = {"trace": name, "round": 2, "node": 0}
    first = answered(url, "ladder", place)
    engines = app.studio.engines
    assert isinstance(engines, Counting)
    before = engines.asked
    assert [line["phase"] for line in ask(url, "ladder", place)] == ["done"]
    assert answered(url, "ladder", place) == first
    answered(url, "rounds", place)  # the same laws
    assert engines.asked == before


@served_tests
@pytest.mark.parametrize(
    ("method", "config"),
    [
        ("opt_tree", {"nodes": 12, "threshold": 0.01}),
        ("opt_tree", {"nodes": 12, "threshold": 0.01, "lags": True, "draft_temperature": 0.6}),
        ("eagle2", {"nodes": 5, "width": 3, "depth": 2}),
        ("eagle1", {"tree": "0 1 00 01"}),
        ("dyspec", {"budget": 6}),
        ("sequoia", {"budget": 6, "acceptance": [0.6, 0.2, 0.1]}),
    ],
)
def test_every_node_of_a_tree_can_be_asked_about(
    server: Server, method: str, config: Mapping[str, object]
) -> None:
    """Offered, expanded or pruned: its laws are those of the record, and honest rounds keep p."""
    trace = made(method, {"drafter": "model", **config})
    stored = server[0].studio.shelf.add("anna", "Your run", trace)
    drafted = [r for r in trace.rounds if r.drafted]
    pruned = [r for r in drafted if "pruned" in r.nodes.state]
    assert bool(pruned) == (method in ("opt_tree", "eagle2"))
    asked = (pruned or drafted)[0]
    for node in range(len(asked.nodes.token)):
        place = {"trace": stored.name, "round": asked.index, "node": node}
        found = answered(server[1], "ladder", place)
        assert found["where"]["warns"] is False
        assert found["ladder"]["groups"]
        honest = answered(server[1], "rounds", place)["rounds"]
        assert honest["verdict"] in ("kept", "unsure")


@served_tests
def test_a_method_without_a_draft_law_says_what_is_missing(server: Server) -> None:
    app, url = server
    stored = app.studio.shelf.add("anna", "Your run", made("prompt_lookup", {}))
    place = {"trace": stored.name, "round": 1, "node": 0}
    for tool in ("ladder", "rounds"):
        assert "no draft law" in answered(url, tool, place)[tool]["missing"]


@served_tests
def test_a_trace_of_another_model_is_refused_in_a_sentence(server: Server) -> None:
    place = {"trace": "sky", "round": 1, "node": 0, "load": True}
    last = ask(server[1], "ladder", place)[-1]
    assert last["phase"] == "error"
    assert "was made with SmolLM2-135M-Instruct" in str(last["words"])


@served_tests
@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"trace": "r0"}, 404, "no longer stored"),
        ({"node": -1}, 400, "Node is -1"),
        ({"round": "one"}, 400, "Round is"),
        ({"drafts": 9}, 400, "it may be 1 to 8"),
        ({"mistake": "all"}, 400, "Mistake is 'all'"),
        ({"colour": 1}, 400, "There is no setting 'colour'"),
        ({"models": 3}, 400, "'models'"),
        ({"models": {"device": "abacus"}}, 400, "Device is 'abacus'"),
        ({"round": 99}, 200, "Round 99 does not exist"),
        ({"node": 999}, 200, "Node 999 does not exist"),
        ({"drafts": 1, "mistake": "siblings"}, 200, "take 2 or more"),
    ],
)
def test_a_bad_question_is_told_in_a_sentence(
    server: Server, name: str, changes: Mapping[str, object], status: int, words: str
) -> None:
    question = {"trace": name, "round": 1, "node": 0, "load": True, **changes}
    answer = httpx.post(f"{server[1]}/draftscope/lab/rounds", json=question, timeout=60)
    assert answer.status_code == status
    last = json.loads(answer.text.splitlines()[-1])
    said = last["error"] if status != 200 else last["words"]
    assert words in said
    assert status != 200 or last["phase"] == "error"


@served_tests
@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"{", b"x" * 20_000])
def test_what_is_no_question_is_refused(server: Server, data: bytes) -> None:
    answer = httpx.post(f"{server[1]}/draftscope/lab/ladder", content=data)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("The question is ")
    assert httpx.get(f"{server[1]}/draftscope/lab/ladder").status_code == 405
    assert httpx.post(f"{server[1]}/draftscope/lab/nothing", content=data).status_code == 404


@served_tests
def test_hostile_tokens_come_as_data(server: Server, name: str) -> None:
    labels: set[str] = set()
    for node in range(8):
        place = {"trace": name, "round": 1, "node": node}
        rows = answered(server[1], "rounds", place)["rounds"]["rows"]
        labels |= {row["label"]["text"] for row in rows if row["label"]}
    assert labels & set(HOSTILE.split("|"))


@served_tests
def test_twenty_users_at_once_each_get_their_own_answer(server: Server) -> None:
    app, url = server
    traces = [made("rsd", {"drafter": "model", "tree": [2 + n % 3, 2]}) for n in range(5)]
    names = [app.studio.shelf.add(f"user-{n}", "Your run", t).name for n, t in enumerate(traces)]

    def one(user: int) -> tuple[int, dict[str, object]]:
        place = {"trace": names[user % 5], "round": 1, "node": user // 5}
        return user, answered(url, "ladder", place)

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(one, range(20)))
    for user, answer in found:
        laws = rescore(toy_engine(), traces[user % 5], 1, user // 5)
        assert laws.q is not None
        value = ladders(laws.p, laws.q, 1)[0]["one/standard"].value
        assert answer["ladder"]["groups"][0]["rows"][0]["bars"][0]["value"] == value
    assert len(app.studio.runner._line) == 0


@served_tests
def test_who_hangs_up_leaves_the_line(server: Server) -> None:
    app, url = server
    line = app.studio.runner._line
    stored = app.studio.shelf.add("anna", "Your run", made("rsd", {**TREE, "tree": [2, 2, 1]}))
    line.join("somebody")
    try:
        question = {"trace": stored.name, "round": 1, "node": 0, "load": True}
        address = f"{url}/draftscope/lab/ladder"
        with httpx.stream("POST", address, json=question, timeout=30) as answer:
            lines = answer.iter_lines()
            assert json.loads(next(lines))["phase"] == "waiting"
            assert "One run is before yours" in json.loads(next(lines))["words"]
            assert len(line) == 2
        within = time.monotonic() + 10
        while len(line) > 1 and time.monotonic() < within:
            time.sleep(0.05)
        assert len(line) == 1
    finally:
        line.leave("somebody")


# -- the line, without a server --


def runner(engines: ToyEngines | None = None) -> Runner:
    return Runner(engines or ToyEngines(), Shelf(LIMITS), LIMITS)


async def collected(messages: AsyncIterator[Message]) -> list[Message]:
    return [message async for message in messages]


def test_questions_and_runs_take_turns() -> None:
    asked, busy, most = runner(), 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.01)
        with lock:
            busy -= 1

    async def all_at_once() -> None:
        await asyncio.gather(*(collected(asked.ask(None, work)) for _ in range(20)))

    asyncio.run(all_at_once())
    assert most == 1


def test_an_error_is_the_last_message_and_the_line_is_free_again() -> None:
    asked = runner()

    def work() -> None:
        raise ValueError("No such node\nat all")

    messages = asyncio.run(collected(asked.ask(None, work)))
    assert messages[-1]["phase"] == "error"
    assert messages[-1]["words"] == "No such node."
    assert len(asked._line) == 0


def test_leaving_while_the_models_load_stops_loading() -> None:
    engines = ToyEngines(load_seconds=5)
    asked = runner(engines)

    async def leave() -> float:
        messages = asked.ask(ModelsOrder(), lambda: None)
        async for message in messages:
            if message["phase"] == "loading":
                break
        began = time.monotonic()
        await messages.aclose()
        while engines._lock.locked():
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    assert asyncio.run(leave()) < 3
    assert engines.loads == 0
    assert len(asked._line) == 0


def test_a_question_is_read_into_its_kind() -> None:
    order, models = read_question(
        RoundsOrder, {"trace": "sky", "round": 1, "seed": 3, "models": {"dtype": "float32"}}
    )
    assert (order.trace, order.round, order.seed, order.load) == ("sky", 1, 3, False)
    assert models.dtype == "float32"
    with pytest.raises(OrderError, match="no set of named values"):
        read_question(LabOrder, [])


def test_a_trace_names_its_own_models() -> None:
    trace = made()
    target = trace.models.target

    def of(name: str, draft: str | None = None) -> Trace:
        cards = structs.replace(
            trace.models,
            target=structs.replace(target, id=name),
            draft=structs.replace(target, id=draft) if draft else None,
        )
        return structs.replace(trace, models=cards)

    given = ModelsOrder(target="./my-model", draft="./my-draft")
    (hub,) = models_for(of("org/model", "org/small"), given)
    assert (hub.target, hub.draft) == ("org/model", "org/small")
    larger, alone = models_for(of("SmolLM2-135M-Instruct (Q4_1)"), given)
    assert (larger.target, larger.draft) == ("default", "./my-draft")
    assert (alone.target, alone.draft) == ("default", "")
    (local,) = models_for(of("my-model", "my-draft"), given)
    assert (local.target, local.draft) == ("./my-model", "./my-draft")
    (default,) = models_for(of("HuggingFaceTB/SmolLM2-135M-Instruct"), ModelsOrder())
    assert default == ModelsOrder()


def test_texts_longer_than_a_run_may_be_are_not_read() -> None:
    trace = made()
    assert too_long(trace, LabOrder(round=1), LIMITS) is None
    short = Limits(prompt_tokens=2, new_tokens=3, nodes=4)
    assert "the Lab reads up to 9 here" in str(too_long(trace, LabOrder(round=1), short))


def test_memory_forgets_the_least_recently_used() -> None:
    memory = Memory[int](2)
    memory.keep("a", 1)
    memory.keep("b", 2)
    assert memory.get("a") == 1
    memory.keep("c", 3)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)
    assert len(memory) == 2
