"""What a round is made of, as every metric reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.trace import Nodes, Round, Totals, Trace


def totals(rounds: Sequence[Round]) -> Totals:
    """Return the raw counts over `rounds`; `tested` counts accept tests (see `tests_made`)."""
    costs = [r.cost for r in rounds]
    return Totals(
        rounds=len(rounds),
        emitted=sum(len(r.outcome.emitted) for r in rounds),
        drafted=sum(r.drafted for r in rounds),
        accepted=sum(len(r.outcome.accepted) for r in rounds),
        tested=sum(len(tests_made(r)) for r in rounds),
        draft_forwards=sum(c.draft_forwards for c in costs),
        target_forwards=sum(c.target_forwards for c in costs),
        draft_ms=math.fsum(c.draft_ms for c in costs),
        verify_ms=math.fsum(c.verify_ms for c in costs),
        accept_ms=math.fsum(c.accept_ms for c in costs),
        record_ms=math.fsum(c.record_ms for c in costs),
    )


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


def tests_made(r: Round) -> list[int]:
    """Return the node of each accept test, in order.

    Where no check was recorded (a loop that does not know its numbers), these are the nodes with a
    verdict.
    """
    if r.checks:
        return [check.node for check in r.checks]
    verdicts = ("accepted", "relaxed", "rejected")
    return [node for node, state in enumerate(r.nodes.state) if state in verdicts]


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


def tests_reached(r: Round) -> list[int]:
    """Return the node of each accept test whose node follows the text that was kept, in order.

    Rules that go token by token make no other tests. Block verification and the longest strand also
    test what follows a token that is not kept: such a test decides about a text that never was.
    """
    path = {0, *r.outcome.accepted}
    return [node for node in tests_made(r) if r.nodes.parent[node] in path]


def kept_tests(r: Round) -> list[int]:
    """Return the accepted nodes that were tested: some methods keep a node without a test, and some
    keep one although its own test failed.
    """
    tested = set(tests_made(r))
    return [node for node in r.outcome.accepted if node in tested]
