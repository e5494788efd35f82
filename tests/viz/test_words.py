"""The sentence on top, the end of the text, settings: from the run's own numbers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.trace import Stop, Trace
from tests import sample_traces as samples
from viz.overview import badge
from viz.round import round_view
from viz.sentence import plain
from viz.settings import settings, source
from viz.verdict import verdict_on
from viz.words import finish


def told(trace: Trace) -> str:
    return plain(verdict_on(trace))


def with_times(trace: Trace, draft_ms: float, verify_ms: float, plain_step_ms: float) -> Trace:
    """Set the time of every round after the prompt pass."""
    rounds = [
        r
        if not r.index
        else replace(r, cost=replace(r.cost, draft_ms=draft_ms, verify_ms=verify_ms, accept_ms=0.0))
        for r in trace.rounds
    ]
    return replace(trace, rounds=rounds, plain_step_ms=plain_step_ms)


def test_slower_runs_are_called_slower_with_the_reason() -> None:
    trace = samples.chain()
    passes, tokens = len(trace.rounds), sum(len(r.outcome.emitted) for r in trace.rounds)
    text = told(with_times(trace, 365.4, 129, 63))
    assert text.startswith(
        f"{tokens} tokens in {passes} target passes, {tokens / passes:.1f} each."
    )
    assert "Still slower than plain decoding, " in text
    assert text.endswith(": drafting a round costs as much as 5.8 plain steps.")
    checking = told(with_times(trace, 5, 300, 63))
    assert checking.endswith(": checking a round costs as much as 4.8 plain steps.")


def test_faster_and_even_runs_are_called_so() -> None:
    trace = samples.chain()
    won = sum(len(r.outcome.emitted) for r in trace.rounds[1:]) / len(trace.rounds[1:])
    assert "times as fast as plain decoding" in told(with_times(trace, 5, 66, 63))
    assert "As fast as plain decoding" in told(with_times(trace, 0, 63 * won, 63))


def test_rounds_that_were_held_up_are_told() -> None:
    trace = with_times(samples.chain(), 300, 100, 63)
    slow = replace(trace.rounds[3], cost=replace(trace.rounds[3].cost, draft_ms=9000.0))
    rounds = [*trace.rounds[:3], slow, *trace.rounds[4:]]
    text = told(replace(trace, rounds=rounds))
    assert text.endswith(
        ": drafting a round costs as much as 4.8 plain steps; 1 of 14 rounds took over 5 times the "
        "usual time."
    )


def test_times_compare_whole_runs_the_prompt_pass_in_both() -> None:
    trace = with_times(samples.chain(), 400, 100, 100)
    prompt = trace.rounds[0].cost
    shared = prompt.draft_ms + prompt.verify_ms + prompt.accept_ms
    spent = shared + 500 * (len(trace.rounds) - 1)
    won = sum(len(r.outcome.emitted) for r in trace.rounds[1:])
    assert f"{spent / 1000:.1f} s against {(shared + 100 * won) / 1000:.1f} s" in told(trace)


def test_nothing_is_invented() -> None:
    assert "no plain step was timed" in told(samples.untimed())
    assert "plain decoding: " in told(samples.plain())
    assert told(samples.empty()) == "No tokens yet."


def test_finish_sentences() -> None:
    assert finish(samples.cancelled()) == "Cancelled in round 6. The 20 tokens of 5 rounds stay."
    assert finish(samples.failed()) == "The model ran out of memory."
    assert finish(samples.empty()) == "Cancelled before the first token."
    assert finish(replace(samples.chain(), finish_reason="eos")) == "The model ended the text."
    context = finish(replace(samples.chain(), finish_reason="context"))
    assert context == "Stopped: the model holds 2,048 tokens."


def test_headlines_of_the_other_rounds() -> None:
    idle = samples.sometimes_idle()
    assert round_view(idle, 0)["headline"] == (
        "The prompt pass: 12 tokens read, 1 written by the target."
    )
    assert round_view(idle, 3)["headline"] == (
        "Nothing was drafted, 1 token written by the target."
    )
    ended = samples.with_replacement()
    assert ended.rounds[-1].outcome.origin == "none"
    assert round_view(ended, len(ended.rounds) - 1)["headline"].endswith(
        "; the text ends inside the draft."
    )


def test_badges() -> None:
    assert badge(samples.chain())["meaning"] == "Same law as plain sampling"
    assert badge(samples.greedy())["meaning"] == "Same text as greedy"
    lossy = badge(samples.relaxed())
    assert (lossy["lossless"], lossy["word"]) == (False, "Lossy")
    assert "stayed by the relaxed rule only" in lossy["meaning"]


def test_settings_are_short() -> None:
    found = {s["label"]: s["value"] for s in settings(samples.tree())}
    assert found["Tree"] == "3 · 2 · 2 · 1"
    assert (found["Dynamic"], found["Top-k"], found["Temperature"]) == ("off", "off", "0.7")


def test_source_says_what_drafted() -> None:
    assert source(samples.tree(), "Recorded example") == (
        "Recorded example · World-135M drafted by itself with layers 12 and 18 skipped · "
        "float32 on cpu"
    )
    assert "drafted by World-9M" in source(samples.chain())
    assert "drafts copied from the text" in source(samples.greedy_lookup())
    assert "nothing drafted" in source(samples.plain())


@pytest.mark.parametrize(
    ("reason", "value", "threshold", "words"),
    [
        ("confidence", 0.2, 0.5, "its confidence fell to .200, below .500"),
        ("entropy", 1.2, 0.3, "the drafter grew unsure: 1.20, above 0.30"),
        ("decision", 0.31, 0.4, "the decision model gave .310, not above .400"),
        ("gain", 0.14, 0.5, "a step added 0.14 to what it expected to win, not above 0.50"),
        ("below_threshold", 0.05, 0.0625, "the best open slot was worth .050, below .062"),
    ],
)
def test_a_number_that_ended_the_draft_is_told(
    reason: str, value: float, threshold: float, words: str
) -> None:
    trace = samples.tree()
    stop = Stop(reason=reason, value=value, threshold=threshold)
    rounds = [replace(r, stop=stop) for r in trace.rounds]
    view = round_view(replace(trace, rounds=rounds), 1)
    for note in (view["note"], view["list_note"]):
        assert note.endswith(f" Drafting stopped where {words}.")


@pytest.mark.parametrize("reason", ["length", "budget", "depth"])
def test_a_length_or_a_budget_says_nothing_of_the_draft(reason: str) -> None:
    trace = samples.tree()
    rounds = [replace(r, stop=Stop(reason=reason)) for r in trace.rounds]
    assert "stopped" not in round_view(replace(trace, rounds=rounds), 1)["note"]
