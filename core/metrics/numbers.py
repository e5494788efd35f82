"""One number for a text: each function's docstring is its definition, `METRICS` lists them all."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import cleandoc
from typing import Literal, NamedTuple

from core.metrics.ratio import Ratio
from core.metrics.rounds import kept_tests, offered, prompt_passes, round_ms, tests_reached
from core.trace import Round, Trace

Unit = Literal["tokens", "share", "times", "ms", "per second"]


class Metric(NamedTuple):
    """One number for a text. `definition` is the function's docstring."""

    label: str
    definition: str
    function: Callable[[Trace], Ratio]
    unit: Unit


Count = Callable[[Round], float]


def _all(trace: Trace, above: Count, below: Count) -> Ratio:
    return Ratio(tuple(above(r) for r in trace.rounds), tuple(below(r) for r in trace.rounds))


def _after_prompt(trace: Trace, above: Count, below: Count) -> Ratio:
    """Leave out the prompt passes."""
    rounds = list(zip(trace.rounds, prompt_passes(trace), strict=True))
    return Ratio(
        tuple(0 if prompt else above(r) for r, prompt in rounds),
        tuple(0 if prompt else below(r) for r, prompt in rounds),
    )


def _nothing(trace: Trace) -> Ratio:
    return _all(trace, lambda _: 0, lambda _: 0)


def _emitted(r: Round) -> int:
    return len(r.outcome.emitted)


def _accepted(r: Round) -> int:
    return len(r.outcome.accepted)


def _drafting(r: Round) -> int:
    return int(r.drafted > 0)


def tokens_per_pass(trace: Trace) -> Ratio:
    """Tokens emitted / forward passes of the target, the prompt pass and its token included.

    Counts the target's own token of each round (bonus or correction). Plain decoding has 1.
    """
    return _all(trace, _emitted, lambda r: r.cost.target_forwards)


def tokens_per_pass_decoding(trace: Trace) -> Ratio:
    """Tokens emitted / forward passes of the target, the prompt pass left out.

    The block efficiency of papers, and the mean accepted tokens (MAT) of Spec-Bench. Plain decoding
    has 1.
    """
    return _after_prompt(trace, _emitted, lambda r: r.cost.target_forwards)


def whole_round_length(trace: Trace) -> Ratio:
    """Tokens emitted / rounds that drafted, without rounds cut by the end of the text.

    An end-of-text token inside the accepted draft, or the length limit, hides how far such a round
    would have gone.
    """

    def whole(r: Round) -> int:
        return _drafting(r) * int(r.outcome.origin != "none")

    return _all(trace, lambda r: whole(r) * _emitted(r), whole)


def accepted_length(trace: Trace) -> Ratio:
    """Draft tokens accepted / rounds that drafted. The target's own token is not counted."""
    return _all(trace, _accepted, _drafting)


def accepted_length_with_bonus(trace: Trace) -> Ratio:
    """1 + draft tokens accepted / rounds that drafted: the target's own token is counted.

    The mean acceptance length of vLLM. It counts that token also in a last round that ended
    without one.
    """
    return _all(trace, lambda r: _drafting(r) * (1 + _accepted(r)), _drafting)


def acceptance_rate(trace: Trace) -> Ratio:
    """Draft tokens kept / draft tokens tested, of those that follow what was kept.

    Tokens behind one that was not kept do not count: most rules do not test them. Block
    verification and DynaSD throw a dart at every token and decide by all of them; without those
    behind the first token lost their rates compare with those of rules that go token by token. A
    token kept against its own dart counts as kept.
    """
    return _all(trace, lambda r: len(kept_tests(r)), lambda r: len(tests_reached(r)))


def draft_efficiency(trace: Trace) -> Ratio:
    """Draft tokens accepted / draft tokens offered, tested or not.

    The draft acceptance rate of vLLM and llama.cpp. It falls as drafts grow, since a rejection
    wastes the rest.
    """
    return _all(trace, _accepted, lambda r: r.drafted)


