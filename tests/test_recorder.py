"""The recorder: from the little that a foreign loop knows to a trace that holds together."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.recorder
from core import metrics
from core.recorder import Recorder
from core.trace import Law, ModelCard
from core.trace_io import dumps, loads
from core.validate import TraceError, validate

WORDS = {i: f" w{i}".encode() for i in range(10)}


def clock() -> datetime:
    return datetime(2025, 1, 31, 12, tzinfo=UTC)


def recorder(temperature: float = 1.0, plain_step_ms: float | None = None) -> Recorder:
    return Recorder(
        method="my drafter",
        prompt_ids=[1, 2],
        vocabulary=WORDS,
        temperature=temperature,
        lossless=True,
        plain_step_ms=plain_step_ms,
        clock=clock,
    )


class Tensor:
    """Stands for an array of any library."""

    def __init__(self, data: object) -> None:
        self.data = data

    def tolist(self) -> object:
        return self.data


def test_the_example_in_the_documentation_runs() -> None:
    failed, tried = doctest.testmod(core.recorder)
    assert (failed, tried > 4) == (0, True)


def test_a_round_needs_only_what_was_drafted_accepted_and_emitted() -> None:
    own = recorder()
    own.round(final=3)
    own.round(draft=[4, 5, 6], accepted=1, final=7)
    trace = own.finish()
    prompt, r = trace.rounds
    assert (prompt.outcome.origin, prompt.prefix_length, prompt.nodes.token) == ("plain", 2, [2])
    assert (r.outcome.origin, r.prefix_length, r.nodes.token) == ("correction", 3, [3, 4, 5, 6])
    assert r.nodes.state == ["root", "accepted", "rejected", "unreached"]
    assert r.nodes.reason == ["", "", "", "parent_rejected"]
    assert r.outcome.emitted == [4, 7]
    assert r.checks == []
    assert r.nodes.p == r.nodes.q == [None] * 4
    assert trace.text == " w3 w4 w7"
    assert (trace.totals.tested, trace.totals.accepted, trace.totals.drafted) == (2, 1, 3)
    assert metrics.acceptance_rate(trace).value == 0.5


def test_a_draft_that_stood_ends_with_a_bonus() -> None:
    own = recorder()
    own.round(draft=[4, 5], accepted=2, final=7)
    assert own.finish().rounds[0].outcome.origin == "bonus"


def test_a_text_that_ends_inside_the_draft_has_no_final_token() -> None:
    own = recorder()
    own.round(draft=[4, 5, 6], accepted=1)
    r = own.finish(reason="eos").rounds[0]
    assert (r.outcome.origin, r.outcome.final_token, r.outcome.emitted) == ("none", None, [4])
    assert r.nodes.state == ["root", "accepted", "unreached", "unreached"]
    assert r.nodes.reason[2:] == ["text_ended", "parent_unreached"]


def test_checks_are_derived_from_p_q_and_u() -> None:
    own = recorder()
    own.round(draft=[4, 5], p=[0.9, 0.2], q=[0.5, 0.8], u=[0.3, 0.6], accepted=1, final=7)
    kept, missed = own.finish().rounds[0].checks
    assert (kept.accept_probability, kept.u, kept.passed) == (1, 0.3, True)
    assert (missed.accept_probability, missed.u, missed.passed) == (0.25, 0.6, False)
    assert (missed.p, missed.q, missed.mass_before) == (0.2, 0.8, 1)


@pytest.mark.parametrize(("temperature", "raw"), [(1.0, 0.25), (0.5, None)])
def test_at_temperature_one_the_law_in_use_is_the_raw_one(
    temperature: float, raw: float | None
) -> None:
    own = recorder(temperature)
    own.round(draft=[4], p=[0.25], q=[0.25], accepted=0, final=7)
    nodes = own.finish().rounds[0].nodes
    assert nodes.p_raw == nodes.q_raw == [None, raw]


def test_a_fixed_draft_is_held_to_p() -> None:
    own = recorder()
    own.round(draft=[4], p=[0.25], u=[0.1], accepted=1, final=7)
    r = own.finish().rounds[0]
    assert r.checks[0].accept_probability == 0.25
    assert r.nodes.reason == ["", "u<p"]


def test_greedy_tests_need_no_numbers() -> None:
    own = recorder(temperature=0)
    own.round(draft=[4, 5], accepted=1, final=7)
    r = own.finish().rounds[0]
    assert [(c.accept_probability, c.passed) for c in r.checks] == [(1, True), (0, False)]
    assert r.nodes.reason == ["", "argmax", "not_argmax"]


def test_a_tree_tries_siblings_in_order() -> None:
    own = recorder()
    own.round(draft=[4, 5, 6, 7, 8, 9], parents=[0, 0, 0, 2, 2, 1], accepted=[2], final=3)
    r = own.finish().rounds[0]
    assert r.nodes.state[1:] == [
        "rejected",
        "accepted",
        "unreached",
        "rejected",
        "rejected",
        "unreached",
    ]
    assert r.nodes.reason[3] == "sibling_accepted"
    assert r.nodes.rank == [0, 0, 1, 2, 0, 1, 0]
    assert (r.drafted, r.max_depth, r.outcome.emitted) == (6, 2, [5, 3])


def test_later_siblings_need_their_own_accept_probability() -> None:
    def checks(**numbers: list[float]) -> int:
        own = recorder()
        own.round(draft=[4, 5], parents=[0, 0], accepted=[2], final=3, u=[0.5, 0.5], **numbers)
        return len(own.finish().rounds[0].checks)

    assert checks(p=[0.1, 0.2], q=[0.4, 0.3]) == 0
    assert checks(accept=[0.25, 0.8]) == 2


def test_relaxed_tokens_are_marked_and_held_to_the_given_probability() -> None:
    own = recorder()
    own.round(draft=[4, 5], accepted=2, relaxed=[2], final=3, accept=[0.9, 1.0], u=[0.1, 0.5])
    r = own.finish().rounds[0]
    assert r.nodes.state == ["root", "accepted", "relaxed"]
    assert r.checks[1].accept_probability == 1


def test_the_exact_rule_does_not_judge_relaxed_tokens() -> None:
    own = recorder()
    own.round(draft=[4], accepted=1, relaxed=[1], final=3, p=[0.1], q=[0.9], u=[0.5])
    assert own.finish().rounds[0].checks == []


def test_a_quotient_that_misses_u_by_rounding_gives_the_verdict_that_was_reached() -> None:
    u = 0.25
    for accepted, p in ((1, 0.25 - 1e-7), (0, 0.25 + 1e-7)):
        own = recorder()
        own.round(draft=[4], p=[p], q=[1.0], u=[u], accepted=accepted, final=3)
        check = own.finish().rounds[0].checks[0]
        assert check.passed == (check.u < check.accept_probability) == bool(accepted)
        assert abs(check.accept_probability - u) < 1e-12


def test_sequences_grow_side_by_side() -> None:
    own = recorder()
    own.round(final=3)
    own.round(final=4, sequence=1)
    own.round(draft=[5], accepted=1, final=6)
    own.round(draft=[7], accepted=0, final=8, sequence=1)
    trace = own.finish()
    assert trace.sequences == 2
    assert [r.prefix_length for r in trace.rounds] == [2, 2, 3, 3]
    assert [r.nodes.token[0] for r in trace.rounds] == [2, 2, 3, 4]


def test_laws_bring_their_tokens_into_the_vocabulary() -> None:
    own = recorder()
    law = Law(node=0, token=[8, 9], p=[0.5, 0.25], p_raw=[0.5, 0.25], p_rest=0.25, p_raw_rest=0.25)
    own.round(final=3, laws=[law])
    trace = own.finish()
    assert trace.rounds[0].laws == [law]
    assert set(trace.vocabulary) == {1, 2, 3, 8, 9}


def test_times_lead_to_a_speedup() -> None:
    own = recorder(plain_step_ms=20)
    own.round(final=3, verify_ms=40)
    own.round(
        draft=[4], accepted=1, final=5, draft_ms=4, verify_ms=15, accept_ms=1, draft_forwards=1
    )
    trace = own.finish()
    assert metrics.speedup(trace).value == 2
    assert (trace.totals.draft_forwards, trace.totals.target_forwards) == (1, 2)


def test_models_may_be_names_or_cards() -> None:
    card = ModelCard(
        id="a", dtype="f", device="d", parameters=5, layers=1, vocabulary_size=10, context=9
    )
    own = Recorder(
        method="m", prompt_ids=[1], vocabulary=WORDS, temperature=0, lossless=False,
        target=card, draft="small one",
    )  # fmt: skip
    models = own.finish().models
    assert models.target == card
    assert models.draft is not None
    assert models.draft.id == "small one"


@pytest.mark.parametrize(
    "vocabulary",
    [WORDS, WORDS.__getitem__, {i: w.decode() for i, w in WORDS.items()}, lambda i: f" w{i}"],
)
def test_the_vocabulary_may_be_a_lookup_or_a_function_of_bytes_or_text(
    vocabulary: core.recorder.Vocabulary,
) -> None:
    own = Recorder(method="m", prompt_ids=[1], vocabulary=vocabulary, temperature=0, lossless=True)
    own.round(final=3)
    assert own.finish().vocabulary == {1: b" w1", 3: b" w3"}


def test_a_character_split_over_tokens_is_mended_in_the_text() -> None:
    parts = {0: b"\xe2\x98", 1: b"\x83"}
    own = Recorder(method="m", prompt_ids=[0, 1], vocabulary=parts, temperature=0, lossless=True)
    own.round(draft=[1], accepted=1, final=0)
    own.round(final=1)
    trace = own.finish()
    assert trace.prompt.text == "☃"
    assert trace.text == "\ufffd☃"


def test_arrays_of_any_library_are_taken() -> None:
    own = recorder()
    own.round(final=Tensor(3))
    own.round(
        draft=Tensor([4, 5]), accepted=Tensor(1), final=Tensor(7), p=Tensor([0.9, 0.2]),
        q=[Tensor(0.5), Tensor(0.8)], u=(0.3, 0.6),
    )  # fmt: skip
    own.round(draft=Tensor([4, 5]), parents=Tensor([0, 0]), accepted=Tensor([2]), final=3)
    plain = recorder()
    plain.round(final=3)
    plain.round(draft=[4, 5], accepted=1, final=7, p=[0.9, 0.2], q=[0.5, 0.8], u=[0.3, 0.6])
    plain.round(draft=[4, 5], parents=[0, 0], accepted=[2], final=3)
    assert own.finish() == plain.finish()


def test_recording_goes_on_after_a_look() -> None:
    own = recorder()
    own.round(final=3)
    early = own.finish(reason="cancelled")
    own.round(final=4)
    assert (early.text, own.finish().text) == (" w3", " w3 w4")


def test_text_title_and_message_can_be_given() -> None:
    trace = recorder().finish(reason="error", text="x", message="It broke.", title="t")
    assert (trace.text, trace.finish_reason, trace.message, trace.title) == (
        "x",
        "error",
        "It broke.",
        "t",
    )


@given(st.integers(0, 2**32))
def test_whatever_is_recorded_is_valid_and_keeps_what_was_given(seed: int) -> None:
    random = Random(seed)
    own = recorder(temperature=random.choice([0.0, 1.0]))
    emitted: list[int] = []
    for _ in range(random.randint(0, 5)):
        emitted += _random_round(own, random)
    trace = own.finish()
    validate(trace)
    assert loads(dumps(trace)) == trace
    assert [t for r in trace.rounds for t in r.outcome.emitted] == emitted


def _random_round(own: Recorder, random: Random) -> list[int]:
    count = random.randint(0, 6)
    draft = [random.randrange(10) for _ in range(count)]
    parents = [random.randint(0, node) for node in range(count)]
    path: list[int] = []
    while random.random() < 0.7:
        tip = path[-1] if path else 0
        below = [i + 1 for i, parent in enumerate(parents) if parent == tip]
        if not below:
            break
        path.append(random.choice(below))
    final = random.choice([None, random.randrange(10)])
    own.round(
        draft,
        parents=parents,
        accepted=path,
        final=final,
        q=[random.choice([None, random.random()]) for _ in draft],
        p_raw=[random.random() for _ in draft],
        relaxed=[node for node in path if random.random() < 0.2],
        verify_ms=random.random(),
    )
    return [draft[node - 1] for node in path] + ([] if final is None else [final])


WRONG: list[tuple[dict[str, object], str]] = [
    ({"draft": "abc"}, "draft is 'abc'; it must be a flat list"),
    ({"draft": 4}, "draft is 4; it must be a flat list"),
    ({"draft": [[4, 5]]}, r"draft\[0\] is \[4, 5\]; it must be a whole number"),
    ({"draft": [4.0]}, r"draft\[0\] is 4.0; it must be a whole number"),
    ({"draft": [True]}, r"draft\[0\] is True"),
    ({"draft": [-4]}, r"draft\[0\] is -4"),
    ({"draft": [99]}, "token 99 is missing"),
    ({"final": 99}, "token 99 is missing"),
    ({"final": "x"}, "final is 'x'"),
    ({"final": None, "accepted": 3}, "accepted is 3, but 2 tokens were drafted"),
    ({"accepted": -1}, "accepted is -1"),
    ({"accepted": [2]}, "accepted goes from node 0 to 2, but 2 is no child of 0"),
    ({"accepted": [7]}, "accepted goes from node 0 to 7"),
    ({"accepted": 1, "parents": [0, 0]}, "the draft is no chain"),
    ({"parents": [0]}, "parents has 1 entries for 2 draft tokens"),
    ({"parents": [0, 2]}, "draft token 2 has parent 2"),
    ({"p": [0.5]}, "p has 1 entries for 2 draft tokens"),
    ({"p": [0.5, 1.5]}, r"p\[1\] is 1.5; it must be a number from 0 to 1"),
    ({"p": [0.5, float("nan")]}, r"p\[1\] is nan"),
    ({"q": [0.5, "x"]}, r"q\[1\] is 'x'"),
    (
        {"u": [0.9, None], "accept": [0.1, None], "accepted": 1, "final": None},
        "accepted, but u is 0.9",
    ),
    (
        {"u": [0.1, None], "p": [0.9, None], "q": [0.3, None], "accepted": 0},
        "rejected, but u is 0.1",
    ),
    ({"q": [0.0, None], "p": [0.5, None], "u": [0.1, None]}, "q of draft token 1 is 0"),
    ({"relaxed": [2], "accepted": 1}, "relaxed names a node that was not accepted"),
    ({"draft_ms": -1}, "draft_ms is -1"),
    ({"verify_ms": float("inf")}, "verify_ms is inf"),
    ({"target_forwards": 1.5}, "target_forwards is 1.5"),
    ({"sequence": -1}, "sequence is -1"),
]


@pytest.mark.parametrize(("wrong", "part"), WRONG)
def test_wrong_arguments_are_named_and_leave_the_record_as_it_was(
    wrong: dict[str, object], part: str
) -> None:
    own = recorder()
    own.round(final=3)
    before = own.finish()
    with pytest.raises(TraceError, match=part) as caught:
        own.round(**({"draft": [4, 5], "final": 6} | wrong))
    assert str(caught.value).startswith("Round 1, ")
    assert str(caught.value).endswith(".")
    assert own.finish() == before


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"prompt_ids": []}, "at least one token"),
        ({"prompt_ids": [99]}, "token 99 is missing"),
        ({"vocabulary": lambda _: 7}, "neither bytes nor a string"),
        ({"temperature": -1}, "temperature is -1"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"top_k": -1}, "top_k is -1"),
        ({"plain_step_ms": "x"}, "plain_step_ms is 'x'"),
    ],
)
def test_wrong_beginnings_are_named(wrong: dict[str, object], part: str) -> None:
    right: dict[str, object] = {
        "method": "m", "prompt_ids": [1], "vocabulary": WORDS, "temperature": 0, "lossless": True,
    }  # fmt: skip
    with pytest.raises(TraceError, match=part):
        Recorder(**(right | wrong))


def test_reasons_to_end_are_listed() -> None:
    with pytest.raises(
        TraceError, match="allowed are length, eos, stop, context, cancelled, error"
    ):
        recorder().finish(reason="tired")


def test_an_error_has_a_message() -> None:
    with pytest.raises(TraceError, match="what went wrong"):
        recorder().finish(reason="error")
