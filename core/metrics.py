"""Every number that a page or the command line shows, as a pure function of the trace.

Each function's docstring is its definition, since published definitions differ. A metric is a
numerator and a denominator per round (`Ratio`), so that a browser only sums and divides, over any
selection of rounds. `METRICS` lists those that are one number for a text; the functions below it
return tables. Knows no model, no tokenizer, no figure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Literal, NamedTuple

from core.trace import Nodes, Round, Totals, Trace

Unit = Literal["tokens", "share", "times", "ms", "per second"]
Given = Literal["previous", "offered", "drafting"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numerators and denominators, one of each per round of the trace, in its order."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]

    @property
    def counts(self) -> tuple[float, float]:
        """Sums of both, over all rounds."""
        return math.fsum(self.numerator), math.fsum(self.denominator)

    @property
    def value(self) -> float | None:
        """The quotient of the sums; None where nothing counts."""
        above, below = self.counts
        return above / below if below else None


class Metric(NamedTuple):
    """One number for a text. `definition` is the function's docstring."""

    label: str
    definition: str
    function: Callable[[Trace], Ratio]
    unit: Unit


def totals(rounds: Sequence[Round]) -> Totals:
    """Return the raw counts over `rounds`; `tested` counts the checks made."""
    costs = [r.cost for r in rounds]
    return Totals(
        rounds=len(rounds),
        emitted=sum(len(r.outcome.emitted) for r in rounds),
        drafted=sum(r.drafted for r in rounds),
        accepted=sum(len(r.outcome.accepted) for r in rounds),
        tested=sum(len(r.checks) for r in rounds),
        draft_forwards=sum(c.draft_forwards for c in costs),
        target_forwards=sum(c.target_forwards for c in costs),
        draft_ms=math.fsum(c.draft_ms for c in costs),
        verify_ms=math.fsum(c.verify_ms for c in costs),
        accept_ms=math.fsum(c.accept_ms for c in costs),
        record_ms=math.fsum(c.record_ms for c in costs),
    )


def wilson(hits: float, tries: float, z: float = 1.96) -> tuple[float, float] | None:
    """Return Wilson's score interval for `hits` in `tries`, or None without tries.

    z = 1.96 gives 95 %.
    """
    if not tries:
        return None
    share = hits / tries
    scale = 1 + z * z / tries
    middle = share + z * z / (2 * tries)
    half = z * math.sqrt(share * (1 - share) / tries + (z / (2 * tries)) ** 2)
    low = 0.0 if hits == 0 else (middle - half) / scale
    high = 1.0 if hits == tries else (middle + half) / scale
    return low, high


def pooled(ratios: Iterable[Ratio]) -> Ratio:
    """Join several texts end to end, so that longer ones weigh more (micro average)."""
    parts = tuple(ratios)
    return Ratio(
        tuple(x for part in parts for x in part.numerator),
        tuple(x for part in parts for x in part.denominator),
    )


def mean_of(ratios: Iterable[Ratio]) -> float | None:
    """Average several texts so that each counts once, however long it is (macro average).

    Texts without a value are left out; None when none has one.
    """
    values = [value for ratio in ratios if (value := ratio.value) is not None]
    return math.fsum(values) / len(values) if values else None


def depths(nodes: Nodes) -> list[int]:
    """Return the depth of each node; node 0 has depth 0."""
    found = [0] * len(nodes.parent)
    for node, parent in enumerate(nodes.parent[1:], start=1):
        found[node] = found[parent] + 1
    return found


def offered(nodes: Nodes) -> list[bool]:
    """Mark the nodes that verification could accept: no probe, not pruned before it ran."""
    return [
        node > 0 and role == "draft" and state != "pruned"
        for node, (role, state) in enumerate(zip(nodes.role, nodes.state, strict=True))
    ]


def prompt_passes(trace: Trace) -> list[bool]:
    """Mark the rounds that only read the prompt: the first of a sequence, with nothing drafted."""
    begun: set[int] = set()
    marks: list[bool] = []
    for r in trace.rounds:
        marks.append(r.sequence not in begun and not r.drafted)
        begun.add(r.sequence)
    return marks


