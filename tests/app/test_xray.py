"""The X-ray's route: six trees in lines of JSON, models loaded only where asked for, one sentence
where something is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

import httpx
import pytest

from core.registry import get
from core.run import Request, Run
from core.trace_io import dumps
from tests.app.served import served
from tests.app.toys import ToyEngines, toy_engine

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::DeprecationWarning:gradio")]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(ToyEngines()) as (_, address):
        yield f"{address}/draftscope/lab/xray"


def ask(url: str, **question: object) -> tuple[int, list[dict[str, object]]]:
    answer = httpx.post(url, content=json.dumps(question), timeout=60)
    return answer.status_code, [json.loads(line) for line in answer.text.splitlines()]


def uploaded(url: str, temperature: float) -> str:
    """Store a run of the toys at the server; return its name."""
    request = Request(
        "Sky", get("rsd"), {"drafter": "model"}, temperature=temperature, max_new_tokens=12
    )
    run = Run(request, toy_engine(), lambda: 0.0, "2026-01-01T00:00:00+00:00")
    for _ in run:
        pass
    answer = httpx.post(url.replace("/lab/xray", "/traces"), content=dumps(run.trace()))
    name: str = answer.json()["overview"]["id"]
    return name


def test_models_are_loaded_only_where_the_question_says_so(url: str) -> None:
    status, lines = ask(url, trace="sky", round=3, budget=8)
    assert status == 200
    assert lines[-1]["phase"] == "unloaded"


@pytest.mark.parametrize("budget", [3, 65])
def test_a_budget_out_of_range_is_refused_in_one_sentence(url: str, budget: int) -> None:
    status, lines = ask(url, trace="sky", round=3, budget=budget)
    assert status == 400
    assert "Node budget" in str(lines[0]["error"])


def test_other_models_than_the_trace_s_are_refused_in_one_sentence(url: str) -> None:
    status, lines = ask(url, trace="sky", round=3, budget=8, load=True)
    assert status == 200
    assert lines[-1]["phase"] == "error"
    assert "The trace was made with" in str(lines[-1]["words"])


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_six_trees_come_back(url: str, temperature: float) -> None:
    status, lines = ask(url, trace=uploaded(url, temperature), round=2, budget=8, load=True)
    assert (status, lines[-1]["phase"]) == (200, "done")
    found = cast("dict[str, dict[str, list[dict[str, object]]]]", lines[-1]["answer"])["xray"]
    assert len(found["trees"]) == 6
    assert all(0 < len(cast("list[int]", tree["nodes"])) <= 8 for tree in found["trees"])
