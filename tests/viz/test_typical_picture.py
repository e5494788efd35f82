"""The picture of typical acceptance holds each candidate against the curve, and says that it is
lossy.
"""

from __future__ import annotations

from math import exp, log, log10
from typing import cast

import plotly.graph_objects as go
import pytest

from core.extras import TypicalExtras
from tests import sample_traces as samples
from tests.sample_traces import HOSTILE
from tests.viz.toy_rounds import SIZE, readings
from viz.payload import Figure
from viz.pictures import typical
from viz.reading import Reading, read
from viz.rule_typical import threshold
from viz.rules import rule
from viz.theme import DARK, LIGHT, painted

SETTINGS: dict[str, object] = {"tree": [3, 2], "epsilon": 0.2, "delta": 0.6}


def figure(reading: Reading) -> Figure:
    picture = typical.draw(reading)
    assert picture is not None
    assert picture["section"]["figure"] is not None
    return picture["section"]["figure"]


def columns(found: Figure) -> dict[str, list[tuple[float, float]]]:
    return {
        str(trace["name"]): list(
            zip(cast(list[float], trace["x"]), cast(list[float], trace["y"]), strict=True)
        )
        for trace in found["data"]
    }


def rounds() -> list[Reading]:
    return [
        reading
        for seed in range(3)
        for reading in readings("typical_acceptance", SETTINGS, seed=seed)
    ]


def test_what_is_kept_stands_above_the_curve_and_what_is_rejected_does_not() -> None:
    seen: set[str] = set()
    for reading in rounds():
        found = columns(figure(reading))
        for kind in ("accepted", "relaxed", "outrun", "rejected"):
            for entropy, height in found.get(kind, []):
                seen.add(kind)
                above = 10**height > min(0.2, 0.6 * exp(-entropy))
                assert above == (kind != "rejected")
        for state in ("accepted", "relaxed", "rejected"):
            assert len(found.get(state, [])) == reading.round.nodes.state.count(state)
    assert seen == {"accepted", "relaxed", "outrun", "rejected"}


def test_the_curve_is_level_up_to_its_knee_and_falls_from_there() -> None:
    for reading in rounds():
        for entropy, height in columns(figure(reading))["threshold"]:
            expected = 0.2 if entropy <= log(0.6 / 0.2) else 0.6 * exp(-entropy)
            assert height == pytest.approx(log10(expected), abs=1e-9)


def test_the_sheet_s_thresholds() -> None:
    extra = TypicalExtras(epsilon=0.09, delta=0.3, entropy=[], passed=[])
    for size, expected in ((4, 0.075), (100, 0.003)):
        assert threshold(extra, log(size)) == pytest.approx(expected, abs=1e-12)
    assert threshold(extra, 0.3251) == threshold(extra, 1.0297) == 0.09


def test_it_says_that_it_is_lossy_and_what_the_exact_rule_would_have_let_go() -> None:
    for reading in rounds():
        picture = typical.draw(reading)
        assert picture is not None
        assert picture["section"]["note"].startswith("Lossy")
        notes = cast(list[dict[str, object]], figure(reading)["layout"]["annotations"])
        assert any(note["text"] == "lossy" for note in notes)
        relaxed = reading.round.nodes.state.count("relaxed")
        foot = picture["section"]["foot"]
        assert (f"would have let {relaxed} go" in foot) == (relaxed > 0)


def test_the_rule_in_words_compares_p_with_the_threshold_and_never_with_q() -> None:
    seen: set[str] = set()
    for reading in rounds():
        for node, reason in enumerate(reading.round.nodes.reason):
            words = "".join(run["text"] for run in rule(reading, node))
            if reason in ("typical", "not_typical", "outrun"):
                seen.add(reason)
                assert "than the threshold" in words
                assert "The draft" not in words
                assert ("no more than" in words) == (reason == "not_typical")
            if reason == "typical":
                kept = reading.state(node) == "accepted"
                assert f"would have {'kept it' if kept else 'let it go'}" in words
    assert seen == {"typical", "not_typical", "outrun"}


def test_naive_membership_is_told_as_a_draw_of_the_target() -> None:
    seen: set[bool] = set()
    for reading in readings("mcsd", {"rule": "naive"}):
        for check in reading.round.checks:
            words = "".join(run["text"] for run in rule(reading, check.node))
            assert "The target draws a token of its own" in words
            assert words.startswith("Accepted." if check.passed else "Rejected.")
            seen.add(check.passed)
    assert seen == {True, False}


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_the_figure_and_token_text_is_no_markup(palette: dict[str, str]) -> None:
    words = dict(enumerate(HOSTILE[:SIZE]))
    for reading in readings("typical_acceptance", SETTINGS, words=words):
        drawn = go.Figure(painted(figure(reading), palette))
        labels = next(trace for trace in drawn.data if trace.name == "labels")
        assert all("<" not in text and "$" not in text for text in labels.text or ())


def test_other_rounds_have_no_such_picture() -> None:
    for index in range(len(samples.tree().rounds)):
        assert typical.draw(read(samples.tree(), index)) is None
    for reading in readings("typical_acceptance", SETTINGS, temperature=0.0):
        assert typical.draw(reading) is None
