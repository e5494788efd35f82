"""Many numbers for a text: acceptance by depth and position, reasons, the hardest tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.metrics.ratio import Ratio, wilson
from core.metrics.rounds import depths, kept_tests, offered, tests_reached
from core.trace import Round, Trace

Given = Literal["previous", "offered", "drafting"]

_GIVEN = ("longest_strand", "other_root")  # why roots that the target drew stand where they do


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


def acceptance_by_depth(trace: Trace, given: Given = "previous") -> list[AtDepth]:
    """Return acceptance at depth d, for d = 1 to the deepest that was offered.

    `given` says what a try is. "previous": depth d-1 was accepted and something was offered below
    it, so that a verdict was due (conditional; the default). "offered": the round offered something
    at depth d (marginal). "drafting": the round drafted at all (vLLM's rate per position).
    Where the end of the text cut a round, its next depth had no verdict: only "drafting" counts it.
    A root that the target itself drew (DynaSD) is tested by nothing: its depth does not count.
    """
    deepest = max((r.max_depth for r in trace.rounds), default=0)
    last_tries = [_last_try(r, given, deepest) for r in trace.rounds]
    lengths = [len(r.outcome.accepted) for r in trace.rounds]
    given_roots = [int(any(reason in _GIVEN for reason in r.nodes.reason)) for r in trace.rounds]
    return [
        AtDepth(
            depth,
            Ratio(
                tuple(int(g < depth <= n) for g, n in zip(given_roots, lengths, strict=True)),
                tuple(int(g < depth <= n) for g, n in zip(given_roots, last_tries, strict=True)),
            ),
        )
        for depth in range(1, deepest + 1)
    ]


def _last_try(r: Round, given: Given, deepest: int) -> int:
    """Return the depth down to which the round counts as a try; 0 for none."""
    if given == "drafting":
        return deepest if r.drafted else 0
    path = r.outcome.accepted
    tip = path[-1] if path else 0
    below = {n for n, ok in enumerate(offered(r.nodes)) if ok and r.nodes.parent[n] == tip}
    missed = any(r.nodes.state[node] == "rejected" for node in below)
    if below and r.outcome.origin == "none" and not missed:
        return len(path)
    return r.max_depth if given == "offered" else len(path) + bool(below)


def acceptance_by_position(trace: Trace, width: int = 1) -> list[Stretch]:
    """Return draft tokens kept / draft tokens tested as in `acceptance_rate`, by place in the text.

    Positions count prompt and answer from 0 and are grouped in stretches of `width`, the first of
    which begins where the answer does; stretches without a test are left out. Raises ValueError
    when the width is below 1.
    """
    if width < 1:
        raise ValueError(f"The width of a stretch is {width}; it must be at least 1.")
    start = min((r.prefix_length for r in trace.rounds), default=0)
    accepted = [_per_stretch(r, kept_tests(r), start, width) for r in trace.rounds]
    tested = [_per_stretch(r, tests_reached(r), start, width) for r in trace.rounds]
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