def draft_efficiency_by_round(trace: Trace) -> Ratio:
    """The mean over rounds that drafted of (draft tokens accepted / draft tokens offered).

    Each such round counts once, however much it drafted.
    """
    return _all(trace, lambda r: _accepted(r) / max(r.drafted, 1), _drafting)


def depth_efficiency(trace: Trace) -> Ratio:
    """Draft tokens accepted / depth of the draft, in rounds that drafted.

    The acceptance rate that the code of MCSD and DynaSD prints: siblings do not count against it.
    For a chain it is the draft efficiency.
    """
    return _all(trace, _accepted, lambda r: r.max_depth)


def wasted_drafts(trace: Trace) -> Ratio:
    """Draft tokens offered and not accepted / draft tokens offered."""
    return _all(trace, lambda r: r.drafted - _accepted(r), lambda r: r.drafted)


def marginal_acceptance(trace: Trace) -> Ratio:
    """The mean of min(1, p/q) over all draft tokens offered, also those after a rejection.

    Each token is judged on its own, before any sibling is taken out of p or q, and the prefix need
    not have been kept. For a fixed draft, which was not drawn, p stands for p/q. Tokens whose p is
    unknown do not count.
    """

    def chances(r: Round) -> list[float]:
        n = r.nodes
        columns = zip(offered(n), n.p, n.q, n.q_before_siblings, strict=True)
        return [_chance(p, q, before) for ok, p, q, before in columns if ok and p is not None]

    return _all(trace, lambda r: math.fsum(chances(r)), lambda r: len(chances(r)))


def _chance(p: float, q: float | None, q_before_siblings: float | None) -> float:
    drawn_from = q if q is None or q_before_siblings is None else q_before_siblings
    return min(1.0, p / drawn_from) if drawn_from else p


def overlap(trace: Trace) -> Ratio:
    """The mean of the sum of min(p, q) over the places where a token was tested.

    The alpha of theory: acceptance without the luck of the dice. A place counts once, however many
    siblings were tested there; one behind a token that was not kept does not. Places where either
    law is unknown do not count.
    """

    def overlaps(r: Round) -> list[float]:
        places = sorted({r.nodes.parent[node] for node in tests_reached(r)})
        return [x for place in places if (x := r.scalars.overlap[place]) is not None]

    return _all(trace, lambda r: math.fsum(overlaps(r)), lambda r: len(overlaps(r)))


def drafted_per_round(trace: Trace) -> Ratio:
    """Draft tokens offered / rounds, the prompt pass left out."""
    return _after_prompt(trace, lambda r: r.drafted, lambda _: 1)


def rounds_without_draft(trace: Trace) -> Ratio:
    """Rounds in which nothing was drafted / rounds, the prompt pass left out."""
    return _after_prompt(trace, lambda r: 1 - _drafting(r), lambda _: 1)


def ms_per_token(trace: Trace) -> Ratio:
    """Milliseconds (draft + verify + accept) / tokens emitted, the prompt pass left out."""
    return _after_prompt(trace, round_ms, _emitted)


def tokens_per_second(trace: Trace) -> Ratio:
    """Tokens emitted / seconds (draft + verify + accept), the prompt pass left out."""
    return _after_prompt(trace, _emitted, lambda r: round_ms(r) / 1000)


def speedup(trace: Trace) -> Ratio:
    """Tokens emitted x time of one plain step / measured time, the prompt pass left out.

    Measured time is draft + verify + accept. The numerator is the modelled time of plain decoding.
    Nothing counts where the plain step was not measured.
    """
    step = trace.plain_step_ms
    return _nothing(trace) if step is None else _after_prompt(trace, _plain(step), round_ms)


