"""What the Lab says: numbers as text, exact and estimated told apart, verdicts in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import sample_traces
from tests.sample_traces import changed
from viz.lab.ladder import Selecting, Standard, bridge, ladder, no_ladder
from viz.lab.rounds import ROWS, Measured, Own, mistakes, rounds, verdict_words
from viz.lab.where import Apart, where
from viz.overview import badge
from viz.payload import Label
from viz.sentence import plain

DEFAULTS = Selecting(free=5, alphabet=40, weighted=False, of_run=False)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (DEFAULTS, "5 tokens free, 40 tokens planned for: more than the method has"),
        (Selecting(1, 0, False, True), "1 token free, all tokens planned for: the settings of"),
        (Selecting(5, 20, True, True), "20 tokens planned for, or as many as that many drafts"),
    ],
)
def test_the_selection_says_with_which_settings_it_was_computed(how: Selecting, words: str) -> None:
    found = ladder([{"independent/selection": (0.5, None)}], 1, how)
    (row,) = found["groups"][0]["rows"]
    assert words in row["definition"]
    assert ("in proportion to p/q" in row["definition"]) == how.weighted


@pytest.mark.parametrize(
    ("how", "tag"),
    [
        (Selecting(30, 0, False, False), "30 tokens free"),
        (Selecting(1, 40, False, True), "1 token free"),
        (Selecting(5, 20, True, True), ""),
    ],
)
def test_what_cuts_the_selection_short_stands_on_its_bar_and_on_no_other(
    how: Selecting, tag: str
) -> None:
    rung = {"independent/selection": (0.5, None), "independent/optimum": (0.6, None)}
    selection, optimum = ladder([rung], 1, how)["groups"][0]["rows"]
    assert (selection["tag"], optimum["tag"]) == (tag, "")
    is_cut = "below recursive rejection" in selection["definition"]
    assert is_cut == bool(tag)


def test_the_ladder_says_how_far_it_is_from_the_inspector() -> None:
    far = bridge(Standard(0.8717, 0.8345, "In bfloat16 a pass of another width rounds otherwise."))
    assert far.startswith("Standard is .872 here, and the inspector's overlap .835")
    assert far.endswith("In bfloat16 a pass of another width rounds otherwise.")
    assert bridge(Standard(0.8717, 0.8700, "Why.")) == ""
    assert bridge(Standard(0.8717, None, "Why.")) == ""
    assert ladder([{"one/standard": (0.5, None)}], 1, DEFAULTS, far)["bridge"] == far


def test_a_ladder_keeps_the_order_and_leaves_out_what_is_not_known() -> None:
    rungs = [
        {"one/standard": (0.5, None), "distinct/recursive": (0.61, 0.0004), "other": (1.0, None)},
        {"one/standard": (0.5, None), "distinct/recursive": (0.72, 0.002), "other": (1.0, None)},
    ]
    found = ladder(rungs, 9, DEFAULTS)
    assert [group["head"] for group in found["groups"]] == [
        "One draft",
        "Drawn without replacement",
    ]
    assert found["drafts"] == 2
    exact, estimate = (group["rows"][0] for group in found["groups"])
    assert [bar["text"] for bar in exact["bars"]] == [".500", ".500"]
    assert exact["bars"][0]["note"] == "exact"
    assert [bar["text"] for bar in estimate["bars"]] == ["≈ .610", "≈ .720"]
    assert [bar["note"] for bar in estimate["bars"]] == [
        "estimated, within <.001",
        "estimated, within .002",
    ]


def test_a_method_without_a_law_has_no_groups_and_says_why() -> None:
    found = no_ladder("Prompt lookup")
    assert found["groups"] == []
    assert found["missing"].startswith("Prompt lookup has no draft law")


def label(text: str) -> Label:
    return {"text": text, "space": True, "special": False, "breaks": 0}


def measured() -> Measured:
    cells: list[tuple[Label | None, float, list[float]]] = [
        (label(f"t{i}"), 0.05, [0.04, 0.05]) for i in range(15)
    ]
    cells[14] = (label("seen too often"), 0.05, [0.2, 0.3])
    cells += [(None, 0.25, [0.24, 0.0])]
    return Measured([100, 20_000], [0.1, 0.0123], [0.08, 0.006], [0.15, 0.011], "broken", 1, cells)


def test_the_histogram_shows_the_largest_and_all_others_as_one() -> None:
    found = rounds(measured(), 2, "greedy", 3, 1.0)
    assert len(found["rows"]) == ROWS + 1
    assert found["rows"][0]["label"] == label("seen too often")
    assert found["rows"][-1]["label"] is None
    assert sum(row["p"] for row in found["rows"]) == pytest.approx(1)
    assert found["apart_text"] == ".0123"
    assert (found["drafts"], found["mistake"], found["seed"]) == (2, "greedy", 3)


@pytest.mark.parametrize(
    ("verdict", "mistake", "words"),
    [
        ("kept", "none", "What these rounds write follows p: it lies .0123 from it."),
        ("kept", "greedy", "The mistake does not show at this node: .0123 from p."),
        ("unsure", "none", "Hard to say: .0123 from p"),
        ("broken", "greedy", "What these rounds write does not follow p: it lies .0123 from it."),
    ],
)
def test_verdicts_are_sentences(verdict: str, mistake: str, words: str) -> None:
    assert verdict in ("kept", "unsure", "broken")
    assert verdict_words(replace(measured(), verdict=verdict), mistake).startswith(words)


def test_rounds_of_a_lossy_run_say_that_they_follow_another_rule() -> None:
    trace = sample_traces.tree()
    lossy = changed(trace, lossless=False, method_name="Medusa, typical")
    own = rounds(measured(), 2, "none", 0, 1.0, Own(lossy.method_name, badge(lossy)))["own"]
    assert own is not None
    assert own["badge"]["word"] == "Lossy"
    assert own["words"].startswith("Medusa, typical, which made this run, has a rule of its own")
    assert "these rounds are of recursive rejection" in own["words"]
    assert rounds(measured(), 2, "none", 0, 1.0)["own"] is None


@pytest.mark.parametrize("drafts", [1, 2, 8])
def test_a_mistake_that_draws_two_says_so_whatever_was_asked_for(drafts: int) -> None:
    always = {each["key"]: each["always"] for each in mistakes(1.0)}
    assert always.pop("likeliest") == 2
    assert {*always.values()} == {None}
    assert rounds(measured(), drafts, "likeliest", 0, 1.0)["drafts"] == 2
    assert rounds(measured(), drafts, "none", 0, 1.0)["drafts"] == drafts


def test_a_mistake_names_the_temperature_that_it_forgets() -> None:
    def told(temperature: float) -> str:
        return next(m for m in mistakes(temperature) if m["key"] == "one_side")["definition"]

    assert "at 0.8." in told(0.8)
    assert "by .7 once more" in told(1.0)


def test_where_it_looks_and_how_far_it_is_from_the_record() -> None:
    trace = sample_traces.tree()
    card = trace.models.target
    close = where(trace, 1, 0, card, Apart(20, 0.0004))
    assert plain(close["head"]).endswith("in round 1")
    assert "within .0004 of the 20 recorded" in close["note"]
    assert not close["warns"]
    none = where(trace, 1, 0, card, None)
    assert "kept no law" in none["note"]
    far = where(trace, 1, 0, card, Apart(20, 0.3))
    assert "up to .3000 from the 20 recorded" in far["note"]
    assert far["warns"]
