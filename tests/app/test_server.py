"""The running server: plain routes, named endpoints, MCP tools, many users at once, closed tabs."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from app.limits import Limits
from app.orders import ModelsOrder
from app.routes import assets
from app.ui import App
from core.compare.files import read as read_comparison
from core.registry import get
from core.run import Request, Run
from core.trace import token_ids
from core.trace_io import dumps, loads
from tests import sample_traces
from tests.app.served import served
from tests.app.toys import ToyEngines, toy_engine

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning:gradio"  # it counts its calls with pandas
    ),
]

ORDER = {"method": "rsd", "config": {"drafter": "model"}, "temperature": 0.7, "max_new_tokens": 12}
LIMITS = Limits(file_bytes=3_000_000, prompt_characters=200)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[App, str]]:
    with served(ToyEngines(), LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def url(server: tuple[App, str]) -> str:
    return server[1]


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Client]:
    made = Client(url, verbose=False)
    yield made
    made.close()


def direct(prompt: str, seed: int) -> list[int]:
    """Return what the core decodes for ORDER, without an app."""
    request = Request(
        prompt, get("rsd"), {"drafter": "model"}, temperature=0.7, seed=seed, max_new_tokens=12
    )
    run = Run(request, toy_engine(), time.perf_counter, "2026-01-01T00:00:00+00:00")
    list(run)
    return token_ids(run.trace())


def test_the_page_asks_no_other_host(url: str) -> None:
    page = httpx.get(url).text
    config = json.loads(page.split("window.gradio_config = ")[1].split(";</script>")[0])
    assert config["analytics_enabled"] is False
    assert "fonts.googleapis" not in page
    assert "fonts.googleapis" not in httpx.get(f"{url}/theme.css").text
    assert config["stylesheets"] == []
    assert config["footer_links"] == []


def test_scripts_are_served_compressed_and_kept_by_the_browser(url: str) -> None:
    for asset in assets().values():
        answer = httpx.get(f"{url}/{asset.url}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == gzip.decompress(asset.packed)
    assert httpx.get(f"{url}/draftscope/assets/x/passwd").status_code == 404


def test_every_recorded_example_opens(server: tuple[App, str]) -> None:
    app, url = server
    recordings = app.studio.recordings.all
    assert len(recordings) >= 8
    for key, recording in recordings.items():
        page = httpx.get(f"{url}/draftscope/traces/{key}").json()
        assert page["overview"]["id"] == key
        assert page["overview"]["title"] == recording.title
        assert page["overview"]["finished"] is True
        assert page["rounds"][0]["index"] == 0


def test_rounds_come_in_pages(url: str) -> None:
    rounds = httpx.get(f"{url}/draftscope/traces/sky/rounds?from=2&to=4").json()
    assert [view["index"] for view in rounds] == [2, 3]
    assert httpx.get(f"{url}/draftscope/traces/sky/rounds?from=900&to=905").json() == []
    assert httpx.get(f"{url}/draftscope/traces/sky/rounds?from=-1&to=x").json()[0]["index"] == 0


def test_downloads_are_the_trace_itself(server: tuple[App, str]) -> None:
    app, url = server
    base = f"{url}/draftscope/traces/sky"
    trace = app.studio.recordings.trace("sky")
    answer = httpx.get(f"{base}/trace.json.gz")
    assert loads(answer.content) == trace
    assert answer.headers["content-disposition"] == 'attachment; filename="draftscope-sky.json.gz"'
    assert httpx.get(f"{base}/replay.html").text.startswith("<!doctype html>")
    assert httpx.get(f"{base}/darts.csv").text.startswith("round,dart,node")
    assert httpx.get(f"{base}/secrets.csv").status_code == 404


def test_an_unknown_trace_is_told_in_a_sentence(url: str) -> None:
    answer = httpx.get(f"{url}/draftscope/traces/r0")
    assert answer.status_code == 404
    assert "no longer stored" in answer.json()["error"]


def test_a_file_opens_like_an_example(url: str) -> None:
    trace = sample_traces.hostile()
    opened = httpx.post(f"{url}/draftscope/traces?user=u", content=dumps(trace)).json()
    name = opened["overview"]["id"]
    again = httpx.get(f"{url}/draftscope/traces/{name}").json()
    assert again == {name: part for name, part in opened.items() if name != "order"}
    assert loads(httpx.get(f"{url}/draftscope/traces/{name}/trace.json.gz").content) == trace


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", 400, "empty"),
        (b"no json", 400, "no JSON"),
        (gzip.compress(b"{}"), 400, "schema_version"),
        (bytes(3_000_001), 413, "2 MiB are allowed"),
    ],
)
def test_a_bad_file_is_told_in_a_sentence(url: str, data: bytes, status: int, words: str) -> None:
    answer = httpx.post(f"{url}/draftscope/traces", content=data)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_the_named_endpoints_do_what_the_page_does(client: Client) -> None:
    text, about, file = client.predict("Why?", **ORDER, seed=3, api_name="/run")
    trace = loads(Path(file).read_bytes())
    assert trace.text == text
    assert token_ids(trace) == direct("Why?", 3)
    assert about["finish_reason"] == "length"
    assert about["metrics"]["tokens_per_pass"] > 0
    rounds = client.predict(about["trace"], 0, 2, api_name="/rounds")
    assert [view["index"] for view in rounds] == [0, 1]
    exported = client.predict(about["trace"], api_name="/export_trace")
    assert loads(Path(exported).read_bytes()) == trace
    replay = client.predict(about["trace"], api_name="/export_html")
    assert Path(replay).read_text("utf-8").startswith("<!doctype html>")
    opened = client.predict(handle_file(exported), api_name="/import_trace")
    assert opened["source"].startswith("From a file")
    assert client.predict(opened["id"], 0, 1, api_name="/rounds") == rounds[:1]


def test_methods_are_compared_and_the_comparison_can_be_taken_away(client: Client) -> None:
    methods = ["prompt_lookup", {"method": "rsd", "config": {"drafter": "model"}}]
    told, file = client.predict(
        "Why?", methods, temperature=0, seed=3, max_new_tokens=12, api_name="/compare"
    )
    assert [row["method"] for row in told["methods"]] == ["plain", "prompt_lookup", "rsd"]
    assert [row["status"] for row in told["methods"]] == ["done"] * 3
    assert all(row["verdict"]["identical"] for row in told["methods"])
    assert told["finding"].endswith(".")
    whole = read_comparison(file)
    assert [run.text for run in whole.runs] == [row["text"] for row in told["methods"]]
    assert whole.runs[2].sampling.seed == 3
    page = client.predict(told["comparison"], api_name="/export_comparison")
    assert Path(page).read_text("utf-8").startswith("<!doctype html>")


def test_what_fails_of_one_method_is_told_beside_the_others(client: Client) -> None:
    """The toy target has no layers that could draft."""
    methods = [{"method": "rsd", "config": {"drafter": "skip"}}, "prompt_lookup"]
    told, file = client.predict("Why?", methods, max_new_tokens=6, api_name="/compare")
    plain, rsd, lookup = told["methods"]
    assert (plain["status"], rsd["status"], lookup["status"]) == ("done", "error", "done")
    assert rsd["words"].endswith(".")
    assert [run.method for run in read_comparison(file).runs][-1] == "prompt_lookup"


def test_examples_are_listed_and_shown(client: Client) -> None:
    listed = client.predict(api_name="/example")
    assert listed["examples"]["sky"] == "Why the sky is blue"
    assert client.predict("sky", api_name="/example")["id"] == "sky"


def test_rounds_of_every_recording_come_through_the_client(client: Client) -> None:
    """A chart's `path` would be a file to fetch for it, so that charts are left out."""
    for key in client.predict(api_name="/example")["examples"]:
        views = client.predict(key, 0, 8, api_name="/rounds")
        assert [view["index"] for view in views] == list(range(len(views)))


