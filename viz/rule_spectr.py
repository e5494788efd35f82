"""Words for candidates that SpecTr's rules decided: K-SEQ by p / (rho q), or a transport plan."""

from __future__ import annotations

from core.extras import KSeqExtras, KSeqNode, TransportExtras, TransportNode
from core.trace import Check
from viz.numbers import count, decimals_for, difference, probability
from viz.payload import Run
from viz.reading import Reading
from viz.sentence import Part, say

_AFTER_ALL = "target_wrote_it"
_REASONS = frozenset({"u<p/(rho q)", "u>=p/(rho q)", "u<plan", "u>=plan", _AFTER_ALL})


def k_seq_nodes(reading: Reading) -> list[KSeqNode]:
    """Return the nodes at which K-SEQ chose, in order."""
    extra = next((e for e in reading.round.extras if isinstance(e, KSeqExtras)), None)
    return extra.nodes if extra else []


def transport_nodes(reading: Reading) -> list[TransportNode]:
    """Return the nodes at which a plan chose, in order."""
    extra = next((e for e in reading.round.extras if isinstance(e, TransportExtras)), None)
    return extra.nodes if extra else []


def told(reading: Reading, node: int) -> list[Run] | None:
    """Return the test of a candidate in words; None where another rule decided it."""
    check, reason = reading.check(node), reading.round.nodes.reason[node]
    if check is None or reason not in _REASONS:
        return None
    parent = reading.parent(node)
    k_seq = next((found for found in k_seq_nodes(reading) if found.node == parent), None)
    return say(
        f"{reading.state(node).capitalize()}{' after all' if reason == _AFTER_ALL else ''}. ",
        *_gave(reading, node, check),
        *([_by_factor(k_seq), *_dart(check)] if k_seq else _by_plan(reading, node, check)),
        *(_written(reading, node) if reason == _AFTER_ALL else []),
    )


def _gave(reading: Reading, node: int, check: Check) -> list[Part]:
    drawn = probability(check.q or 0.0)
    target = probability(check.p) if check.p else "nothing"
    return ["The draft gave ", reading.label(node), f" {drawn}, the target {target}. "]


def _by_factor(found: KSeqNode) -> str:
    if found.drafts == 1:
        return "It is the only candidate, so that p / q counts: it may stay with chance "
    return (
        f"It is one of {count(found.drafts, 'candidate')}, so that p / (ρ q) counts, with "
        f"ρ {found.rho:.2f}: it may stay with chance "
    )


def _by_plan(reading: Reading, node: int, check: Check) -> list[Part]:
    if check.accept_probability <= 0:
        return ["Among the tokens drawn here the plan gives it no chance."]
    once = " once the earlier ones missed" if reading.missed(node) else ""
    opening = f"Among the tokens drawn here the plan lets it stay{once} with chance "
    return [opening, *_dart(check)]


def _dart(check: Check) -> list[Part]:
    chance, u = check.accept_probability, check.u
    if chance >= 1:
        return ["1, wherever the dart falls."]
    if chance <= 0:
        return ["0."]
    decimals = decimals_for(chance, u)
    mark, shown = probability(chance, decimals), probability(u, decimals)
    where = "inside" if u < chance else "beyond"
    return [f"{mark}. The dart fell at {shown}, {where} it by {difference(shown, mark)}."]


def _written(reading: Reading, node: int) -> list[Part]:
    label = reading.label(node)
    return [" Then the target's own token was ", label, " too: the walk goes on with its drafts."]
