"""What must hold inside the records of a selection among drafts, and of what any rule could keep:
laws within one, nodes and tokens that exist, rules with a name that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from core.consistency_common import MASS_TOLERANCE, MAX_NODES, equal, masses, once
from core.extras import Extras, Pick, PrefixExtras, PrefixLine, PrefixNode, SelectionExtras, Way
from core.trace import Nodes

_WAYS: tuple[Way, ...] = get_args(Way)
_IN_USE: Way = "top_and_one"  # how drafts are made where bounds are recorded
_RULES = ("naive", "recursive", "k_seq", "optimum")
_RUNGS = {
    "one/standard",
    "deterministic/one_hot",
    *(f"{way}/{rule}" for way in _WAYS for rule in _RULES),
}


def bound_problems(extra: Extras, nodes: Nodes) -> Iterator[str]:
    """Yield what is wrong with a block about a selection or a bound; nothing for other blocks."""
    if isinstance(extra, SelectionExtras):
        for pick in extra.picks:
            yield from _pick(pick, nodes)
    elif isinstance(extra, PrefixExtras):
        for found in extra.nodes:
            yield from _node(found, len(nodes.token))


def _pick(pick: Pick, nodes: Nodes) -> Iterator[str]:
    where = f"extras, selection at node {pick.node}"
    met = {node for duel in pick.duels for node in (duel.held, duel.new)}
    if not {pick.selected, *met} <= set(pick.candidates):
        yield f"{where}: what was selected, or met, is no candidate."
    if not 1 <= pick.used <= len(pick.candidates):
        yield f"{where}: {pick.used} of {len(pick.candidates)} drafts cannot have taken part."
    size = len(nodes.parent)
    if any(n >= size or nodes.parent[n] != pick.node for n in pick.candidates):
        yield f"{where}: a candidate is no child of the node, as it must be."
    elif not {nodes.token[n] for n in pick.candidates} <= set(pick.token):
        yield f"{where}: a candidate's token is not among those with laws."
    yield from once(where, pick.token)
    pairs = pick.free * (pick.free - 1) // 2
    if pick.free > len(pick.token) or len(pick.chance) != pairs:
        yield f"{where}: {len(pick.chance)} chances do not fit {pick.free} tokens."
    yield from _laws(where, pick)


def _laws(where: str, pick: Pick) -> Iterator[str]:
    if (pick.q is None) != (pick.q_rest is None):
        yield f"{where}: q and q_rest must both be given, or both be null."
    yield from masses(f"{where}, p", pick.token, pick.p, pick.p_rest)
    yield from masses(f"{where}, picked", pick.token, pick.picked, pick.picked_rest)
    if pick.q is not None:
        yield from masses(f"{where}, q", pick.token, pick.q, pick.q_rest or 0.0)


def _node(node: PrefixNode, size: int) -> Iterator[str]:
    where = f"extras, bounds at node {node.node}"
    if node.node >= size or node.fixed > node.drafts:
        yield f"{where}: the node does not exist, or more are fixed than there are drafts."
    if node.drafts > MAX_NODES:
        yield f"{where}: there are {node.drafts:,} drafts; {MAX_NODES:,} are allowed."
    ways = sorted(way.way for line in node.lines for way in line.ways)
    needed = _WAYS if node.rungs else (_IN_USE,)
    if not set(needed) <= set(ways) or len(set(ways)) < len(ways):
        told = ", ".join(ways) or "no ways"
        yield f"{where}: it has {told}, but {', '.join(needed)} must stand there, each way once."
    yield from _ladder(where, [rung.name for rung in node.rungs])
    for line in node.lines:
        yield from _line(where, line)


def _ladder(where: str, names: Sequence[str]) -> Iterator[str]:
    needed = {"one/standard", *(f"{way}/optimum" for way in _WAYS)}
    if names and not needed <= set(names):
        yield f"{where}: the ladder needs {', '.join(sorted(needed))}."
    strange = next((name for name in names if name not in _RUNGS), None)
    if strange is not None:
        yield f"{where}: the ladder has a rung {strange[:40]!r}, but no rule has that name."
    if len(set(names)) < len(names):
        yield f"{where}: the ladder has one rung twice."


def _line(where: str, line: PrefixLine) -> Iterator[str]:
    size = len(line.mass)
    columns: dict[str, Sequence[object]] = {way.way: way.inside for way in line.ways}
    yield from equal(where, {"target": line.target, **columns}, size, "prefixes")
    yield from equal(where, {"begin": line.begin, "end": line.end}, len(line.token), "tokens")
    for way in line.ways:
        if way.widest >= size:
            yield f"{where}: the widest gap is at entry {way.widest} of {size}."
        elif abs(way.inside[way.widest] - line.target[way.widest] + way.optimum - 1) > (
            MASS_TOLERANCE
        ):
            yield f"{where}: optimum {way.optimum:g} is not what the widest gap leaves."