def test_callers_without_a_name_do_not_push_each_other_s_traces_out(url: str) -> None:
    data = dumps(sample_traces.chain())
    names = [
        httpx.post(f"{url}/draftscope/traces", content=data).json()["overview"]["id"]
        for _ in range(10)
    ]
    assert all(httpx.get(f"{url}/draftscope/traces/{name}").status_code == 200 for name in names)


def test_an_opened_file_brings_the_order_that_would_make_it_again(url: str) -> None:
    trace = sample_traces.chain()
    order = httpx.post(f"{url}/draftscope/traces", content=dumps(trace)).json()["order"]
    assert order["prompt"] == trace.prompt.text
    assert (order["method"], order["config"]) == (trace.method, trace.config)


def test_the_server_says_that_it_is_alive(url: str) -> None:
    answer = httpx.get(f"{url}/draftscope/alive")
    assert (answer.json(), answer.headers["cache-control"]) == ({}, "no-store")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"prompt": "", "api_name": "/run"}, "The prompt is empty"),
        ({"prompt": "x" * 201, "api_name": "/run"}, "200 are allowed"),
        ({"prompt": "x", "temperature": 3, "api_name": "/run"}, "it may be 0 to 2"),
        ({"trace": "r0", "api_name": "/rounds"}, "no longer stored"),
        ({"key": "moon", "api_name": "/example"}, "there are: sky"),
        ({"prompt": "x", "temperature": "hot", "api_name": "/run"}, "Temperature is 'hot'; it may"),
        ({"prompt": "x", "top_k": 0.5, "api_name": "/run"}, "Top-k is 0.5; it may be"),
        ({"prompt": "x", "top_p": [1], "api_name": "/run"}, "Top-p is 1; it may be"),
        ({"prompt": "x", "seed": {"a": 1}, "api_name": "/run"}, "Seed is .*; it may be"),
        ({"prompt": "x", "max_new_tokens": None, "api_name": "/run"}, "New tokens is None; it may"),
        ({"trace": "sky", "start": "first", "api_name": "/rounds"}, "start is 'first'; it may be"),
        ({"trace": "sky", "stop": 1.5, "api_name": "/rounds"}, "stop is '1.5'; it may be"),
        ({"trace": "sky", "stop": True, "api_name": "/rounds"}, "stop is 'True'; it may be"),
        ({"prompt": "x", "methods": [], "api_name": "/compare"}, "Choose a method"),
        ({"prompt": "x", "methods": ["magic"], "api_name": "/compare"}, "no method 'magic'"),
        ({"prompt": "x", "methods": {"a": 1}, "api_name": "/compare"}, "is no list"),
        ({"prompt": "", "methods": ["rsd"], "api_name": "/compare"}, "The prompt is empty"),
        (
            {"prompt": "x", "methods": ["svip"], "draft": "a/b", "api_name": "/compare"},
            "drafts without a second model",
        ),
        ({"comparison": "c0", "api_name": "/export_comparison"}, "no longer stored"),
        (
            {"prompt": "x", "draft": "my/draft", "api_name": "/run"},
            'draft is \'my/draft\', but .*: add "drafter": "model" to config',
        ),
        (
            {"prompt": "x", "method": "prompt_lookup", "draft": "my/draft", "api_name": "/run"},
            "Prompt lookup drafts without a second model: leave draft empty",
        ),
    ],
)
def test_an_endpoint_refuses_in_a_sentence(
    client: Client, call: dict[str, object], words: str
) -> None:
    with pytest.raises(AppError, match=words):
        client.predict(**call)


