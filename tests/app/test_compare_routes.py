"""Comparisons over HTTP: recorded ones without a model, runs as they grow, files both ways."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.compare_orders import read_comparison
from app.comparisons import RecordedComparisons
from app.limits import Limits
from app.ui import App
from core.compare.files import dumps, loads
from core.trace import token_ids
from core.trace_io import dumps as dumps_trace
from tests import sample_traces
from tests.app.recorded import METHODS, PROMPT, comparison, record
from tests.app.served import served
from tests.app.toys import ToyEngines

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio"),
]

LIMITS = Limits(file_bytes=3_000_000)
ORDER: Mapping[str, object] = {
    "prompt": "Why?",
    "methods": [
        {"method": "rsd", "config": {"drafter": "model", "tree": [2, 2]}},
        {"method": "rsd", "config": {"tree": [0]}},
    ],
    "sampling": {"max_new_tokens": 12},
}

PATIENCE = 60.0  # seconds for an answer: machines that test do other work too
fetch, post = partial(httpx.get, timeout=PATIENCE), partial(httpx.post, timeout=PATIENCE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("comparisons"))


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[tuple[App, str]]:
    with served(ToyEngines(), LIMITS, folder) as (app, url):
        yield app, f"{url}/draftscope/comparisons"


def test_a_recorded_comparison_opens_without_a_model(server: tuple[App, str]) -> None:
    app, url = server
    whole = fetch(f"{url}/sky").json()
    assert whole["id"] == "sky"
    assert whole["title"] == "Why the sky is blue"
    assert whole["prompt"] == PROMPT
    assert [method["key"] for method in whole["methods"]] == [key for key, _ in METHODS]
    assert whole["finished"] is True
    assert whole["source"].startswith("Recorded comparison")
    engines = app.studio.engines
    assert isinstance(engines, ToyEngines)
    assert engines.loads == 0


def test_recordings_say_what_would_make_them_again(folder: Path) -> None:
    recorded = RecordedComparisons(folder)
    assert [(one.key, one.title) for one in recorded.all.values()] == [
        ("sky", "Why the sky is blue"),
        ("sea", "A day at the sea"),
    ]
    order = recorded.all["sky"].order
    read = read_comparison(order, LIMITS)
    assert [wish.key for wish in read.wishes] == [key for key, _ in METHODS[1:]]
    assert all(wish.order is not None for wish in read.wishes)
    assert read.reference.sampling.seed == 3


def test_recordings_that_come_with_the_program_can_be_made_again() -> None:
    recorded = RecordedComparisons()
    for one in recorded.all.values():
        order = read_comparison(one.order, Limits())
        assert all(wish.order is not None for wish in order.wishes)


def test_positions_come_by_their_numbers(server: tuple[App, str]) -> None:
    _, url = server
    places = fetch(f"{url}/sky").json()["places"]
    views = fetch(f"{url}/sky/positions?from=2&to=5").json()
    assert len(views) == 3
    assert [view["head"].split(":")[0] for view in views] == [
        f"Position {places.index(number)}" for number in (2, 3, 4)
    ]
    assert all(len(view["trees"]) == len(METHODS) for view in views)
    last = max(places)
    assert len(fetch(f"{url}/sky/positions?from={last}&to={last + 9}").json()) == 1
    assert fetch(f"{url}/sky/positions?from=999&to=1000").json() == []
    assert len(fetch(f"{url}/sky/positions?from=0&to=99999").json()) == 16


def test_downloads_are_the_comparison_itself(server: tuple[App, str]) -> None:
    app, url = server
    answer = fetch(f"{url}/sky/comparison.json.gz")
    assert answer.headers["content-disposition"] == 'attachment; filename="draftscope-sky.json.gz"'
    runs = loads(answer.content).runs
    assert runs == [entry.trace for entry in app.studio.find_comparison("sky").entries]
    assert fetch(f"{url}/sky/comparison.html").text.startswith("<!doctype html>")
    rows = list(csv.DictReader(io.StringIO(fetch(f"{url}/sky/table.csv").text)))
    assert sorted(row["method"] for row in rows) == sorted(key for key, _ in METHODS)


@pytest.mark.parametrize("rest", ["", "/positions", "/comparison.json.gz", "/table.csv"])
def test_an_unknown_comparison_is_told_in_a_sentence(server: tuple[App, str], rest: str) -> None:
    answer = fetch(f"{server[1]}/c0{rest}")
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("This comparison is no longer stored")


def test_a_run_is_no_comparison(server: tuple[App, str]) -> None:
    app, url = server
    run = app.studio.shelf.add("u", "Your run", sample_traces.chain())
    assert fetch(f"{url}/{run.name}").status_code == 404


def test_a_comparison_that_was_run_is_there_with_its_runs(server: tuple[App, str]) -> None:
    app, url = server

    async def work() -> str:
        order = read_comparison(ORDER, LIMITS)
        messages = app.studio.comparing.run("anna", order)
        return [message async for message in messages][-1]["comparison"]

    name = asyncio.run(work())
    whole = fetch(f"{url}/{name}").json()
    assert [method["status"] for method in whole["methods"]] == ["done", "done", "error"]
    assert "each 1 to 16" in whole["methods"][2]["words"]
    traces = url.replace("comparisons", "traces")
    for method in whole["methods"][:2]:
        assert fetch(f"{traces}/{method['run']}").json()["overview"]["method"] == method["key"]
    runs = loads(fetch(f"{url}/{name}/comparison.json.gz").content).runs
    assert [run.method for run in runs] == ["plain", "rsd"]
    assert len(token_ids(runs[0])) == 12
    assert fetch(f"{url}/{name}/positions?from=0").json()[0]["head"].startswith("Position 0")


def test_what_is_no_comparison_yet_cannot_be_saved(server: tuple[App, str]) -> None:
    app, url = server

    async def work() -> str:
        order = {**ORDER, "methods": [{"method": "rsd", "config": {"drafter": "exit"}}]}
        messages = app.studio.comparing.run("anna", read_comparison(order, LIMITS))
        return [message async for message in messages][-1]["comparison"]

    name = asyncio.run(work())
    assert [m["status"] for m in fetch(f"{url}/{name}").json()["methods"]] == ["done", "error"]
    for file in ("comparison.json.gz", "comparison.html"):
        answer = fetch(f"{url}/{name}/{file}")
        assert answer.status_code == 409
        assert "1 runs" in answer.json()["error"]


def test_a_file_opens_like_a_recording(server: tuple[App, str]) -> None:
    _, url = server
    made = comparison("Mine")
    opened = post(f"{url}?user=u", content=dumps(made)).json()
    whole = opened["comparison"]
    assert whole["title"] == "Mine"
    assert whole["source"].startswith("From a file")
    assert fetch(f"{url}/{whole['id']}").json() == whole
    assert loads(fetch(f"{url}/{whole['id']}/comparison.json.gz").content) == made
    assert [one["method"] for one in opened["order"]["methods"]] == [key for key, _ in METHODS[1:]]


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", 400, "empty"),
        (b"no json", 400, "no JSON"),
        (gzip.compress(b"{}"), 400, "no comparison"),
        (dumps_trace(sample_traces.chain()), 400, "trace of one run"),
        (gzip.compress(json.dumps({"comparison_version": 1, "runs": []}).encode()), 400, "."),
        (bytes(3_000_001), 413, "2 MiB are allowed"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(
    server: tuple[App, str], data: bytes, status: int, words: str
) -> None:
    answer = post(server[1], content=data)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_file_counts_as_one_of_its_users_runs(folder: Path) -> None:
    with served(ToyEngines(), Limits(runs_per_user=2), folder) as (app, url):
        data = dumps(comparison("Mine"))
        names = [
            post(f"{url}/draftscope/comparisons?user=u", content=data).json()["comparison"]["id"]
            for _ in range(3)
        ]
        kept = [app.studio.shelf.get(name) is not None for name in names]
        assert kept == [False, True, True]
        assert len(app.studio.shelf) == 2 * (1 + len(METHODS))


def test_the_page_is_served_beside_the_others(server: tuple[App, str]) -> None:
    url = server[1].removesuffix("/draftscope/comparisons")
    for path in ("", "/compare", "/methods"):
        assert fetch(f"{url}{path}").status_code == 200
