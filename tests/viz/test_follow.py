"""What a page says of a test names what the rule does next, in every method."""

from __future__ import annotations

import pytest

from core.registry import get, methods
from tests.viz.toy_rounds import readings
from viz.follow import after
from viz.ledger import darts, ledger_note
from viz.reading import Reading
from viz.text import alone

SETTINGS: dict[str, dict[str, object]] = {
    "dynasd": {"stop": "never"},
    "mcsd": {},
    "rsd": {},
    "spectr": {},
    "block_verification": {"length": 4},
    "speculative_sampling": {"length": 4},
    "typical_acceptance": {},
}


def words(reading: Reading, node: int) -> str:
    return "".join(run["text"] for run in after(reading, node))


def named(reading: Reading, node: int) -> str:
    return alone(reading.label(node))


@pytest.mark.parametrize("key", SETTINGS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_walk_goes_on_to_a_child_and_what_is_tried_next_is_a_sibling(
    key: str, temperature: float
) -> None:
    told = 0
    for reading in readings(key, SETTINGS[key], temperature):
        for check in reading.round.checks:
            text = words(reading, check.node)
            if "goes on to depth" in text:
                depth = reading.depths[check.node] + 1
                children = [named(reading, c) for c in reading.children[check.node]]
                assert f"goes on to depth {depth}:" in text
                assert any(f"is for {name}." in text for name in children)
                told += 1
            if "is tried next" in text:
                siblings = reading.children[reading.parent(check.node)]
                assert any(text.startswith(named(reading, s)) for s in siblings)
            if "the target writes" in text:
                assert reading.end in (check.node, reading.parent(check.node))
    assert told or key == "block_verification"


def test_every_method_here_is_registered() -> None:
    assert set(SETTINGS) <= set(methods())
    assert not get("dynasd").lossless


def test_a_strand_that_lost_passed_and_was_not_taken() -> None:
    found = [
        (dart["verdict"], reading.state(dart["node"]))
        for reading in readings("dynasd", SETTINGS["dynasd"])
        for dart in darts(reading)
    ]
    assert {verdict for verdict, state in found if state == "accepted"} == {"accepted"}
    assert "passed" in {verdict for verdict, _ in found}
    assert not any(v == "accepted" for v, state in found if state != "accepted")
    assert all("longest run" in ledger_note(r) for r in readings("dynasd", SETTINGS["dynasd"]))


def test_what_is_left_beyond_the_law_without_favourites_is_not_called_q() -> None:
    """Beside favourites that were chosen, a token is drawn from q without them."""
    texts = [
        words(reading, check.node)
        for reading in readings("greedy_multidraft", {})
        for check in reading.round.checks
        if check.q is not None and not check.passed
    ]
    beyond = [text for text in texts if "beyond" in text]
    assert beyond
    assert all("beyond the law it was drawn from" in text for text in beyond)


def test_without_luck_the_next_test_is_a_check() -> None:
    texts = [
        words(reading, check.node)
        for reading in readings("typical_acceptance", {})
        for check in reading.round.checks
    ]
    assert any(": check " in text for text in texts)
    assert not any(": dart " in text for text in texts)
