"""What makes a trace consistent: columns of one length, a tree, a path in it, tokens that add up.

Types and unknown fields are the business of the structs in `core.trace` when a file is decoded; what
is checked here holds between fields, and for a trace built in memory as well. Knows no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import inf, isfinite

from msgspec.structs import asdict

from core.metrics import depths, offered, totals
from core.trace import (
    SCHEMA_VERSION,
    Check,
    Extras,
    Law,
    LayersExtras,
    Nodes,
    Residual,
    Round,
    Top,
    Totals,
    Trace,
)

MAX_ROUNDS = 100_000
MAX_NODES = 4096  # per round
MASS_TOLERANCE = 1e-3  # laws hold rounded numbers

Column = Sequence[float | None]


class TraceError(ValueError):
    """A trace, or a file that should hold one, cannot be used: one sentence says why."""


def validate(trace: Trace) -> None:
    """Raise TraceError, with the round and the column named, unless the parts fit together."""
    for problem in _problems(trace):
        raise TraceError(problem)


def _problems(trace: Trace) -> Iterator[str]:
    """Yield what is wrong. Checks rely on earlier ones, so that only the first problem counts."""
    yield from _header(trace)
    ends: dict[int, tuple[int, int | None]] = {}
    start = (len(trace.prompt.token_ids), trace.prompt.token_ids[-1] if not trace.parent else None)
    for place, r in enumerate(trace.rounds):
        if r.index != place:
            yield f"Round {place}, index: it says {r.index}, but rounds are numbered from 0."
        if r.sequence >= trace.sequences:
            yield (
                f"Round {place}, sequence: it says {r.sequence}, but sequences 0 to "
                f"{trace.sequences - 1} exist."
            )
        for problem in _round(r, trace.vocabulary):
            yield f"Round {place}, {problem}"
        length, last = ends.get(r.sequence, start)
        free = trace.parent is not None and r.sequence not in ends  # a fork begins where it left
        if r.prefix_length != length and not (free and r.prefix_length > length):
            yield (
                f"Round {place}, prefix_length: it says {r.prefix_length}, but prompt and emitted "
                f"tokens so far are {length}."
            )
        if last is not None and r.nodes.token[0] != last:
            yield (
                f"Round {place}, nodes.token: node 0 is token {r.nodes.token[0]}, but the text so "
                f"far ends with token {last}."
            )
        emitted = r.outcome.emitted
        ends[r.sequence] = (r.prefix_length + len(emitted), emitted[-1] if emitted else last)
    yield from _sums(trace)


def _header(trace: Trace) -> Iterator[str]:
    if trace.schema_version != SCHEMA_VERSION:
        yield (
            f"This trace says schema version {trace.schema_version}; a trace in memory must have "
            f"version {SCHEMA_VERSION}."
        )
    if len(trace.rounds) > MAX_ROUNDS:
        yield f"This trace has {len(trace.rounds)} rounds; at most {MAX_ROUNDS} are allowed."
    if not trace.prompt.token_ids:
        yield "The prompt has no token_ids; at least one token must come before the first round."
    if trace.sequences < 1:
        yield "The trace says that it has 0 sequences; it must have at least 1."
    if not _is_time(trace.created):
        yield "The field created is no time; it must be written as in 2025-01-31T12:00:00+00:00."
    if any(token < 0 for token in trace.vocabulary):
        yield "The vocabulary has a negative token id; ids are 0 or more."
    yield from _known("The field special", trace.special, trace.vocabulary)
    yield from _known("The prompt", trace.prompt.token_ids, trace.vocabulary)
    yield from _range("The field sampling.temperature", [trace.sampling.temperature])
    yield from _range("The field sampling.top_p", [trace.sampling.top_p], high=1)
    yield from _range("The field plain_step_ms", [trace.plain_step_ms])
    for name, value in trace.config.items():
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, float) and not isfinite(part) for part in parts):
            yield f"The config entry {name[:40]} holds a number that is not finite."
    if trace.finish_reason == "error" and not trace.message:
        yield "The finish_reason is error, so the field message must say what went wrong."


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _round(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    yield from _nodes(r.nodes)
    size = len(r.nodes.token)
    yield from _known("nodes.token", r.nodes.token, vocabulary)
    yield from _checks(r)
    yield from _laws(r.laws, size, vocabulary)
    yield from _scalars(r)
    yield from _residuals(r, vocabulary)
    yield from _outcome(r, vocabulary)
    yield from _extent(r)
    yield from _judge(r)
    for name, value in asdict(r.cost).items():
        yield from _range(f"cost.{name}", [value])
    if r.stop:
        yield from _range("stop", [r.stop.value, r.stop.threshold], low=-inf)
    for extra in r.extras:
        yield from _extra(extra, r.prefix_length)


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
    yield from _range("nodes.score", nodes.score, low=-inf)
    for name in ("q", "q_before_siblings", "p", "q_raw", "p_raw"):
        yield from _range(f"nodes.{name}", asdict(nodes)[name], high=1)


def _states(nodes: Nodes) -> Iterator[str]:
    tried: set[tuple[int, int]] = set()
    for node, (state, role) in enumerate(zip(nodes.state, nodes.role, strict=True)):
        if (state == "root") != (node == 0):
            yield f"nodes.state: node {node} is {state}, but node 0 and no other is the root."
        if node and (state == "probe") != (role == "probe"):
            yield f"nodes.state: node {node} is {state}, but its role is {role}."
        if nodes.count[node] < 1:
            yield f"nodes.count: node {node} has 0 drafts; it must have at least 1."
        place = (nodes.parent[node], nodes.rank[node])
        if role == "draft" and state != "pruned" and place in tried:
            yield f"nodes.rank: node {node} has rank {place[1]}, as has another child of {place[0]}."
        if role == "draft" and state != "pruned":
            tried.add(place)


def _checks(r: Round) -> Iterator[str]:
    mark = offered(r.nodes)
    for i, check in enumerate(r.checks):
        if not (check.node < len(mark) and mark[check.node]):
            yield f"checks: check {i} tests node {check.node}, but no such node was offered."
        yield from _check_numbers(i, check)


def _check_numbers(i: int, check: Check) -> Iterator[str]:
    numbers = [check.accept_probability, check.u, check.p, check.q, check.mass_before]
    yield from _range(f"checks, check {i}", numbers, high=1)
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
        yield from _range(f"scalars.{name}", column, high=high)


def _residuals(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    for residual in r.residuals:
        if not (0 < residual.after < len(r.nodes.token)) or (
            r.nodes.parent[residual.after] != residual.node
        ):
            yield (
                f"residuals: node {residual.after} is no child of node {residual.node}, as it must "
                f"be."
            )
        yield from _range("residuals, left", [residual.left], high=1)
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
    yield from _known("outcome.emitted", outcome.emitted, vocabulary)
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
    yield from _range("judge.score", r.judge.score, low=-inf)
    yield from _range("judge.threshold", r.judge.threshold, low=-inf)
    for row in r.judge.features or []:
        yield from _range("judge.features", row, low=-inf)


def _extra(extra: Extras, prefix_length: int) -> Iterator[str]:
    if isinstance(extra, LayersExtras):
        skipped = [*extra.skipped_attention, *extra.skipped_mlp]
        if any(layer >= extra.total for layer in skipped):
            yield f"extras: a skipped layer is outside 0 to {extra.total - 1}."
        if max(extra.exit_layer or 0, extra.shared) > extra.total:
            yield f"extras: exit_layer and shared may be at most {extra.total}, the layers in all."
    else:
        starts = [start for start in (extra.match_start, extra.copy_start) if start is not None]
        if any(start >= prefix_length for start in starts):
            yield f"extras: a lookup position is outside the text, 0 to {prefix_length - 1}."


def _sums(trace: Trace) -> Iterator[str]:
    counted = asdict(totals(trace.rounds))
    for name, value in asdict(trace.totals).items():
        if not abs(value - counted[name]) <= _slack(name, counted[name]):
            yield f"The field totals.{name} says {value:g}, but the rounds add up to {counted[name]:g}."


def _slack(name: str, value: float) -> float:
    """Times are rounded where they are stored, so that sums differ in the last digits."""
    return 0.5 + 1e-3 * value if name.endswith("_ms") else 0


def _top(where: str, top: Top | Residual, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    yield from _mass(f"{where}, mass", top.token, top.mass, top.rest)
    yield from _tokens(where, top.token, vocabulary)


def _mass(where: str, tokens: Sequence[int], column: Sequence[float], rest: float) -> Iterator[str]:
    yield from _equal(where, {"it": column}, len(tokens), "tokens")
    yield from _range(where, [*column, rest], high=1)
    if sum(column) + rest > 1 + MASS_TOLERANCE:
        yield f"{where}: the mass adds up to {sum(column) + rest:.4g}; at most 1 is allowed."


def _tokens(where: str, tokens: Sequence[int], vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    if len(set(tokens)) < len(tokens):
        yield f"{where}: a token stands there twice."
    yield from _known(where, tokens, vocabulary)


def _known(where: str, tokens: Iterable[int], vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    missing = next((token for token in tokens if token not in vocabulary), None)
    if missing is not None:
        yield f"{where}: token {missing} is missing from the vocabulary of the trace."


def _equal(
    where: str, columns: Mapping[str, Sequence[object]], size: int, of: str
) -> Iterator[str]:
    for name, column in columns.items():
        if len(column) != size:
            yield f"{where}: {name} has {len(column)} entries for {size} {of}."


def _range(where: str, column: Column, low: float = 0, high: float = inf) -> Iterator[str]:
    for value in column:
        if value is not None and not (low <= value <= high and isfinite(value)):
            limits = "finite" if low == -inf else f"{low:g} or more" if high == inf else "in 0 to 1"
            yield f"{where}: it holds {value:g}; numbers there are {limits}."
