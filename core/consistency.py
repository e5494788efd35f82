"""What must hold inside one round: columns of one length, a tree, a path in it, laws within one.

Types and unknown fields are the business of the structs in `core.trace` when a file is decoded;
what is checked here holds between fields, and for a round built in memory as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import asdict

from core.consistency_plans import plan_problems
from core.consistency_rules import rule_problems
from core.consistency_trees import tree_problems
from core.extras import (
    Extras,
    LayersExtras,
    LevelsExtras,
    LookupExtras,
    Pick,
    PrefixExtras,
    PrefixLine,
    PrefixNode,
    SelectionExtras,
    TypicalExtras,
    Way,
    tokens_of,
)
from core.metrics import depths, offered
from core.trace import Check, Law, Nodes, Residual, Round, Top

MAX_NODES = 4096  # per round
MASS_TOLERANCE = 1e-3  # laws hold rounded numbers

Column = Sequence[float | None]


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
    for extra in r.extras:
        yield from _extra(extra, r)
        yield from known("extras", tokens_of(extra), vocabulary)


def _nodes(nodes: Nodes) -> Iterator[str]:
    size = len(nodes.token)
    if not 1 <= size <= MAX_NODES:
        yield f"nodes: there are {size} nodes; 1 to {MAX_NODES} are allowed."
    yield from _equal("nodes", asdict(nodes), size, "nodes")
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
                yield from _mass(f"{where}, {name}", law.token, column, rest)
        yield from _tokens(where, law.token, vocabulary)


def _scalars(r: Round) -> Iterator[str]:
    columns = asdict(r.scalars)
    yield from _equal("scalars", columns, len(r.nodes.token), "nodes")
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
    yield from _equal("judge", columns, len(r.checks), "checks")
    yield from in_range("judge.score", r.judge.score, low=-inf)
    yield from in_range("judge.threshold", r.judge.threshold, low=-inf)
    for row in r.judge.features or []:
        yield from in_range("judge.features", row, low=-inf)


def _extra(extra: Extras, r: Round) -> Iterator[str]:
    yield from _finite("extras", extra)
    yield from tree_problems(extra, r.nodes)
    yield from plan_problems(extra, r.nodes)
    yield from rule_problems(extra, r.nodes)
    if isinstance(extra, SelectionExtras):
        for pick in extra.picks:
            yield from _pick(pick, r.nodes)
    if isinstance(extra, PrefixExtras):
        for found in extra.nodes:
            yield from _prefix_node(f"extras, bounds at node {found.node}", found, r)
    if isinstance(extra, LayersExtras):
        skipped = [*extra.skipped_attention, *extra.skipped_mlp]
        if any(layer >= extra.total for layer in skipped):
            yield f"extras: a skipped layer is outside 0 to {extra.total - 1}."
        if max(extra.exit_layer or 0, extra.shared) > extra.total:
            yield f"extras: exit_layer and shared may be at most {extra.total}, the layers in all."
    if isinstance(extra, LookupExtras):
        starts = [start for start in (extra.match_start, extra.copy_start) if start is not None]
        if any(start >= r.prefix_length for start in starts):
            yield f"extras: a lookup position is outside the text, 0 to {r.prefix_length - 1}."
    if isinstance(extra, LevelsExtras) and len(extra.widths) < r.max_depth:
        yield f"extras: there are {len(extra.widths)} widths for a draft {r.max_depth} levels deep."
    if isinstance(extra, TypicalExtras):
        columns = {"entropy": extra.entropy, "passed": extra.passed}
        yield from _equal("extras", columns, len(r.nodes.token), "nodes")


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
    pairs = pick.free * (pick.free - 1) // 2
    if pick.free > len(pick.token) or len(pick.chance) != pairs:
        yield f"{where}: {len(pick.chance)} chances do not fit {pick.free} tokens."
    if (pick.q is None) != (pick.q_rest is None):
        yield f"{where}: q and q_rest must both be given, or both be null."
    yield from _mass(f"{where}, p", pick.token, pick.p, pick.p_rest)
    yield from _mass(f"{where}, picked", pick.token, pick.picked, pick.picked_rest)
    if pick.q is not None:
        yield from _mass(f"{where}, q", pick.token, pick.q, pick.q_rest or 0.0)


def _prefix_node(where: str, node: PrefixNode, r: Round) -> Iterator[str]:
    if node.node >= len(r.nodes.token) or node.fixed > node.drafts:
        yield f"{where}: the node does not exist, or more are fixed than there are drafts."
    ways = sorted(way.way for line in node.lines for way in line.ways)
    if ways != sorted(get_args(Way)):
        yield f"{where}: it has {', '.join(ways) or 'no ways'}, but each way stands there once."
    needed = {"one/standard", *(f"{way}/optimum" for way in ways)}
    if node.rungs and not needed <= {rung.name for rung in node.rungs}:
        yield f"{where}: the ladder needs {', '.join(sorted(needed))}."
    for line in node.lines:
        yield from _prefix_line(where, line)


def _prefix_line(where: str, line: PrefixLine) -> Iterator[str]:
    size = len(line.mass)
    columns: dict[str, Sequence[object]] = {way.way: way.inside for way in line.ways}
    yield from _equal(where, {"target": line.target, **columns}, size, "prefixes")
    yield from _equal(where, {"begin": line.begin, "end": line.end}, len(line.token), "tokens")
    for way in line.ways:
        if way.widest >= size:
            yield f"{where}: the widest gap is at entry {way.widest} of {size}."
        elif abs(way.inside[way.widest] - line.target[way.widest] + way.optimum - 1) > (
            MASS_TOLERANCE
        ):
            yield f"{where}: optimum {way.optimum:g} is not what the widest gap leaves."


def _finite(where: str, value: object) -> Iterator[str]:
    """Yield a problem for each number inside `value`, however deep, that is not finite."""
    if isinstance(value, float) and not isfinite(value):
        yield f"{where}: it holds {value:g}; numbers there are finite."
    elif isinstance(value, Struct):
        for name, part in asdict(value).items():
            yield from _finite(f"{where}, {name}", part)
    elif isinstance(value, (list, tuple)):
        for part in cast(Sequence[object], value):
            yield from _finite(where, part)


def _top(where: str, top: Top | Residual, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    yield from _mass(f"{where}, mass", top.token, top.mass, top.rest)
    yield from _tokens(where, top.token, vocabulary)


def _mass(where: str, tokens: Sequence[int], column: Sequence[float], rest: float) -> Iterator[str]:
    yield from _equal(where, {"it": column}, len(tokens), "tokens")
    yield from in_range(where, [*column, rest], high=1)
    if sum(column) + rest > 1 + MASS_TOLERANCE:
        yield f"{where}: the mass adds up to {sum(column) + rest:.4g}; at most 1 is allowed."


def _tokens(where: str, tokens: Sequence[int], vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    if len(set(tokens)) < len(tokens):
        yield f"{where}: a token stands there twice."
    yield from known(where, tokens, vocabulary)


def known(where: str, tokens: Iterable[int], vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    """Yield a problem when the vocabulary lacks one of `tokens`."""
    missing = set(tokens) - vocabulary.keys()
    if missing:
        yield f"{where}: token {min(missing)} is missing from the vocabulary of the trace."


def _equal(
    where: str, columns: Mapping[str, Sequence[object]], size: int, of: str
) -> Iterator[str]:
    for name, column in columns.items():
        if len(column) != size:
            yield f"{where}: {name} has {len(column)} entries for {size} {of}."


def in_range(where: str, column: Column, low: float = 0, high: float = inf) -> Iterator[str]:
    """Yield a problem for each number outside `low` to `high`, or not finite; None is fine."""
    for value in column:
        if value is not None and not (low <= value <= high and isfinite(value)):
            limits = "finite" if low == -inf else f"{low:g} or more" if high == inf else "in 0 to 1"
            yield f"{where}: it holds {value:g}; numbers there are {limits}."
