"""The refused tokens that the drafter was surest of: where it misjudges the target most."""

from __future__ import annotations

from core.trace import Nodes, Trace
from viz.numbers import probability
from viz.payload import Hard
from viz.reading import read
from viz.text import Vocabulary

_MOST = 5  # in the list

Place = tuple[int, int]  # round, node


def hardest(trace: Trace, words: Vocabulary) -> list[Hard]:
    """Return the refused tokens of which the draft was surer than the target, by how far its q
    exceeds the target's p, each token once.

    A draft without q stands behind every token alike: there the least p comes first.
    """
    found: dict[int, tuple[float, Place]] = {}
    for index, r in enumerate(trace.rounds):
        for check in r.checks:
            if check.passed or r.nodes.state[check.node] != "rejected":
                continue
            token, gap = r.nodes.token[check.node], _gap(trace, r.nodes, check.node)
            if gap > 0 and (token not in found or gap > found[token][0]):
                found[token] = (gap, (index, check.node))
    ranked = sorted(found.values(), key=lambda each: (-each[0], each[1]))
    return [_hard(trace, words, place) for _, place in ranked[:_MOST]]


def hardest_note(trace: Trace) -> str:
    """Return how to read the list."""
    at = ", at temperature 1" if trace.sampling.temperature == 0 else ""
    tried = ((r.nodes, check.node) for r in trace.rounds for check in r.checks)
    if all(_pair(trace, nodes, node)[0] is None for nodes, node in tried):
        return f"Refused, and the least likely to the target{at}."
    return f"Refused, though the draft was surer of them than the target{at}."


def _pair(trace: Trace, nodes: Nodes, node: int) -> tuple[float | None, float | None]:
    """Return q and p of a node as the tree shows them."""
    if trace.sampling.temperature == 0:
        return nodes.q_raw[node], nodes.p_raw[node]
    return nodes.q_before_siblings[node], nodes.p[node]


def _gap(trace: Trace, nodes: Nodes, node: int) -> float:
    q, p = _pair(trace, nodes, node)
    return (1.0 if q is None else q) - (0.0 if p is None else p)


def _hard(trace: Trace, words: Vocabulary, place: Place) -> Hard:
    index, node = place
    r = trace.rounds[index]
    q, p = _pair(trace, r.nodes, node)
    told = [f"draft {probability(q)}"] if q is not None else []
    told += [f"target {probability(p)}"] if p is not None else []
    return {
        "label": read(trace, index, words).label(node),
        "round": r.index,
        "node": node,
        "numbers": ", ".join(told),
    }
