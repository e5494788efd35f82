"""The pictures of SVIP and DynaSD say what the round's own numbers say, and nothing to others."""

from __future__ import annotations

from typing import cast

import pytest

from core.decode import decode, start
from core.dice import SeededDice
from core.extras import DecisionExtras, SvipExtras
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.registry import Models, get
from core.trace import Round, Trace
from tests import sample_traces as samples
from tests.sample_traces import changed
from viz.pictures import stopping, strands
from viz.reading import read
from viz.round import round_view

SIZE = 6


def rounds(method: str, values: dict[str, object], temperature: float = 1.0) -> list[Round]:
    """Return the drafted rounds of a toy run."""
    target, draft = ToyModel(hashed(SIZE, 1), SIZE), ToyModel(hashed(SIZE, 2, 3.0), SIZE)
    decoder = get(method).build({"drafter": "model", **values}, Models(target, draft))
    state = start([0, 1], target, decoder, Law(temperature), 30)
    return [r for r in decode(state, SeededDice(4), lambda: 0.0) if r.drafted]


def shown(r: Round) -> Trace:
    """Return a trace that has the round as its last, over tokens with names of their own."""
    base = samples.chain()
    words = {token: f" w{token}".encode() for token in range(SIZE)}
    return changed(base, rounds=[changed(r, index=0)], vocabulary={**base.vocabulary, **words})


def test_methods_without_such_numbers_have_no_such_picture() -> None:
    trace = samples.chain()
    for index in range(len(trace.rounds)):
        assert stopping.draw(read(trace, index)) is None
        assert strands.draw(read(trace, index)) is None


@pytest.mark.parametrize("threshold", [0.0, 0.4, 4.0])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_line_passes_the_threshold_exactly_where_drafting_ended(
    threshold: float, temperature: float
) -> None:
    for r in rounds("svip", {"threshold": threshold, "length": 6}, temperature):
        picture = stopping.draw(read(shown(r), 0))
        assert picture is not None
        figure = picture["section"]["figure"]
        assert figure is not None
        bars, line = figure["data"]
        values = cast(list[float], line["y"])
        assert len(values) == r.drafted == len(cast(list[float], bars["y"]))
        assert all(value <= threshold + 1e-4 for value in values[:-1])
        assert r.stop is not None
        if r.stop.reason == "entropy":
            assert values[-1] > threshold
        words = picture["section"]["foot"]
        assert ("ended" in words) == (r.stop.reason == "entropy")
        whole = len(r.outcome.accepted) == r.drafted
        assert ("All were kept" in words) == whole


def test_strands_are_told_with_the_chance_that_the_first_root_has() -> None:
    seen = 0
    for r in rounds("dynasd", {"stop": "never", "tree": [3, 1, 1]}):
        reading = read(shown(r), 0)
        picture = strands.draw(reading)
        assert picture is not None
        assert "won, with" in picture["section"]["foot"]
        roots = [n for n, parent in enumerate(r.nodes.parent) if parent == 0]
        chances = strands._chances(reading)  # pyright: ignore[reportPrivateUsage]
        assert list(chances) == roots
        assert sum(chances.values()) == pytest.approx(1, abs=1e-4)
        seen += 1
    assert seen > 3


def test_scores_of_the_decision_model_stand_below_their_tokens() -> None:
    (r, *_) = rounds("dynasd", {"stop": "never", "tree": [2, 1]})
    scores = [None if parent <= 0 else 0.25 for parent in r.nodes.parent]
    told = changed(r, extras=[DecisionExtras(score=scores, threshold=0.4)])
    picture = strands.draw(read(shown(told), 0))
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    texts = [
        note["text"] for note in cast(list[dict[str, object]], figure["layout"]["annotations"])
    ]
    assert texts == ["0.25", "0.25"]
    assert "0.4" in picture["section"]["note"]


def test_the_inspector_says_why_roots_and_shorter_strands_fared_as_they_did() -> None:
    words: set[str] = set()
    for r in rounds("dynasd", {"stop": "never", "tree": [3, 1, 1]}):
        view = round_view(shown(r), 0)
        for inspector in view["inspectors"]:
            words.add("".join(run["text"] for run in inspector["rule"]))
    told = " ".join(words)
    assert "is a root, drawn from the target's law and never tested" in told
    assert "another strand kept a longer run" in told


def test_a_round_that_could_not_stop_by_entropy_says_so() -> None:
    (r, *_) = rounds("svip", {"threshold": 4.0, "length": 2})
    assert any(isinstance(extra, SvipExtras) for extra in r.extras)
    picture = stopping.draw(read(shown(r), 0))
    assert picture is not None
    assert picture["section"]["foot"].startswith("Drafting ran to its longest")
