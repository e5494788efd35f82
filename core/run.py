"""From a request in words to a trace: encode the prompt, decode round by round, keep the record.

A `Run` can be read at any time: what was decoded so far is a valid trace, also after a cancel or an
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Protocol

import core
from core.decode import Clock, State, decode, start
from core.dice import Dice, SeededDice
from core.ending import Endings
from core.extras import tokens_of
from core.heads.base import Heads, no_heads
from core.heads.frequencies import Counts, no_counts
from core.laws import Law
from core.metrics import totals
from core.models.base import LanguageModel
from core.registry import Method, MethodConfig, Models
from core.trace import Environment, FinishReason, Message, Prompt, Round, Sampling, Trace
from core.trace import Models as ModelCards


class Text(Protocol):
    """What a run asks of a tokenizer."""

    @property
    def special(self) -> frozenset[int]: ...

    @property
    def ends(self) -> frozenset[int]:
        """Return the tokens that end a text."""
        ...

    def spell(self, token: int) -> bytes:
        """Return the exact bytes of a token."""
        ...

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """Return the ids of `prompt`, through the chat template where `chat`; raise ValueError if
        there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """Loaded models, ready to run: the text side, the target, and a second model where there is
    one.
    """

    text: Text
    target: LanguageModel
    environment: Environment
    draft: LanguageModel | None = None
    heads: Heads = no_heads
    counts: Counts = no_counts

    @property
    def models(self) -> Models:
        """Return what methods build on."""
        return Models(self.target, self.draft, self.text.ends, self.heads, self.counts)


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks for. `top_k` 0 and `top_p` 1: off. Raises ValueError with one sentence
    when out of range.
    """

    prompt: str
    method: Method
    config: Mapping[str, object] = field(default_factory=lambda: dict[str, object]())
    chat: bool = True
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 64
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"New tokens is {self.max_new_tokens}; it may be 1 or more.")
        if any(not string for string in self.stop):
            raise ValueError("A stop string is empty; give at least one character.")
        if not -(2**63) <= self.seed < 2**63:
            raise ValueError(f"Seed is {self.seed}; it may be a whole number of at most 63 bits.")
        _ = self.law  # raises where temperature, top-k or top-p is out of range

    @property
    def law(self) -> Law:
        return Law(self.temperature, self.top_k, self.top_p)


class Run:
    """One request under way. Iterate it for rounds; `trace()` is what there is so far."""

    def __init__(
        self,
        request: Request,
        engine: Engine,
        clock: Clock,
        created: str,
        dice: Callable[[int], Dice] = SeededDice,
    ) -> None:
        """Encode the prompt and open the sequence; raise ValueError with one sentence where
        something does not fit.
        """
        self.request = request
        self._engine = engine
        self._clock = clock
        self._created = created
        self._dice = dice(request.seed)
        self.config: MethodConfig = request.method.configure(request.config)
        law = request.law
        ids = engine.text.encode(request.prompt, request.chat)
        ends = engine.text.ends
        self._endings = Endings(ends, request.stop, engine.text.spell)
        decoder = request.method.build(request.config, engine.models)
        self._state: State = start(
            ids,
            engine.target,
            decoder,
            law,
            request.max_new_tokens,
            self._endings,
            min(ends, default=None),
        )
        self.prompt_ids: Sequence[int] = ids
        self.rounds: list[Round] = []
        self._spelled = {token: engine.text.spell(token) for token in ids}

    def __iter__(self) -> Iterator[Round]:
        for made in decode(self._state, self._dice, self._clock):
            self.rounds.append(made)
            for token in _tokens(made) - self._spelled.keys():
                self._spelled[token] = self._engine.text.spell(token)
            yield made

    @property
    def finished(self) -> FinishReason | None:
        return self._state.finished

    def trace(self, reason: FinishReason | None = None, message: str | None = None) -> Trace:
        """Return the record so far; `reason`: why it ends, where the run itself does not know."""
        request, engine, text = self.request, self._engine, self._engine.text
        rounds = list(self.rounds)
        generated = [token for r in rounds for token in r.outcome.emitted]
        drafts = request.method.drafts_with_second_model(self.config)
        words = b"".join(text.spell(t) for t in generated if t not in text.special)
        return Trace(
            created=self._created,
            draftscope_version=core.__version__,
            method=request.method.key,
            method_name=request.method.name,
            lossless=request.method.lossless,
            config=self.config.applied(),
            config_names=self.config.applied_names(),
            sampling=Sampling(
                temperature=request.temperature,
                top_k=request.top_k,
                top_p=request.top_p,
                seed=request.seed,
                max_new_tokens=request.max_new_tokens,
            ),
            models=ModelCards(
                target=engine.target.card,
                draft=engine.draft.card if engine.draft and drafts else None,
            ),
            environment=engine.environment,
            prompt=Prompt(
                text=request.prompt,
                messages=[Message(role="user", content=request.prompt)] if request.chat else None,
                token_ids=list(self.prompt_ids),
            ),
            vocabulary=dict(sorted(self._spelled.items())),
            special=sorted(text.special & self._spelled.keys()),
            rounds=rounds,
            text=self._endings.trimmed(words.decode(errors="replace")),
            finish_reason=reason or self._state.finished or "cancelled",
            message=message,
            totals=totals(rounds),
            plain_step_ms=_plain_step(rounds, 2 * engine.target.card.layers),
        )


def _tokens(made: Round) -> set[int]:
    """Return every token id that occurs anywhere in a round."""
    seen = {*made.nodes.token, *made.outcome.emitted, *tokens_of(made.extras)}
    for law in (*made.laws, *made.residuals):
        seen.update(law.token)
    if made.outcome.final_top is not None:
        seen.update(made.outcome.final_top.token)
    return seen


def _plain_step(rounds: Sequence[Round], sublayers: int) -> float | None:
    """Return the usual time of a plain step; a wider pass is never cheaper.

    A pass that took over some of the target's `sublayers` counts as if it had run them too.
    """
    times = [r.cost.plain_step_ms for r in rounds if r.cost.plain_step_ms is not None]
    if not times:
        return None
    wider = [
        r.cost.verify_ms * sublayers / (sublayers - r.cost.sublayers_reused)
        for r in rounds
        if r.drafted and r.cost.sublayers_reused < sublayers
    ]
    return round(min([median_low(times), *wider]), 3)
