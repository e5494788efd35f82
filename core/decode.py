"""One loop for every method: draft, score, verify, commit, record.

`step` runs one round of each sequence, `decode` is a generator of rounds. Methods differ only in
the two parts that they bring: a drafter and a verifier. The loop knows no tokenizer, no file, and
no clock but the one it is given. Round 0 is the prompt pass: nothing is drafted, and its law gives
the first token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import structs

from core.dice import Dice
from core.extras import Extras
from core.laws import Law
from core.models.base import LanguageModel, Scores, Session
from core.record import Recorded, record
from core.trace import Cost, FinishReason, Round
from core.trace import Outcome as OutcomeRecord
from core.tree import Draft, DraftTree
from core.verify.base import Context, Offer, Outcome, Table, Verifier, check_fit

Clock = Callable[[], float]  # seconds, monotonic

_PLAIN_ROUNDS = (2, 6, 18)  # rounds by which one more plain step is timed, if none happened anyway
_PLAIN_EVERY = 64  # rounds between two later ones


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a drafter learns after a round. Round 0 carries the prompt pass with an empty draft."""

    draft: Draft
    scores: Scores
    outcome: Outcome
    committed: Sequence[int]  # tokens that joined the text in this round
    table: Table  # laws of the target at every node, and what rejections left of them


class Drafter(Protocol):
    """Proposes tokens for one sequence."""

    @property
    def taps(self) -> Sequence[int]:
        """Return the layers of the target whose hidden states it wants with every score."""
        ...

    def offer(self, greedy: bool) -> Offer:
        """Return what kinds of draft may come, at temperature 0 (`greedy`) or above."""
        ...

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        """Start a sequence: open own sessions, or take a view of the target's."""
        ...

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        """Return a draft at most `limit` >= 1 deep."""
        ...

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        """Learn the outcome of the last round; return what its record keeps of what was learnt."""
        ...


class Recorder(Protocol):
    """Turns a decided round into what the trace keeps of its laws; only benchmarks replace the
    default.
    """

    def __call__(
        self,
        draft: Draft,
        scores: Scores,
        table: Table,
        outcome: Outcome,
        context: Context,
        eos: int | None,
        /,
    ) -> Recorded: ...


class Ending(Protocol):
    """Decides where the text ends, apart from its length."""

    def __call__(self, generated: Sequence[int], new: int) -> tuple[int, FinishReason] | None:
        """Return how many of the `generated` tokens remain and why, if one of the last `new` ends
        the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class Decoder:
    """What a method is: a drafter and a rule."""

    drafter: Drafter
    verifier: Verifier


@dataclass(slots=True)
class State:
    """One sequence under way."""

    tokens: list[int]
    prompt_length: int
    session: Session
    decoder: Decoder
    law: Law
    max_new_tokens: int
    ending: Ending | None = None
    eos: int | None = None
    sequence: int = 0
    rounds: int = 0
    finished: FinishReason | None = None
    recorder: Recorder = record
    plain_known: int = 0  # plain steps timed so far

    @property
    def room(self) -> int:
        """Tokens that may still be written."""
        written = len(self.tokens) - self.prompt_length
        return min(self.max_new_tokens - written, self.session.context - len(self.tokens))


def start(
    prompt: Sequence[int],
    target: LanguageModel,
    decoder: Decoder,
    law: Law,
    max_new_tokens: int,
    ending: Ending | None = None,
    eos: int | None = None,
    sequence: int = 0,
    recorder: Recorder = record,
) -> State:
    """Open one sequence. Raises ValueError for an empty prompt, one longer than the target's
    context, and a rule that the drafter's drafts do not fit.
    """
    check_fit(decoder.verifier, decoder.drafter.offer(law.is_greedy))
    if not prompt:
        raise ValueError("The prompt is empty: at least one token is needed to start from.")
    session = target.open(prompt[:-1])
    if len(prompt) > session.context:
        raise ValueError(
            f"The prompt has {len(prompt)} tokens; the model's context holds {session.context}: "
            "shorten it."
        )
    decoder.drafter.begin(prompt, session)
    return State(
        tokens=list(prompt),
        prompt_length=len(prompt),
        session=session,
        decoder=decoder,
        law=law,
        max_new_tokens=max_new_tokens,
        ending=ending,
        eos=eos,
        sequence=sequence,
        recorder=recorder,
    )


def decode(state: State, dice: Dice, clock: Clock) -> Iterator[Round]:
    """Yield the rounds of one sequence until it is finished; `state.finished` then says why."""
    while state.finished is None:
        yield from step([state], dice, clock)


def step(states: Sequence[State], dice: Dice, clock: Clock) -> list[Round]:
    """Run one round of every sequence that is not finished; return the rounds made."""
    for state in states:
        if state.finished is None and state.room < 1:
            state.finished = _why_full(state)
    return [
        _round(state, dice.at(state.sequence), clock) for state in states if state.finished is None
    ]


def _round(state: State, dice: Dice, clock: Clock) -> Round:
    context = Context(tuple(state.tokens), state.law, state.sequence)
    plain = _plain_step(state, clock)
    began = clock()
    draft = _draft(state, context, dice)
    drafted = clock()
    scores = state.session.score(draft.tree, 0, state.decoder.drafter.taps, draft.resume)
    table = state.decoder.verifier.prepare(draft, scores, context)
    verified = clock()
    outcome = _ended(state, draft, table.walk(dice, len(state.tokens)))
    committed = outcome.tokens(draft)
    path = (0, *outcome.path)
    if outcome.final is None and state.finished is None:
        path = path[:-1]  # the last one kept is scored again, as the next root
    state.session.keep(path)
    state.tokens += committed
    learnt = state.decoder.drafter.observe(Feedback(draft, scores, outcome, committed, table))
    accepted = clock()
    recorded = state.recorder(draft, scores, table, outcome, context, state.eos)
    extras, judge = [*draft.extras, *learnt, *table.extras(outcome)], table.judge(outcome)
    done = clock()
    times = [
        1000 * (b - a)
        for a, b in zip(
            (began, drafted, verified, accepted), (drafted, verified, accepted, done), strict=True
        )
    ]
    if len(draft.tree) == 1 and state.rounds:
        plain = times[1]
    state.plain_known += plain is not None
    made = _assemble(state, draft, scores, outcome, recorded, times, plain, len(context.tokens))
    state.rounds += 1
    return structs.replace(made, extras=extras, judge=judge)


def _draft(state: State, context: Context, dice: Dice) -> Draft:
    """Ask for a draft that leaves room for the target's own token."""
    if state.rounds == 0:
        return Draft.empty(context.root, "prompt")
    if state.room < 2:
        return Draft.empty(context.root, "room")
    return state.decoder.drafter.propose(context, state.room - 1, dice)


