"""Write a trace from your own decode loop: no decoder of ours, no torch, only what you know.

What is not given becomes None or empty in the trace; what follows from it (states, reasons, checks,
totals) is derived. Knows no model and no file: `core.trace_io.write` puts the result on disk.
"""

from __future__ import annotations

import platform
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import get_args

from msgspec.structs import replace

from core import __version__
from core.arguments import Array, Column, Numbers, number, plain, probabilities, tokens, whole
from core.derive import Known, Verdict, checks, reasons
from core.metrics import depths, totals
from core.trace import (
    Cost,
    Environment,
    FinishReason,
    Law,
    ModelCard,
    Models,
    Nodes,
    Outcome,
    Prompt,
    Round,
    Sampling,
    Scalars,
    Stop,
    Trace,
)
from core.validate import TraceError, validate, validate_round

Vocabulary = Mapping[int, bytes | str] | Callable[[int], bytes | str]


def _now() -> datetime:
    return datetime.now(UTC)


class Recorder:
    """Collect the rounds of one text: `round` after every verify call, `finish` for the trace.

    >>> words = {0: " the", 1: " cat", 2: " sat", 3: " ran"}
    >>> recorder = Recorder(
    ...     method="my drafter", prompt_ids=[0], vocabulary=words, temperature=1, lossless=True
    ... )
    >>> recorder.round(final=1, verify_ms=20)  # the prompt pass
    >>> recorder.round(
    ...     draft=[2, 0], q=[0.5, 0.8], p=[0.9, 0.2], u=[0.3, 0.6], accepted=1, final=3, verify_ms=9
    ... )
    >>> trace = recorder.finish(reason="length")
    >>> trace.text, trace.totals.accepted, trace.rounds[1].nodes.state
    (' cat sat ran', 1, ['root', 'accepted', 'rejected'])
    """

    def __init__(
        self,
        *,
        method: str,
        prompt_ids: Numbers,
        vocabulary: Vocabulary,
        temperature: float,
        lossless: bool,
        top_k: int = 0,
        top_p: float = 1.0,
        target: ModelCard | str = "unknown",
        draft: ModelCard | str | None = None,
        plain_step_ms: float | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """Begin a text.

        `method` is the name to show. `vocabulary` gives the exact bytes of a token id; a string is
        taken as UTF-8. `temperature`, `top_k` (0: off) and `top_p` (1: off) say which law is in
        use, `lossless` whether the text has the law of plain sampling. `plain_step_ms` is the time
        of one step without drafting. Raises TraceError for a wrong argument.
        """
        self._method, self._lossless, self._clock = method, lossless, clock
        self._spell = vocabulary if callable(vocabulary) else vocabulary.__getitem__
        self._prompt = tokens("prompt_ids", prompt_ids)
        if not self._prompt:
            raise TraceError("prompt_ids is empty; a prompt has at least one token.")
        self._sampling = Sampling(
            temperature=number("temperature", temperature),
            top_k=whole("top_k", top_k),
            top_p=number("top_p", top_p, high=1),
            seed=0,
            max_new_tokens=0,
        )
        self._is_raw = (temperature, top_k, top_p) == (1, 0, 1)  # the law in use is the raw one
        self._models = Models(target=_card(target), draft=None if draft is None else _card(draft))
        self._plain_step_ms = (
            None if plain_step_ms is None else number("plain_step_ms", plain_step_ms)
        )
        self._rounds: list[Round] = []
        self._texts: dict[int, list[int]] = {}  # by sequence, prompt included
        self._spelled = self._spellings(self._prompt)

    def round(
        self,
        draft: Numbers = (),
        *,
        parents: Numbers | None = None,
        accepted: int | Numbers = 0,
        final: int | Array | None = None,
        p: Numbers | None = None,
        q: Numbers | None = None,
        p_raw: Numbers | None = None,
        q_raw: Numbers | None = None,
        u: Numbers | None = None,
        accept: Numbers | None = None,
        relaxed: Numbers = (),
        laws: Sequence[Law] = (),
        source: str = "",
        stop: str | None = None,
        sequence: int = 0,
        draft_forwards: int = 0,
        target_forwards: int = 1,
        draft_ms: float = 0.0,
        verify_ms: float = 0.0,
        accept_ms: float = 0.0,
    ) -> None:
        """Add one round. A round without a draft is a plain step, such as the prompt pass.

        `draft` holds the drafted token ids, siblings in the order in which they are tried. They are
        nodes 1, 2, ...; node 0 is the last token of the text. `parents` gives the node that each
        continues (default: a chain). `accepted` is how many tokens of a chain stayed, or the nodes
        of the path that stayed. `final` is the target's own token, None when the text ended before
        it.

        Numbers, one per drafted token, None where unknown: `p` and `q` under the law in use (no q:
        the draft was not drawn), `p_raw` and `q_raw` at temperature 1 without filters, `u` the
        random number that decided and `accept` the probability that it was compared with, by
        default min(1, p/q).
        `relaxed` lists accepted nodes that the exact rule would have refused. `laws`: see
        `core.trace.Law`. Times are in milliseconds.

        Raises TraceError for a wrong argument; the record then stays as it was.
        """
        try:
            drafted = tokens("draft", draft)
            count = len(drafted)
            verdict = _verdict(count, parents, accepted, final, tokens("relaxed", relaxed))
            known = Known(
                p=probabilities("p", p, count),
                q=probabilities("q", q, count),
                u=probabilities("u", u, count),
                accept=probabilities("accept", accept, count),
                greedy=self._sampling.temperature == 0,
            )
            if self._is_raw:
                p_raw, q_raw = p if p_raw is None else p_raw, q if q_raw is None else q_raw
            raw = probabilities("p_raw", p_raw, count), probabilities("q_raw", q_raw, count)
            place = whole("sequence", sequence)
            text = self._texts.get(place, self._prompt)
            nodes = _nodes([text[-1], *drafted], verdict, known, raw, source)
            made = Round(
                index=len(self._rounds),
                sequence=place,
                prefix_length=len(text),
                nodes=nodes,
                checks=checks(verdict, known),
                laws=list(laws),
                scalars=_no_scalars(count + 1),
                residuals=[],
                outcome=_outcome(verdict, nodes.token, final),
                stop=None if stop is None else Stop(reason=stop),
                drafted=count,
                max_depth=max(depths(nodes)),
                cost=_cost(
                    count + 1, (draft_forwards, target_forwards), (draft_ms, verify_ms, accept_ms)
                ),
            )
            spelled = self._spellings(_ids(made))
            validate_round(made, ChainMap(spelled, self._spelled))
        except TraceError as error:
            raise TraceError(f"Round {len(self._rounds)}, {error}") from error
        self._rounds.append(made)
        self._spelled |= spelled
        self._texts[place] = [*text, *made.outcome.emitted]

    def finish(
        self,
        reason: FinishReason = "stop",
        text: str | None = None,
        message: str | None = None,
        title: str | None = None,
    ) -> Trace:
        """Return the trace of all rounds so far; recording may go on afterwards.

        `text` is by default what was emitted, read as UTF-8; `message` is one sentence, due with
        the reason "error". Other fields can be set on the result with `msgspec.structs.replace`.
        Raises TraceError for a wrong argument.
        """
        if reason not in get_args(FinishReason):
            raise TraceError(
                f"reason is {reason}; allowed are {', '.join(get_args(FinishReason))}."
            )
        answer = self._texts.get(0, self._prompt)[len(self._prompt) :]
        trace = Trace(
            created=self._clock().isoformat(timespec="seconds"),
            draftscope_version=__version__,
            title=title,
            method="recorded",
            method_name=self._method,
            lossless=self._lossless,
            config={},
            sampling=replace(self._sampling, max_new_tokens=len(answer)),
            models=self._models,
            environment=Environment(
                torch="unknown",
                transformers="unknown",
                python=platform.python_version(),
                processor="unknown",
                threads=0,
            ),
            prompt=Prompt(text=self._text(self._prompt), token_ids=self._prompt),
            sequences=max(self._texts, default=0) + 1,
            vocabulary=dict(self._spelled),
            rounds=list(self._rounds),
            text=self._text(answer) if text is None else text,
            finish_reason=reason,
            message=message,
            totals=totals(self._rounds),
            plain_step_ms=self._plain_step_ms,
        )
        validate(trace)
        return trace

    def _text(self, ids: Iterable[int]) -> str:
        return b"".join(self._spelled[token] for token in ids).decode(errors="replace")

    def _spellings(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Return the bytes of each token."""
        return {token: self._spelling(token) for token in set(ids)}

    def _spelling(self, token: int) -> bytes:
        try:
            spelling = self._spell(token)
        except (KeyError, IndexError) as error:
            raise TraceError(f"vocabulary: token {token} is missing there.") from error
        return _as_bytes(spelling, token)


def _as_bytes(spelling: object, token: int) -> bytes:
    if isinstance(spelling, str):
        return spelling.encode()
    if not isinstance(spelling, bytes):
        raise TraceError(f"vocabulary: token {token} has neither bytes nor a string.")
    return spelling


def _verdict(
    count: int,
    parents: Numbers | None,
    accepted: int | Numbers,
    final: int | Array | None,
    relaxed: list[int],
) -> Verdict:
    chain = list(range(count))
    given = chain if parents is None else tokens("parents", parents)
    if len(given) != count:
        raise TraceError(f"parents has {len(given)} entries for {count} draft tokens.")
    path = plain(accepted)
    if not isinstance(path, int):
        path = tokens("accepted", path)
    elif path and given != chain:
        raise TraceError(
            "accepted is a number, but the draft is no chain; give the nodes that stayed."
        )
    elif not 0 <= path <= count:
        raise TraceError(f"accepted is {path}, but {count} tokens were drafted.")
    else:
        path = list(range(1, path + 1))
    return Verdict([-1, *given], path, relaxed, ended=final is None)


def _nodes(
    token: list[int], verdict: Verdict, known: Known, raw: tuple[Column, Column], source: str
) -> Nodes:
    size = len(token)
    return Nodes(
        token=token,
        parent=verdict.parent,
        rank=[verdict.rank(node) for node in range(size)],
        count=[1] * size,
        role=["draft"] * size,
        source=["", *[source] * (size - 1)],
        score=[None] * size,
        q=_six_digits(known.q),
        q_before_siblings=_six_digits(known.q),
        p=_six_digits(known.p),
        q_raw=_six_digits(raw[1]),
        p_raw=_six_digits(raw[0]),
        state=verdict.states(),
        reason=reasons(verdict, known),
    )


def _outcome(verdict: Verdict, token: list[int], final: int | Array | None) -> Outcome:
    path = verdict.path
    emitted = [token[node] for node in path]
    if final is None:
        return Outcome(accepted=path, final_token=None, origin="none", emitted=emitted)
    end = whole("final", final)
    tried = verdict.children(path[-1] if path else 0)
    origin = "plain" if len(token) == 1 else "correction" if tried else "bonus"
    return Outcome(accepted=path, final_token=end, origin=origin, emitted=[*emitted, end])


def _cost(size: int, forwards: tuple[int, int], times: tuple[float, float, float]) -> Cost:
    return Cost(
        draft_forwards=whole("draft_forwards", forwards[0]),
        target_forwards=whole("target_forwards", forwards[1]),
        target_tokens=size,
        sublayers_run=0,
        sublayers_reused=0,
        draft_ms=number("draft_ms", times[0]),
        verify_ms=number("verify_ms", times[1]),
        accept_ms=number("accept_ms", times[2]),
        record_ms=0.0,
    )


def _no_scalars(size: int) -> Scalars:
    blank = [None] * size
    return Scalars(
        entropy_p=[*blank],
        entropy_q=[*blank],
        h3=[*blank],
        p_max=[*blank],
        top2_gap=[*blank],
        p_eos=[*blank],
        overlap=[*blank],
        tv=[*blank],
        kl_qp=[*blank],
        kl_pq=[*blank],
        rank_in_p=[*blank],
        target_rank_in_q=[*blank],
    )


def _six_digits(column: Column) -> Column:
    return [None if value is None else float(f"{value:.6g}") for value in column]


def _ids(r: Round) -> list[int]:
    """Return every token id that the round names."""
    return [*r.nodes.token, *r.outcome.emitted, *(token for law in r.laws for token in law.token)]


def _card(model: ModelCard | str) -> ModelCard:
    """Return the card of a model of which perhaps only the name is known."""
    if isinstance(model, ModelCard):
        return model
    return ModelCard(
        id=model,
        dtype="unknown",
        device="unknown",
        parameters=0,
        layers=0,
        vocabulary_size=0,
        context=0,
    )