def round_ms(r: Round) -> float:
    """Return the wall time of a round: draft, verify and accept. Recording is left out."""
    return r.cost.draft_ms + r.cost.verify_ms + r.cost.accept_ms


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
    """Draft tokens accepted / accept tests made.

    Tokens after the first rejection are not tested, so they do not count.
    """
    return _all(trace, _accepted, lambda r: len(r.checks))


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
    siblings were tested there. Places where either law is unknown do not count.
    """

    def overlaps(r: Round) -> list[float]:
        places = sorted({r.nodes.parent[check.node] for check in r.checks})
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


@dataclass(frozen=True, slots=True)
class AtDepth:
    """Acceptance at one depth: per round, 1 where it was accepted, over 1 where it was tried."""

    depth: int
    ratio: Ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of the share, or None without tries."""
        return wilson(*self.ratio.counts)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Acceptances and tests at the text positions `first` to `last`, both included."""

    first: int
    last: int
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Reason:
    """Rejections with one reason, over all rejections, per round."""

    reason: str
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class HardToken:
    """One test: `round` and `check` are places in the lists of the trace, from 0."""

    round: int
    check: int
    node: int
    token: int
    accept_probability: float
    passed: bool


def acceptance_by_depth(trace: Trace, given: Given = "previous") -> list[AtDepth]:
    """Return acceptance at depth d, for d = 1 to the deepest that was offered.

    `given` says what a try is. "previous": depth d-1 was accepted and something was offered below
    it, so that a verdict was due (conditional; the default). "offered": the round offered something
    at depth d (marginal). "drafting": the round drafted at all (vLLM's rate per position).
    Where the end of the text cut a round, its next depth had no verdict: only "drafting" counts it.
    """
    deepest = max((r.max_depth for r in trace.rounds), default=0)
    last_tries = [_last_try(r, given, deepest) for r in trace.rounds]
    lengths = [_accepted(r) for r in trace.rounds]
    return [
        AtDepth(
            depth,
            Ratio(
                tuple(int(depth <= length) for length in lengths),
                tuple(int(depth <= last) for last in last_tries),
            ),
        )
        for depth in range(1, deepest + 1)
    ]


def _last_try(r: Round, given: Given, deepest: int) -> int:
    """Return the depth down to which the round counts as a try; 0 for none."""
    if given == "drafting":
        return deepest * _drafting(r)
    path = r.outcome.accepted
    tip = path[-1] if path else 0
    below = {n for n, ok in enumerate(offered(r.nodes)) if ok and r.nodes.parent[n] == tip}
    missed = any(check.node in below and not check.passed for check in r.checks)
    if below and r.outcome.origin == "none" and not missed:
        return len(path)
    return r.max_depth if given == "offered" else len(path) + bool(below)


def acceptance_by_position(trace: Trace, width: int = 1) -> list[Stretch]:
    """Return draft tokens accepted / accept tests made, by place in the text.

    Positions count prompt and answer from 0 and are grouped in stretches of `width`, the first of
    which begins where the answer does; stretches without a test are left out. Raises ValueError
    when the width is below 1.
    """
    if width < 1:
        raise ValueError(f"The width of a stretch is {width}; it must be at least 1.")
    start = min((r.prefix_length for r in trace.rounds), default=0)
    accepted = [_per_stretch(r, r.outcome.accepted, start, width) for r in trace.rounds]
    tested = [_per_stretch(r, [c.node for c in r.checks], start, width) for r in trace.rounds]
    return [
        Stretch(
            start + i * width,
            start + (i + 1) * width - 1,
            Ratio(tuple(c[i] for c in accepted), tuple(c[i] for c in tested)),
        )
        for i in sorted({i for counts in tested for i in counts})
    ]


def _per_stretch(r: Round, nodes: Sequence[int], start: int, width: int) -> Counter[int]:
    depth = depths(r.nodes)
    return Counter((r.prefix_length + depth[node] - 1 - start) // width for node in nodes)


def rejected_by_reason(trace: Trace) -> list[Reason]:
    """Return nodes rejected for a reason / all nodes rejected, the most frequent reason first."""
    rounds = [
        Counter(
            reason
            for reason, state in zip(r.nodes.reason, r.nodes.state, strict=True)
            if state == "rejected"
        )
        for r in trace.rounds
    ]
    every = tuple(counts.total() for counts in rounds)
    names = sorted({reason for counts in rounds for reason in counts})
    found = [Reason(name, Ratio(tuple(c[name] for c in rounds), every)) for name in names]
    return sorted(found, key=lambda reason: -reason.ratio.counts[0])


def hardest_tokens(trace: Trace, count: int = 10) -> list[HardToken]:
    """Return the `count` tests with the lowest accept probability.

    Ties (all rejections of a greedy run) are ordered by what the target's raw law gave the token,
    the least first and the unknown last, then as they occurred.
    """

    def difficulty(hard: HardToken) -> tuple[float, float]:
        raw = trace.rounds[hard.round].nodes.p_raw[hard.node]
        return hard.accept_probability, 1.0 if raw is None else raw

    tests = [
        HardToken(place, i, c.node, r.nodes.token[c.node], c.accept_probability, c.passed)
        for place, r in enumerate(trace.rounds)
        for i, c in enumerate(r.checks)
    ]
    return sorted(tests, key=difficulty)[:count]