def test_only_named_endpoints_are_public(client: Client) -> None:
    named = client.view_api(return_format="dict", print_info=False)
    assert set(named["named_endpoints"]) == {
        "/run", "/rounds", "/example", "/export_trace", "/export_html", "/import_trace",
        "/compare", "/export_comparison",
    }  # fmt: skip
    assert not named["unnamed_endpoints"]


def test_every_endpoint_is_a_tool_with_typed_and_explained_inputs(url: str) -> None:
    tools = {tool["name"]: tool for tool in httpx.get(f"{url}/gradio_api/mcp/schema").json()}
    assert set(tools) == {
        "run", "rounds", "example", "export_trace", "export_html", "import_trace", "compare",
        "export_comparison",
    }  # fmt: skip
    for tool in tools.values():
        assert tool["description"].rstrip().endswith((".", "tool"))
        for name, schema in tool["inputSchema"]["properties"].items():
            assert isinstance(schema["type"], str), (tool["name"], name)
            assert schema["description"], (tool["name"], name)
    assert tools["run"]["inputSchema"]["required"] == ["prompt"]


def told_to_a_tool(url: str, name: str, arguments: dict[str, object]) -> list[str]:
    """Return the texts that an MCP client gets."""
    call = {"name": name, "arguments": arguments}
    answer = httpx.post(
        f"{url}/gradio_api/mcp/",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"accept": "application/json, text/event-stream"},
        timeout=60,
    )
    body = answer.text.partition("data: ")[2] or answer.text
    return [part["text"] for part in json.loads(body)["result"]["content"]]


def test_a_tool_answers_with_json(client: Client, url: str) -> None:
    (shown,) = told_to_a_tool(url, "example", {"key": "sky"})
    assert json.loads(shown) == client.predict("sky", api_name="/example")
    (views,) = told_to_a_tool(url, "rounds", {"trace": "sky", "start": 1, "stop": 3})
    assert json.loads(views) == client.predict("sky", 1, 3, api_name="/rounds")
    text, about, file = told_to_a_tool(url, "run", {"prompt": "Why?", **ORDER, "seed": 3})
    assert text == client.predict("Why?", **ORDER, seed=3, api_name="/run")[0]
    assert json.loads(about)["finish_reason"] == "length"
    assert file.endswith(".json.gz")
    (sentence,) = told_to_a_tool(url, "run", {"prompt": "x", "temperature": 3})
    assert "Temperature is 3; it may be 0 to 2." in sentence


def test_twenty_clients_at_once_get_their_own_texts(url: str) -> None:
    def one(user: int) -> tuple[str, list[int]]:
        mine = Client(url, verbose=False)
        try:
            _, _, file = mine.predict(f"Prompt {user}", **ORDER, seed=user, api_name="/run")
            trace = loads(Path(file).read_bytes())
            return trace.prompt.text, token_ids(trace)
        finally:
            mine.close()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert answers == [(f"Prompt {user}", direct(f"Prompt {user}", user)) for user in range(20)]


def test_a_client_that_left_stops_its_run_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRADIO_HEARTBEAT_INTERVAL", "0.2")  # the client looks up at each beat
    engines = ToyEngines(step_seconds=0.01)
    engines.engine(ModelsOrder(), lambda done, total, words: None)
    with served(engines) as (app, url):
        mine = Client(url, verbose=False)
        mine.submit("x", **{**ORDER, "max_new_tokens": 2000}, api_name="/run")
        shelf = app.studio.shelf
        wait_for(lambda: any(s.running and s.trace for s in shelf.of(mine.session_hash)))
        stored = shelf.of(mine.session_hash)[0]
        mine.close()
        wait_for(stored.cancelled.is_set)
        wait_for(lambda: not stored.running)
        assert shelf.of(mine.session_hash) == []


def wait_for(met: Callable[[], bool], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.05)
