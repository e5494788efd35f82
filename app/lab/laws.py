"""The two tools that start from the whole laws at a node: the ladder of rules, and rounds thrown
against the target's law.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from app.lab.orders import LabOrder, RoundsOrder
from app.studio import Found
from core.trace import Round, Trace
from viz.lab.ladder import Ladder, Selecting, Standard, bridge, ladder, no_ladder, no_law
from viz.lab.rounds import Measured, Own, Rounds, no_rounds, rounds
from viz.lab.where import Apart, Where, labelled, where, why
from viz.overview import badge
from viz.payload import Label

if TYPE_CHECKING:
    from core.host import Floats
    from core.lab.band import Band
    from core.lab.rescore import Laws
    from core.run import Engine


@dataclass(slots=True)
class Node:
    """The laws at one node, and what was worked out of them so far."""

    laws: Laws
    rungs: Ladder | None = None
    both: tuple[Floats, Floats] | None = None
    band: Band | None = None


def laws_key(order: LabOrder) -> Hashable:
    return ("laws", order.trace, order.round, order.node)


def ask_laws(engine: Engine, trace: Trace, order: LabOrder) -> Node:
    """Return the laws in use at the node, at temperature 1 where the run had none."""
    from core.lab.rescore import rescore  # late: it brings torch
    from core.laws import RAW

    law = RAW if trace.sampling.temperature == 0 else None
    return Node(rescore(engine, trace, order.round, order.node, law))


def tell_ladder(known: object, found: Found, order: LabOrder) -> Mapping[str, object]:
    """Return where the laws stand, and the bars of every rule."""
    node = cast("Node", known)
    if node.rungs is None:
        node.rungs = _rungs(node, found.trace, order)
    return {"where": _where(node, found.trace, order), "ladder": node.rungs}


def tell_rounds(known: object, found: Found, order: LabOrder) -> Mapping[str, object]:
    """Return where the laws stand, and what the rounds ordered write."""
    node, wish = cast("Node", known), cast("RoundsOrder", order)
    return {
        "where": _where(node, found.trace, order),
        "rounds": _rounds(node, found.trace, wish),
    }


def _where(node: Node, trace: Trace, order: LabOrder) -> Where:
    agreement = node.laws.agreement
    apart = agreement and Apart(agreement.tokens, max(agreement.p, agreement.q or 0.0))
    return where(trace, order.round, order.node, node.laws.models[0], apart)


def _rungs(node: Node, trace: Trace, order: LabOrder) -> Ladder:
    from core.lab.ladder import OWN, ladders, selection_of

    if node.laws.q is None:
        return no_ladder(trace.method_name)
    own = selection_of(trace)
    way = own or OWN
    found = ladders(node.laws.p, node.laws.q, selection=way)
    values = [{name: (a.value, a.margin) for name, a in each.items()} for each in found]
    how = Selecting(way.free, way.alphabet, way.scheme == "importance", own is not None)
    made = trace.rounds[order.round]
    standard = bridge(_standard(node, trace, made, order.node, values[0]["one/standard"][0]))
    return ladder(values, max(2, _drafts(made, order.node)), how, standard)


def _standard(node: Node, trace: Trace, made: Round, place: int, here: float) -> Standard:
    """Return the overlap of the laws here, and that of the laws in use that the run recorded, which
    at temperature 0 are other laws.
    """
    is_other = trace.sampling.temperature == 0
    recorded = None if is_other else made.scalars.overlap[place]
    return Standard(here, recorded, why(trace, node.laws.models[0]))


def _drafts(made: Round, node: int) -> int:
    """Return how many drafts were offered at a node, one that was drawn twice counted twice."""
    nodes = made.nodes
    columns = zip(nodes.parent, nodes.count, nodes.state, strict=True)
    return sum(
        count
        for parent, count, state in columns
        if parent == node and state not in ("pruned", "probe")
    )


def _rounds(node: Node, trace: Trace, order: RoundsOrder) -> Rounds:
    from core.bounds.pair import laws
    from core.lab.band import band, distance
    from core.lab.simulate import ROUNDS, Setup, simulate

    warmth = _temperature(trace)
    if node.laws.q is None:
        return no_rounds(no_law(trace.method_name), warmth)
    setup = Setup(order.drafts, order.mistake, order.seed, warmth)
    node.both = node.both or laws(node.laws.p, node.laws.q)
    node.band = node.band or band(node.both[0], ROUNDS)
    thrown = simulate(*node.both, setup)
    apart = distance(node.band, thrown.tokens)
    shares = apart.counts / node.band.rounds[:, None]
    names = _labels(node, trace, order, node.band.tokens.tolist())
    measured = Measured(
        node.band.rounds.tolist(),
        apart.apart.tolist(),
        node.band.mean.tolist(),
        node.band.most.tolist(),
        apart.verdict,
        int(thrown.kept.sum()),
        list(zip(names, node.band.p.tolist(), shares.T.tolist(), strict=True)),
    )
    own = None if trace.lossless else Own(trace.method_name, badge(trace))
    return rounds(measured, order.drafts, order.mistake, order.seed, warmth, own)


def _labels(node: Node, trace: Trace, order: LabOrder, tokens: Sequence[int]) -> list[Label | None]:
    """Return the labels of the cells; None for tokens that nobody spelled, and for all others."""
    reading = labelled(trace, order.round, node.laws.named, node.laws.special)
    known = {*trace.vocabulary, *node.laws.named}
    names = [reading.candidate(t, order.node) if t in known else None for t in tokens]
    return [*names, None]


def _temperature(trace: Trace) -> float:
    return trace.sampling.temperature or 1.0