def _ended(state: State, draft: Draft, outcome: Outcome) -> Outcome:
    """Cut the outcome where the text ends, and note why."""
    written = state.tokens[state.prompt_length :]
    new = outcome.tokens(draft)[: state.room]
    outcome = outcome.cut(len(new))
    found = state.ending([*written, *new], len(new)) if state.ending else None
    if found is not None:
        remaining, state.finished = found
        return outcome.cut(remaining - len(written))
    if len(new) == state.room:
        state.finished = _why_full(state)
    return outcome


def _why_full(state: State) -> FinishReason:
    full = len(state.tokens) - state.prompt_length + state.room >= state.max_new_tokens
    return "length" if full else "context"


def _plain_step(state: State, clock: Clock) -> float | None:
    """Time one plain step now and then, outside the round's own times; its row is written over by
    the round.

    Soon and often enough for a middle value in a short run: a first pass of its kind can be slow.
    """
    due = sum(state.rounds >= first for first in _PLAIN_ROUNDS) + state.rounds // _PLAIN_EVERY
    if state.plain_known >= due:
        return None
    began = clock()
    scores = state.session.score(DraftTree.root(state.tokens[-1]))
    scores.logits[0, 0].item()
    return 1000 * (clock() - began)


def _assemble(
    state: State,
    draft: Draft,
    scores: Scores,
    outcome: Outcome,
    recorded: Recorded,
    times: Sequence[float],
    plain: float | None,
    prefix_length: int,
) -> Round:
    draft_ms, verify_ms, accept_ms, record_ms = (round(t, 3) for t in times)
    return Round(
        index=state.rounds,
        sequence=state.sequence,
        prefix_length=prefix_length,
        nodes=recorded.nodes,
        checks=list(outcome.checks),
        laws=recorded.laws,
        scalars=recorded.scalars,
        residuals=recorded.residuals,
        outcome=OutcomeRecord(
            accepted=list(outcome.path),
            final_token=outcome.final,
            origin=outcome.origin,
            emitted=outcome.tokens(draft),
            final_top=recorded.final_top,
        ),
        stop=draft.stop,
        drafted=draft.tree.drafted,
        max_depth=draft.tree.max_depth,
        cost=Cost(
            draft_forwards=draft.work.forwards,
            target_forwards=1,
            target_tokens=len(draft.tree) if state.rounds else prefix_length,
            sublayers_run=draft.work.sublayers + scores.ran,
            sublayers_reused=scores.reused,
            draft_ms=draft_ms,
            verify_ms=verify_ms,
            accept_ms=accept_ms,
            record_ms=record_ms,
            plain_step_ms=None if plain is None else round(plain, 3),
        ),
    )
