"""The loop: what it asks of its parts, what it writes, and that nothing but the target decides the
text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import core.decode
from core.decode import Decoder, State, decode, start, step
from core.dice import SeededDice
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.registry import Method, Models, methods
from core.trace import Round
from core.verify.base import Context, Outcome
from core.verify.rejection import RecursiveRejection
from tests.scripted import Script, Scripted, greedy, oracle, wrong
from tests.tiny import tiny, wrapped
from tests.tiny_heads import tiny_heads
from tests.toy_heads import toy_counts, toy_heads
from tests.toys import WORLDS

SIZE = 5
TABLE = hashed(SIZE, 21, 3.0)
PROMPT = [0, 1, 2, 0, 1]
METHODS = list(methods().values())
GREEDY = Law(0)


def begun(
    script: Script,
    new: int = 20,
    law: Law = GREEDY,
    context: int = 64,
    prompt: Sequence[int] = PROMPT,
) -> tuple[State, Scripted]:
    drafter = Scripted(script)
    target = ToyModel(TABLE, SIZE, context)
    return start(prompt, target, Decoder(drafter, RecursiveRejection()), law, new), drafter


def run(state: State, seed: int = 0) -> list[Round]:
    return list(decode(state, SeededDice(seed), lambda: 0.0))


def written(state: State) -> list[int]:
    return state.tokens[state.prompt_length :]


def with_method(
    method: Method, new: int, law: Law = GREEDY, context: int = 64, prompt: Sequence[int] = PROMPT
) -> State:
    target, draft = ToyModel(TABLE, SIZE, context), ToyModel(hashed(SIZE, 22, 3.0), SIZE, context)
    models = Models(target, draft, heads=toy_heads(SIZE), counts=toy_counts(SIZE))
    decoder = method.build(method.toy, models)
    return start(prompt, target, decoder, law, new)


def adversaries() -> dict[str, Script]:
    chance = random.Random(0)
    return {
        "nothing": lambda text, limit: [],
        "random tokens": lambda text, limit: [chance.randrange(SIZE) for _ in range(min(6, limit))],
        "one token for ever": lambda text, limit: [3] * limit,
        "always wrong": wrong(TABLE, SIZE, 4),
        "always right": oracle(TABLE, 6),
        "right, then wrong": lambda text, limit: [*greedy(TABLE, text, 2), 0, 0, 0][:limit],
        "its own text": lambda text, limit: list(text)[:limit],
    }


@pytest.mark.parametrize("name", adversaries())
def test_no_drafter_changes_a_greedy_text(name: str) -> None:
    state, _ = begun(adversaries()[name], 30)
    rounds = run(state)
    assert written(state) == greedy(TABLE, PROMPT, 30)
    accepted = sum(len(made.outcome.accepted) for made in rounds)
    assert (accepted == 0) if name in ("nothing", "always wrong") else accepted > 0


@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_every_lossless_method_writes_the_target_s_greedy_text(method: Method) -> None:
    state = with_method(method, 30)
    run(state)
    assert not method.lossless or written(state) == greedy(TABLE, PROMPT, 30)


@pytest.mark.parametrize("law", [GREEDY, Law(0.8), Law(1, top_k=3)])
@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_one_seed_is_one_text_and_one_record(method: Method, law: Law) -> None:
    first, second = with_method(method, 25, law), with_method(method, 25, law)
    assert run(first, seed=4) == run(second, seed=4)
    assert first.tokens == second.tokens
    texts = set()
    for seed in range(6):
        state = with_method(method, 25, law)
        run(state, seed)
        texts.add(tuple(state.tokens))
    if method.lossless:
        assert (len(texts) == 1) == law.is_greedy


@pytest.mark.parametrize("new", range(1, 13))
@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_exactly_as_many_tokens_are_written_as_were_asked_for(method: Method, new: int) -> None:
    state = with_method(method, new, Law(1))
    rounds = run(state)
    assert len(written(state)) == new
    assert state.finished == "length"
    assert [token for made in rounds for token in made.outcome.emitted] == written(state)


def test_one_new_token_is_the_prompt_pass_alone() -> None:
    state, drafter = begun(oracle(TABLE, 4), new=1)
    (made,) = run(state)
    assert (made.drafted, made.outcome.origin, len(made.outcome.emitted)) == (0, "plain", 1)
    assert drafter.limits == []


@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
@pytest.mark.parametrize("context", [6, 9, 16])
def test_a_full_context_ends_the_text_and_is_named_as_the_reason(
    method: Method, context: int
) -> None:
    state = with_method(method, 50, Law(1), context)
    run(state)
    assert len(state.tokens) == context
    assert state.finished == "context"


def test_where_both_limits_fall_together_the_length_is_the_reason() -> None:
    state, _ = begun(oracle(TABLE, 4), new=7, context=len(PROMPT) + 7)
    run(state)
    assert (state.finished, len(state.tokens)) == ("length", len(PROMPT) + 7)


def test_a_prompt_that_fills_the_context_leaves_nothing_to_write() -> None:
    state, _ = begun(oracle(TABLE, 4), context=len(PROMPT))
    assert run(state) == []
    assert (state.finished, state.tokens) == ("context", PROMPT)


def test_prompts_that_cannot_be_continued_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="The prompt is empty: at least one token is needed"):
        begun(oracle(TABLE, 4), prompt=[])
    with pytest.raises(ValueError, match="has 5 tokens; the model's context holds 4: shorten it"):
        begun(oracle(TABLE, 4), context=4)


def test_a_prompt_of_one_token_is_enough() -> None:
    state, _ = begun(oracle(TABLE, 4), new=9, prompt=[2])
    run(state)
    assert written(state) == greedy(TABLE, [2], 9)


@pytest.mark.parametrize("law", [GREEDY, Law(1), Law(0.5, 3, 0.5)])
@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_a_vocabulary_of_one_token_is_written_out(method: Method, law: Law) -> None:
    model = ToyModel(lambda _: [1.0], 1)
    models = Models(model, model, heads=toy_heads(1), counts=toy_counts(1))
    state = start([0], model, method.build(method.toy, models), law, 9)
    run(state)
    assert written(state) == [0] * 9


def test_drafters_are_asked_for_no_more_than_leaves_room_for_the_target_s_token() -> None:
    state, drafter = begun(oracle(TABLE, 3), new=10)
    rounds = run(state)
    assert drafter.limits == [8, 4]
    assert [len(made.outcome.emitted) for made in rounds] == [1, 4, 4, 1]
    assert rounds[-1].stop is not None
    assert rounds[-1].stop.reason == "room"


def test_a_drafter_that_offers_too_much_is_cut_at_the_length_asked_for() -> None:
    state, _ = begun(lambda text, limit: greedy(TABLE, text, 12), new=6)
    rounds = run(state)
    assert written(state) == greedy(TABLE, PROMPT, 6)
    assert (rounds[-1].outcome.origin, len(rounds[-1].outcome.accepted)) == ("none", 5)
    assert rounds[-1].outcome.final_token is None


def test_feedback_tells_what_was_offered_decided_and_written() -> None:
    state, drafter = begun(
        lambda text, limit: [*greedy(TABLE, text, 1), 0, 1][:limit], new=12, law=Law(1)
    )
    rounds = run(state)
    assert drafter.began == [tuple(PROMPT)]
    assert len(drafter.heard) == len(rounds)
    assert len(drafter.heard[0].draft.tree) == 1
    text = list(PROMPT)
    for feedback, made in zip(drafter.heard, rounds, strict=True):
        assert (
            list(feedback.committed)
            == made.outcome.emitted
            == feedback.outcome.tokens(feedback.draft)
        )
        assert feedback.draft.tree.tokens[0] == text[-1]
        assert feedback.scores.logits.shape == (len(feedback.draft.tree), SIZE)
        assert made.prefix_length == len(text)
        text += feedback.committed
    assert text == state.tokens


def test_taps_that_a_drafter_asks_for_come_with_the_prompt_pass_and_every_round() -> None:
    drafter = Scripted(lambda text, limit: [1, 2][:limit], taps=(0, 2))
    state = start(
        [1, 2, 3], wrapped(tiny("llama")), Decoder(drafter, RecursiveRejection()), Law(1), 8
    )
    run(state)
    first, *others = drafter.heard
    assert {tap: len(rows) for tap, rows in first.scores.features.items()} == {0: 3, 2: 3}
    for feedback in others:
        assert {len(rows) for rows in feedback.scores.features.values()} == {
            len(feedback.draft.tree)
        }


@pytest.mark.parametrize("law", [GREEDY, Law(1)])
@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_measuring_plain_steps_never_changes_the_text(
    method: Method, law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcome() -> tuple[list[int], list[object]]:
        target = wrapped(tiny("llama"))
        second = wrapped(tiny("llama", layers=1, seed=1))
        models = Models(target, second, heads=tiny_heads(target), counts=toy_counts(23))
        decoder = method.build(method.toy, models)
        state = start(PROMPT, target, decoder, law, 16)
        rounds = run(state)
        measured.append(sum(made.cost.plain_step_ms is not None for made in rounds))
        return state.tokens, [made.outcome for made in rounds]

    measured: list[int] = []
    seldom = outcome()
    monkeypatch.setattr(core.decode, "_PLAIN_EVERY", 1)
    assert outcome() == seldom
    assert measured[1] > measured[0] or method.key == "plain"


def test_a_plain_step_is_measured_now_and_then_outside_the_round_s_own_time() -> None:
    def clock() -> float:
        ticks.append(len(ticks))
        return float(len(ticks))

    ticks: list[int] = []
    state, _ = begun(wrong(TABLE, SIZE, 1), new=150)
    target = ToyModel(TABLE, SIZE, 1000)
    state = start(PROMPT, target, state.decoder, GREEDY, 150)
    rounds = list(decode(state, SeededDice(0), clock))
    measured = [made.index for made in rounds if made.cost.plain_step_ms is not None]
    # the last round had no room for a draft: it was a plain step
    assert measured == [2, 6, 18, 64, 128, 149]
    assert all(made.cost.plain_step_ms == 1000 for made in rounds if made.index in measured)
    for made in rounds:
        cost = made.cost
        assert [cost.draft_ms, cost.verify_ms, cost.accept_ms, cost.record_ms] == [1000] * 4


class Counted:
    """A model that notes how many rows every forward computes."""

    def __init__(self, seed: int) -> None:
        self.rows: list[int] = []
        model = tiny.__wrapped__("llama", context=600, seed=seed)
        model.get_input_embeddings().register_forward_pre_hook(self._note)
        self.model = wrapped(model, 600)

    def _note(self, module: object, inputs: tuple[Tensor, ...]) -> None:
        self.rows.append(inputs[0].shape[1])


@pytest.mark.matrix
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_a_round_computes_its_own_rows_however_long_the_text(method: Method) -> None:
    target, second = Counted(0), Counted(1)
    heads = tiny_heads(target.model)
    models = Models(target.model, second.model, heads=heads, counts=toy_counts(23))
    decoder = method.build(method.toy, models)
    prompt = [place * 7 % 23 for place in range(400)]
    state = start(prompt, target.model, decoder, Law(1), 40)
    rounds = 0
    while state.finished is None:
        (made,) = step([state], SeededDice(1), lambda: 0.0)
        nodes, drafted = len(made.nodes.token), made.drafted
        read = len(prompt) - 1 if rounds == 0 else 0
        measured = made.cost.plain_step_ms is not None and nodes > 1
        assert sum(target.rows) == nodes + read + measured
        assert made.cost.target_tokens == nodes + read
        own_prompt = len(prompt) if rounds == 1 else 0
        assert sum(second.rows) <= own_prompt + (
            drafted and drafted + 1
        )  # and one token never scored
        target.rows.clear()
        second.rows.clear()
        rounds += 1
    assert rounds > 5


def test_two_sequences_step_together_each_with_chance_of_its_own() -> None:
    def fresh(sequence: int, new: int) -> State:
        state, _ = begun(oracle(TABLE, 2), new, Law(1))
        state.sequence = sequence
        return state

    dice = SeededDice(9)
    together = [fresh(0, 6), fresh(1, 15)]
    rounds: list[Round] = []
    while any(state.finished is None for state in together):
        rounds += step(together, dice, lambda: 0.0)
    for state in together:
        alone = fresh(state.sequence, state.max_new_tokens)
        expected = list(decode(alone, dice, lambda: 0.0))
        assert state.tokens == alone.tokens
        assert [made for made in rounds if made.sequence == state.sequence] == expected
    assert written(together[0]) != written(together[1])[:6]
    assert step(together, dice, lambda: 0.0) == []


def test_rounds_come_one_by_one_and_the_run_can_be_left_at_any_time() -> None:
    state, drafter = begun(oracle(TABLE, 2), 20)
    rounds: Iterator[Round] = decode(state, SeededDice(0), lambda: 0.0)
    assert drafter.heard == []
    made = next(rounds)
    assert len(drafter.heard) == 1
    assert state.finished is None
    assert written(state) == made.outcome.emitted


@given(
    path=st.integers(0, 5),
    has_final=st.booleans(),
    count=st.integers(0, 8),
    seed=st.integers(0, 50),
)
def test_a_cut_outcome_is_a_prefix_with_the_checks_that_led_to_it(
    path: int, has_final: bool, count: int, seed: int
) -> None:
    toy = WORLDS["different laws"](3)
    target, _ = toy.models()
    drafter = Scripted(lambda text, limit: greedy(toy.target, text, path))
    decoder = Decoder(drafter, RecursiveRejection())
    state = start(toy.prompt, target, decoder, Law(0.7), 20)
    step([state, state], SeededDice(seed), lambda: 0.0)
    feedback = drafter.heard[-1]
    outcome = (
        feedback.outcome
        if has_final
        else Outcome(feedback.outcome.path, None, "none", feedback.outcome.checks)
    )
    cut = outcome.cut(count)
    assert cut.tokens(feedback.draft) == outcome.tokens(feedback.draft)[:count]
    assert cut.checks == outcome.checks[: len(cut.checks)]
    assert sum(check.passed for check in cut.checks) == len(cut.path)
    if len(cut.path) < len(outcome.path):
        assert all(check.passed for check in cut.checks[-1:])
        assert cut.final is None


def test_the_context_of_a_round_is_the_whole_text_and_its_root_the_last_token() -> None:
    assert Context((4, 5, 6), GREEDY).root == 6
