"""What must hold inside one round: columns of one length, a tree, a path in it, laws within one.

Types and unknown fields are the business of the structs in `core.trace` when a file is decoded;
what is checked here holds between fields, and for a round built in memory as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from msgspec.structs import asdict

from core.consistency_blocks import block_problems
from core.consistency_common import MAX_NODES, equal, in_range, known, masses, once
from core.metrics import depths, offered
from core.trace import Check, Law, Nodes, Residual, Round, Top


def round_problems(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    """Yield what is wrong inside one round, the column first. Only the first problem counts."""
    yield from _nodes(r.nodes)
    size = len(r.nodes.token)
    yield from known("nodes.token", r.nodes.token, vocabulary)
    yield from _checks(r)
    yield from _laws(r.laws, size, vocabulary)
    yield from _scalars(r)
    yield from _residuals(r, vocabulary)
    yield from _outcome(r, vocabulary)
    yield from _extent(r)
    yield from _judge(r)
    for name, value in asdict(r.cost).items():
        yield from in_range(f"cost.{name}", [value])
    if r.stop:
        yield from in_range("stop", [r.stop.value, r.stop.threshold], low=-inf)
    yield from block_problems(r, vocabulary)


def _nodes(nodes: Nodes) -> Iterator[str]:
    size = len(nodes.token)
    if not 1 <= size <= MAX_NODES:
        yield f"nodes: there are {size} nodes; 1 to {MAX_NODES} are allowed."
    yield from equal("nodes", asdict(nodes), size, "nodes")
    for node, parent in enumerate(nodes.parent):
        if node == 0 and parent != -1:
            yield f"nodes.parent: node 0 has parent {parent}, but it is the root and must have -1."
        if node and not 0 <= parent < node:
            yield (
                f"nodes.parent: node {node} has parent {parent}, but a parent must come before its "
                f"child."
            )
    yield from _states(nodes)
    yield from in_range("nodes.score", nodes.score, low=-inf)
    for name in ("q", "q_before_siblings", "p", "q_raw", "p_raw"):
        yield from in_range(f"nodes.{name}", asdict(nodes)[name], high=1)


def _states(nodes: Nodes) -> Iterator[str]:
    tried: set[tuple[int, int]] = set()
    for node, (state, role) in enumerate(zip(nodes.state, nodes.role, strict=True)):
        if (state == "root") != (node == 0):
            yield f"nodes.state: node {node} is {state}, but node 0 and no other is the root."
        if node and (state == "probe") != (role == "probe"):
            yield f"nodes.state: node {node} is {state}, but its role is {role}."
        if nodes.count[node] < 1:
            yield f"nodes.count: node {node} has 0 drafts; it must have at least 1."
    for node in (node for node, ok in enumerate(offered(nodes)) if ok):
        parent, rank = nodes.parent[node], nodes.rank[node]
        if (parent, rank) in tried:
            yield f"nodes.rank: node {node} has rank {rank}, as has another child of {parent}."
        tried.add((parent, rank))


def _checks(r: Round) -> Iterator[str]:
    mark = offered(r.nodes)
    for i, check in enumerate(r.checks):
        if not (check.node < len(mark) and mark[check.node]):
            yield f"checks: check {i} tests node {check.node}, but no such node was offered."
        yield from _check_numbers(i, check)


def _check_numbers(i: int, check: Check) -> Iterator[str]:
    numbers = [check.accept_probability, check.u, check.p, check.q, check.mass_before]
    yield from in_range(f"checks, check {i}", numbers, high=1)
    if check.passed != (check.u < check.accept_probability):
        yield (
            f"checks: check {i} {'passed' if check.passed else 'failed'} with u {check.u:g} and "
            f"accept_probability {check.accept_probability:g}, but it passes when u is smaller."
        )


def _laws(laws: Sequence[Law], size: int, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    seen: set[int] = set()
    for law in laws:
        if law.node >= size or law.node in seen:
            yield f"laws: node {law.node} has two laws or does not exist."
        seen.add(law.node)
        where = f"laws, node {law.node}"
        sides = {
            "p": (law.p, law.p_rest),
            "p_raw": (law.p_raw, law.p_raw_rest),
            "q": (law.q, law.q_rest),
            "q_raw": (law.q_raw, law.q_raw_rest),
        }
        for name, (column, rest) in sides.items():
            if (column is None) != (rest is None):
                yield f"{where}: {name} and {name}_rest must both be given, or both be null."
            if column is not None and rest is not None:
                yield from masses(f"{where}, {name}", law.token, column, rest)
        yield from once(where, law.token)
        yield from known(where, law.token, vocabulary)


def _scalars(r: Round) -> Iterator[str]:
    columns = asdict(r.scalars)
    yield from equal("scalars", columns, len(r.nodes.token), "nodes")
    for name, column in columns.items():
        high = 1 if name in ("p_max", "p_eos", "overlap", "tv") else inf
        yield from in_range(f"scalars.{name}", column, high=high)


def _residuals(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    for residual in r.residuals:
        if not (0 < residual.after < len(r.nodes.token)) or (
            r.nodes.parent[residual.after] != residual.node
        ):
            yield (
                f"residuals: node {residual.after} is no child of node {residual.node}, as it must "
                f"be."
            )
        yield from in_range("residuals, left", [residual.left], high=1)
        yield from _top(f"residuals, after node {residual.after}", residual, vocabulary)


def _outcome(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    mark, outcome, end = offered(r.nodes), r.outcome, 0
    for node in outcome.accepted:
        if not (node < len(mark) and mark[node] and r.nodes.parent[node] == end):
            yield (
                f"outcome.accepted: node {node} does not continue the path, since it is no offered "
                f"child of node {end}."
            )
        end = node
    kept = [node for node, s in enumerate(r.nodes.state) if s in ("accepted", "relaxed")]
    if kept != outcome.accepted:
        yield f"nodes.state: nodes {kept[:8]} are accepted, but the path has others."
    tokens = [r.nodes.token[node] for node in outcome.accepted]
    if outcome.final_token is not None:
        tokens.append(outcome.final_token)
    if outcome.emitted != tokens:
        yield "outcome.emitted: its tokens differ from the accepted path and final_token."
    yield from known("outcome.emitted", outcome.emitted, vocabulary)
    if outcome.final_top:
        yield from _top("outcome.final_top", outcome.final_top, vocabulary)
    yield from _origin(r)


def _origin(r: Round) -> Iterator[str]:
    origin = r.outcome.origin
    if (origin == "none") != (r.outcome.final_token is None):
        yield f"outcome.origin: it says {origin}, but it is none exactly without a final_token."
    if origin != "none" and (origin == "plain") != (r.drafted == 0):
        yield f"outcome.origin: it says {origin}, but it is plain exactly when nothing was drafted."


def _extent(r: Round) -> Iterator[str]:
    mark, depth = offered(r.nodes), depths(r.nodes)
    if r.drafted != sum(mark):
        yield f"drafted: it says {r.drafted}, but {sum(mark)} nodes were offered."
    deepest = max((d for d, ok in zip(depth, mark, strict=True) if ok), default=0)
    if r.max_depth != deepest:
        yield f"max_depth: it says {r.max_depth}, but the deepest offered node is at {deepest}."


def _judge(r: Round) -> Iterator[str]:
    if r.judge is None:
        return
    columns = {name: column for name, column in asdict(r.judge).items() if column is not None}
    yield from equal("judge", columns, len(r.checks), "checks")
    yield from in_range("judge.score", r.judge.score, low=-inf)
    yield from in_range("judge.threshold", r.judge.threshold, low=-inf)
    for row in r.judge.features or []:
        yield from in_range("judge.features", row, low=-inf)


def _top(where: str, top: Top | Residual, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    yield from masses(f"{where}, mass", top.token, top.mass, top.rest)
    yield from once(where, top.token)
    yield from known(where, top.token, vocabulary)