def speedup_with_prompt(trace: Trace) -> Ratio:
    """Modelled time of plain decoding / measured time, the prompt pass included.

    As the speed-up, with the prompt pass added to both: plain decoding pays it too.
    """
    step = trace.plain_step_ms
    if step is None:
        return _nothing(trace)
    plain = _plain(step)
    rounds = list(zip(trace.rounds, prompt_passes(trace), strict=True))
    return Ratio(
        tuple(round_ms(r) if prompt else plain(r) for r, prompt in rounds),
        tuple(round_ms(r) for r, _ in rounds),
    )


def _plain(step_ms: float) -> Count:
    return lambda r: step_ms * _emitted(r)


def memory_bound_speedup(trace: Trace) -> Ratio:
    """Tokens emitted / (target passes + draft passes x size of drafter / size of target).

    The speed-up if reading weights were all that costs time (MBSU), the prompt pass left out. Size
    is the number of parameters; a lookup has none. Nothing counts when a part of the target drafts,
    since its size is not recorded.
    """
    target, draft = trace.models.target, trace.models.draft
    size = 0.0
    if any(r.cost.draft_forwards for r in trace.rounds):
        if draft is None or not target.parameters:
            return _nothing(trace)
        size = draft.parameters / target.parameters

    def passes(r: Round) -> float:
        return r.cost.target_forwards + size * r.cost.draft_forwards

    return _after_prompt(trace, _emitted, passes)


def draft_time_share(trace: Trace) -> Ratio:
    """Time spent drafting / measured time (draft + verify + accept), the prompt pass left out."""
    return _after_prompt(trace, lambda r: r.cost.draft_ms, round_ms)


def recording_overhead(trace: Trace) -> Ratio:
    """Time spent recording / measured time (draft + verify + accept), the prompt pass left out."""
    return _after_prompt(trace, lambda r: r.cost.record_ms, round_ms)


def _metric(label: str, function: Callable[[Trace], Ratio], unit: Unit) -> Metric:
    return Metric(label, cleandoc(function.__doc__ or ""), function, unit)


METRICS: dict[str, Metric] = {
    "tokens_per_pass": _metric("Tokens per target pass", tokens_per_pass, "tokens"),
    "tokens_per_pass_decoding": _metric(
        "Tokens per target pass, prompt pass left out", tokens_per_pass_decoding, "tokens"
    ),
    "whole_round_length": _metric("Tokens per whole round", whole_round_length, "tokens"),
    "accepted_length": _metric("Accepted length", accepted_length, "tokens"),
    "accepted_length_with_bonus": _metric(
        "Accepted length, bonus counted", accepted_length_with_bonus, "tokens"
    ),
    "acceptance_rate": _metric("Acceptance rate", acceptance_rate, "share"),
    "draft_efficiency": _metric("Draft efficiency", draft_efficiency, "share"),
    "draft_efficiency_by_round": _metric(
        "Draft efficiency, mean of rounds", draft_efficiency_by_round, "share"
    ),
    "depth_efficiency": _metric("Depth efficiency", depth_efficiency, "share"),
    "wasted_drafts": _metric("Wasted drafts", wasted_drafts, "share"),
    "marginal_acceptance": _metric("Marginal acceptance", marginal_acceptance, "share"),
    "overlap": _metric("Overlap of the laws", overlap, "share"),
    "drafted_per_round": _metric("Drafted per round", drafted_per_round, "tokens"),
    "rounds_without_draft": _metric("Rounds without a draft", rounds_without_draft, "share"),
    "ms_per_token": _metric("Time per token", ms_per_token, "ms"),
    "tokens_per_second": _metric("Tokens per second", tokens_per_second, "per second"),
    "speedup": _metric("Speed-up", speedup, "times"),
    "speedup_with_prompt": _metric("Speed-up with the prompt pass", speedup_with_prompt, "times"),
    "memory_bound_speedup": _metric("Memory-bound speed-up", memory_bound_speedup, "times"),
    "draft_time_share": _metric("Share of time spent drafting", draft_time_share, "share"),
    "recording_overhead": _metric("Recording overhead", recording_overhead, "share"),
}
