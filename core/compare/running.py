"""Decodes one prompt with several methods, one after the other: plain decoding first, then each
with the same seed. Knows no file and no page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from core.decode import Clock
from core.metrics import totals
from core.registry import get
from core.run import Engine, Request, Run
from core.trace import Trace

PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Step:
    """How far one run is: `run` 0 is plain decoding, the others follow in the order asked for.
    `trace` comes with a run's last step.
    """

    run: int
    tokens: int
    trace: Trace | None = None


def compare(
    engine: Engine,
    requests: Sequence[Request],
    clock: Clock,
    now: Callable[[], str],
    warm: int = 0,
) -> Iterator[Step]:
    """Yield a step per round, and each run's trace as it ends; `requests` leave out plain decoding.

    What fails of one method is the message of its trace, and the others go on; without plain
    decoding there is nothing to compare with, so that its failure is the end. An interruption is
    the end as well, and what was decoded so far its trace. `warm`: tokens that every method decodes
    before, unrecorded, because the first passes of a process are slow.

    Raises ValueError where the requests differ in more than their method, where one's settings are
    not allowed, or where nothing can be decoded at all.
    """
    check(requests)
    reference = replace(requests[0], method=get(PLAIN), config={})
    plain: Trace | None = None
    for place, request in enumerate((reference, *requests)):
        for step in _run(place, request, engine, clock, now, warm, plain):
            yield step
            if step.trace is not None and step.trace.finish_reason == "cancelled":
                return
            if place == 0 and step.trace is not None:
                plain = step.trace
        if plain is None or plain.finish_reason == "error":
            return


def check(requests: Sequence[Request]) -> None:
    """Raise ValueError where requests cannot be run beside each other."""
    if not requests:
        raise ValueError("There is nothing to compare: name at least one method.")
    first = requests[0]
    for request in requests:
        if replace(request, method=first.method, config=first.config) != first:
            raise ValueError("Methods are compared on one prompt with one sampling and one seed.")
        request.method.configure(request.config)


def _run(
    place: int,
    request: Request,
    engine: Engine,
    clock: Clock,
    now: Callable[[], str],
    warm: int,
    plain: Trace | None,
) -> Iterator[Step]:
    """Yield one run's steps. Without `plain`, what cannot begin raises."""
    created = now()
    _warm_up(warm, request, engine, clock, created)
    try:
        run = Run(request, engine, clock, created)
    except Exception as error:  # libraries raise anything over models of strangers
        if plain is None:
            raise
        yield Step(place, 0, _failed(plain, request, created, _sentence(error)))
        return
    yield from _steps(place, run)


def _warm_up(warm: int, request: Request, engine: Engine, clock: Clock, created: str) -> None:
    short = replace(request, max_new_tokens=min(max(1, warm), request.max_new_tokens))
    with suppress(Exception):  # what is wrong is wrong with the run as well, which tells it
        for _ in Run(short, engine, clock, created) if warm else ():
            pass


def _steps(place: int, run: Run) -> Iterator[Step]:
    tokens = 0
    rounds = iter(run)
    while True:
        try:
            made = next(rounds, None)
        except KeyboardInterrupt:
            yield Step(place, tokens, run.trace("cancelled"))
            return
        except Exception as error:
            told = f"Decoding failed in round {len(run.rounds)}: {_sentence(error)}"
            yield Step(place, tokens, run.trace("error", told))
            return
        if made is None:
            break
        tokens += len(made.outcome.emitted)
        if run.finished is None:
            yield Step(place, tokens)
    yield Step(place, tokens, run.trace())


def _failed(plain: Trace, request: Request, created: str, told: str) -> Trace:
    """Return the trace of a run that could not begin: what was asked, and why not."""
    config = request.method.configure(request.config)
    tokens = set(plain.prompt.token_ids)
    return changed(
        plain,
        created=created,
        method=request.method.key,
        method_name=request.method.name,
        lossless=request.method.lossless,
        config=config.applied(),
        config_names=config.applied_names(),
        vocabulary={token: word for token, word in plain.vocabulary.items() if token in tokens},
        special=[token for token in plain.special if token in tokens],
        rounds=[],
        text="",
        finish_reason="error",
        message=told,
        totals=totals([]),
        plain_step_ms=None,
    )


def _sentence(error: Exception) -> str:
    """Return the first line of what went wrong, as a sentence."""
    words = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
    return words if words.endswith((".", "!", "?")) else f"{words}."
