"""Several methods on one prompt: plain decoding first, one seed, and nobody fails for another."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from core.compare.comparison import Comparison, refusal
from core.compare.files import dumps, loads
from core.compare.running import Step, compare
from core.registry import get
from core.run import Engine, Request, Run
from core.trace import Trace, token_ids
from tests.app.engines import Interrupting
from tests.app.engines import toy_engine as small_engine
from tests.app.toys import toy_engine
from tests.toy_comparison import NOW, WISHES, requests, runs


def steps(asked: list[Request], engine: Engine | None = None, warm: int = 0) -> list[Step]:
    ticks = count()
    return list(
        compare(engine or toy_engine(), asked, lambda: next(ticks) / 1000, lambda: NOW, warm)
    )


def alone(request: Request) -> Trace:
    ticks = count()
    run = Run(request, toy_engine(), lambda: next(ticks) / 1000, NOW)
    for _ in run:
        pass
    return run.trace()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_method_writes_what_it_writes_alone(temperature: float) -> None:
    asked = requests(temperature=temperature)
    found = runs(asked)
    assert [run.method for run in found] == ["plain", *(key for key, _ in WISHES)]
    reference = replace(asked[0], method=get("plain"), config={})
    for run, request in zip(found, [reference, *asked], strict=True):
        assert token_ids(run) == token_ids(alone(request))
    assert refusal(found) is None


def test_steps_count_the_tokens_of_a_run_and_its_trace_comes_last() -> None:
    found = steps(requests())
    assert [step.run for step in found] == sorted(step.run for step in found)
    for place in range(1 + len(WISHES)):
        own = [step for step in found if step.run == place]
        assert [step.trace is None for step in own] == [True] * (len(own) - 1) + [False]
        assert [step.tokens for step in own] == sorted(step.tokens for step in own)
        last = own[-1].trace
        assert last is not None
        assert own[-1].tokens == len(token_ids(last)) == 24


def test_a_method_that_cannot_begin_says_why_and_the_others_go_on() -> None:
    """Its draft model is missing."""
    engine = replace(toy_engine(), draft=None)
    found = runs(requests(), engine)
    mcsd, lookup = found[1], found[2]
    assert (mcsd.method, mcsd.finish_reason, mcsd.rounds) == ("mcsd", "error", [])
    assert mcsd.message
    assert mcsd.message.endswith(".")
    assert mcsd.config["drafter"] == "model"
    assert lookup.finish_reason == "length"
    whole = Comparison(created=NOW, runs=found)
    assert loads(dumps(whole)) == whole


def failing(at: int, error: BaseException) -> Engine:
    """Return models that fail in forward `at` of every run."""

    def fail() -> None:
        raise error

    return small_engine(Interrupting(at, fail))


def test_a_failure_while_decoding_keeps_what_was_decoded() -> None:
    """The target fails in its fifth forward: after that many tokens of plain decoding there is
    nothing to compare with.
    """
    found = steps(requests(WISHES[1:2]), failing(4, RuntimeError("device lost\nmore")))
    (only,) = [step.trace for step in found if step.trace is not None]
    assert (only.method, only.finish_reason) == ("plain", "error")
    assert only.message == "Decoding failed in round 4: device lost."
    assert len(only.rounds) == 4


def test_what_fails_while_warming_up_fails_in_the_run_and_is_told_there() -> None:
    found = steps(requests(WISHES[1:2]), failing(2, RuntimeError("device lost")), warm=4)
    (only,) = [step.trace for step in found if step.trace is not None]
    assert only.message == "Decoding failed in round 2: device lost."


def test_an_interruption_ends_all_and_keeps_the_run_under_way() -> None:
    found = steps(requests(WISHES[1:2]), failing(3, KeyboardInterrupt()))
    traces = [step.trace for step in found if step.trace is not None]
    assert [trace.finish_reason for trace in traces] == ["cancelled"]
    assert len(traces[0].rounds) == 3


def test_without_plain_decoding_there_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="context"):
        steps(requests(prompt="x" * 30_000))


def test_warming_up_leaves_no_mark() -> None:
    assert [s.tokens for s in steps(requests(), warm=3)] == [s.tokens for s in steps(requests())]
    warmed = [s.trace for s in steps(requests(), warm=3) if s.trace]
    assert [token_ids(run) for run in warmed] == [token_ids(run) for run in runs(requests())]


def test_only_methods_may_differ() -> None:
    first, second, _ = requests()
    for other in (
        replace(second, seed=8),
        replace(second, prompt="x"),
        replace(second, stop=("a",)),
    ):
        with pytest.raises(ValueError, match="one prompt with one sampling and one seed"):
            steps([first, other])
    with pytest.raises(ValueError, match="nothing to compare"):
        steps([])
    with pytest.raises(ValueError, match="at most"):
        steps([first, replace(second, config={"length": 99})])
