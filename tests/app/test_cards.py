"""The catalogue's files: what is recorded is of the method that it stands for, small, and drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.card_rounds import FOLDER, card_round, card_routes, recorded_keys
from app.cards import MEASURED, entries, measurement, methods_json
from app.recordings import Recordings
from core.trace_io import read

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = Recordings()
FILES = sorted(FOLDER.glob("*.json.gz"))
KEYS = recorded_keys(RECORDINGS)


def test_there_are_recorded_rounds_and_they_are_small() -> None:
    assert len(FILES) > 10
    assert sum(path.stat().st_size for path in FILES) < 600 * 1024


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_recorded_round_is_of_its_method_as_it_comes(path: Path) -> None:
    trace = read(path)
    assert f"{trace.method}.json.gz" == path.name
    assert trace.method in {method.key for method in entries().methods}
    (method,) = [each for each in entries().methods if each.key == trace.method]
    assert trace.method_name == method.name
    assert trace.lossless == method.lossless


@pytest.mark.parametrize("key", KEYS)
def test_a_recorded_method_has_a_picture_and_says_which_round_it_is(key: str) -> None:
    found = card_round(key, RECORDINGS)
    (picture,) = found["pictures"]
    assert picture["section"]["head"]
    assert "temperature" in found["words"]
    assert "Round " in found["words"]


@pytest.mark.parametrize("key", ["magic", "../examples/1-sky", "", "plain"])
def test_what_was_not_recorded_is_told(key: str) -> None:
    assert key not in KEYS
    with pytest.raises(KeyError, match="was recorded"):
        card_round(key, RECORDINGS)


def test_rounds_are_answered_as_json_and_unknown_ones_refused() -> None:
    client = TestClient(Starlette(routes=card_routes(RECORDINGS)))
    answer = client.get("/catalogue/rounds/rsd")
    assert answer.status_code == 200
    assert answer.content == msgspec.json.encode(card_round("rsd", RECORDINGS))
    refused = client.get("/catalogue/rounds/magic")
    assert refused.status_code == 404
    assert refused.json() == {"error": "No round of 'magic' was recorded."}


def test_measured_methods_are_registered_ones() -> None:
    assert MEASURED.exists()
    found = measurement()
    assert found is not None
    known = {method.key for method in entries().methods}
    assert {row.method for row in found.methods} <= known
    assert set(found.left_out) <= known


def test_a_card_shows_the_measurement_of_its_method() -> None:
    found = measurement()
    assert found is not None
    shown = {
        card["key"]: [pair["tokens"] for pair in card["pairs"]]
        for family in json.loads(methods_json())["families"]
        for card in family["cards"]
    }
    expected: dict[str, list[float]] = {key: [] for key in shown}
    for row in sorted(found.methods, key=lambda row: row.temperature):
        expected[row.method].append(row.tokens_per_pass)
    assert shown == ({key: [] for key in shown} if found.void else expected)


@pytest.mark.process
def test_page_and_rounds_need_no_torch() -> None:
    words = (
        "import sys; from app.cards import methods_json; from app.card_rounds import card_round;"
        "from app.recordings import Recordings; methods_json(); card_round('rsd', Recordings());"
        "print('torch' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"
