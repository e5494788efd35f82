"""A token that the draft chose where its law gives it nothing is never shown with a chance of 0."""

from __future__ import annotations

import pytest

from tests.viz.toy_rounds import readings
from viz.round import round_view

SETTINGS: dict[str, object] = {"draft_temperature": 0.0, "tree": [3, 1]}


def test_a_sibling_of_the_certain_token_is_said_to_be_chosen() -> None:
    tried = 0
    for seed in range(6):
        for reading in readings("mcsd", SETTINGS, seed=seed):
            view = round_view(reading.trace, 0)
            inspectors = {each["node"]: each for each in view["inspectors"]}
            for node in view["nodes"]:
                if node["id"] <= 0:
                    continue
                assert node["q_text"] in ("1", "chosen")
                chosen = node["q_text"] == "chosen"
                assert ("chosen by the draft, not drawn" in node["words"]) == chosen
                assert "draft 0" not in node["words"]
                if chosen and node["tested"]:
                    tried += 1
                    inspector = inspectors[node["id"]]
                    told = "".join(run["text"] for run in inspector["rule"])
                    assert "chosen and not drawn" in told
                    (bar,) = [bar for bar in inspector["bars"] if bar["tested"]]
                    assert bar["q_text"] == "–"
    assert tried


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_drawn_tokens_and_greedy_rounds_keep_their_numbers(temperature: float) -> None:
    settings: dict[str, object] = {"tree": [3, 1]}
    for reading in readings("mcsd", settings, temperature):
        nodes = round_view(reading.trace, 0)["nodes"]
        assert all(node["q_text"] != "chosen" for node in nodes)
