"""The host's half of recording: from the reduced numbers of one round to the blocks of the trace.

Recording always happens; what it costs is part of the record (`record_ms`). Numbers carry six
significant digits, except those that decided: u and the accept probability are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import isfinite

from numpy import bool_
from numpy.typing import NDArray

from core.host import Floats, bool_rows, float_blocks, float_rows, floats, int_rows
from core.models.base import Scores
from core.reduce import Fetched, fetch, first_places, reduce_round, rest_of
from core.trace import Law, Nodes, Residual, Role, Scalars, State, Top
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, Table

Column = list[float | None]

_KEPT: tuple[State, ...] = ("accepted", "relaxed")
_DRAFT: list[Role] = ["draft"]
_PRUNED: list[State] = ["pruned"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The blocks of a round that come from its laws."""

    nodes: Nodes
    laws: list[Law]
    scalars: Scalars
    residuals: list[Residual]
    final_top: Top | None


def record(
    draft: Draft, scores: Scores, table: Table, outcome: Outcome, context: Context, eos: int | None
) -> Recorded:
    """Return what the trace keeps of one round; `eos` is the token whose probability is kept as
    `p_eos`.
    """
    numbers = fetch(reduce_round(draft, scores, table, outcome, context, eos))
    ends = _tops(numbers)
    return Recorded(
        nodes=_nodes(draft, outcome, context, table, numbers),
        laws=_laws(draft, numbers),
        scalars=_scalars(draft, numbers),
        residuals=_residuals(draft, outcome, table, ends),
        final_top=ends[-1] if outcome.final is not None else None,
    )


def _tops(numbers: Fetched) -> list[Top]:
    """Return what is kept of the laws that ended a node; tokens without mass are not."""
    if "end_tokens" not in numbers:
        return []
    mass = numbers["end_mass"].clip(0, 1)
    rest = floats(rest_of(mass))
    columns = zip(int_rows(numbers["end_tokens"]), float_rows(mass), rest, strict=True)
    return [
        Top(token=list(compress(ids, masses)), mass=list(filter(None, masses)), rest=other)
        for ids, masses, other in columns
    ]


def _residuals(draft: Draft, outcome: Outcome, table: Table, ends: Sequence[Top]) -> list[Residual]:
    found = table.residuals(outcome)
    return [
        Residual(
            node=draft.tree.parents[remains.after],
            after=remains.after,
            left=_probability(remains.left),
            token=top.token,
            mass=top.mass,
            rest=top.rest,
        )
        for remains, top in zip(found, ends[: len(found)], strict=True)
    ]


def _nodes(
    draft: Draft, outcome: Outcome, context: Context, table: Table, numbers: Fetched
) -> Nodes:
    tree, size = draft.tree, len(draft.tree)
    p, p_raw, _ = ([None, *column] for column in float_rows(numbers["own_p"]))
    nothing: list[Column] = [[None] * size, [None] * size]
    q, q_raw = [[None, *c] for c in float_rows(numbers["own_q"])] if "own_q" in numbers else nothing
    states, told = _states(draft, outcome), table.reasons(outcome)
    greedy = context.law.is_greedy
    reasons = [told.get(node) or _reason(draft, states, node, greedy) for node in range(size)]
    left = draft.pruned
    more = len(left.tokens) if left else 0
    unknown: Column = [None] * more
    sources = list(draft.sources) or [""] * size
    return Nodes(
        token=[*tree.tokens, *(left.tokens if left else ())],
        parent=[*tree.parents, *(left.parents if left else ())],
        rank=[*tree.ranks, *_later_ranks(draft)],
        count=[*tree.counts, *[1] * more],
        role=[*tree.roles, *_DRAFT * more],
        source=[*sources, *sources[-1:] * more],
        score=[*(draft.scores or [None] * size), *(left.scores if left else ())],
        q=[*(_maybe(value) for value in table.drawn), *(left.q if left else ())],
        q_before_siblings=[*(_maybe(value) for value in q), *(left.q if left else ())],
        p=[*(_maybe(value) for value in p), *unknown],
        q_raw=[*(_maybe(value) for value in q_raw), *unknown],
        p_raw=[*(_maybe(value) for value in p_raw), *unknown],
        state=[*states, *_PRUNED * more],
        reason=[*reasons, *[left.reason if left else ""] * more],
    )


def _later_ranks(draft: Draft) -> list[int]:
    """Return the places of what was not offered, behind their offered siblings."""
    if draft.pruned is None:
        return []
    seen = Counter(draft.tree.parents[1:])
    ranks: list[int] = []
    for parent in draft.pruned.parents:
        ranks.append(seen[parent])
        seen[parent] += 1
    return ranks


def _states(draft: Draft, outcome: Outcome) -> list[State]:
    rejected = {check.node for check in outcome.checks if not check.passed}
    path, relaxed = set(outcome.path), set(outcome.relaxed)
    states: list[State] = ["root"]
    for node in range(1, len(draft.tree)):
        if draft.tree.roles[node] == "probe":
            states.append("probe")
        elif node in path:
            states.append("relaxed" if node in relaxed else "accepted")
        else:
            states.append("rejected" if node in rejected else "unreached")
    return states


def _reason(draft: Draft, states: Sequence[State], node: int, greedy: bool) -> str:
    """Return the short key of why a node has its state."""
    state = states[node]
    fixed = draft.sampling_at(draft.tree.parents[node]) is Sampling.DETERMINISTIC if node else False
    if state in ("accepted", "relaxed", "rejected"):
        kept = state != "rejected"
        if greedy:
            return "argmax" if kept else "not_argmax"
        return ("u<p" if kept else "u>=p") if fixed else ("u<p/q" if kept else "u>=p/q")
    if state != "unreached":
        return ""
    parent = draft.tree.parents[node]
    if states[parent] not in ("root", *_KEPT):
        return "parent_rejected" if states[parent] == "rejected" else "parent_unreached"
    siblings = draft.tree.children(parent)
    return "sibling_accepted" if any(states[s] in _KEPT for s in siblings) else "text_ended"


def _laws(draft: Draft, numbers: Fetched) -> list[Law]:
    tokens = numbers["tokens"]
    first = first_places(tokens)
    kept, ids = bool_rows(first), int_rows(tokens)
    p, p_raw = _sides(numbers["p"], first)
    q, q_raw = _sides(numbers["q"], first[draft.scored]) if "q" in numbers else (None, None)
    laws: list[Law] = []
    for node, keep in enumerate(kept):
        row = draft.rows.get(node)
        law_q = None if q is None or row is None else q.at(row, keep)
        law_q_raw = None if q_raw is None or row is None else q_raw.at(row, keep)
        laws.append(
            Law(
                node=node,
                token=list(compress(ids[node], keep)),
                p=p.at(node, keep),
                p_raw=p_raw.at(node, keep),
                q=law_q,
                q_raw=law_q_raw,
                p_rest=p.rest[node],
                p_raw_rest=p_raw.rest[node],
                q_rest=None if q is None or row is None else q.rest[row],
                q_raw_rest=None if q_raw is None or row is None else q_raw.rest[row],
            )
        )
    return laws


@dataclass(frozen=True, slots=True)
class _Side:
    """Mass of the kept tokens of R laws, and of all others."""

    mass: list[list[float]]
    rest: list[float]

    def at(self, row: int, keep: Sequence[bool]) -> list[float]:
        return list(compress(self.mass[row], keep))


def _sides(mass: Floats, first: NDArray[bool_]) -> list[_Side]:
    """Return the law in use and the raw law of `mass` (2, R, K), of what `first` (R, K) marks."""
    mass = mass.clip(0, 1)
    rest = float_rows(rest_of(mass * first))
    return [_Side(*side) for side in zip(float_blocks(mass), rest, strict=True)]


def _scalars(draft: Draft, numbers: Fetched) -> Scalars:
    size = len(draft.tree)
    entropy_p, h3, p_max, gap, p_eos = float_rows(numbers["target"])
    rank = [None, *(int(rank) for rank in floats(numbers["own_p"][2]))]
    blank: Column = [None] * size
    entropy_q, overlap, kl_qp, kl_pq, rank_q = blank, blank, blank, blank, blank
    if "draft" in numbers:
        columns = [_spread(column, draft.rows, size) for column in float_rows(numbers["draft"])]
        entropy_q, overlap, kl_qp, kl_pq, rank_q = columns
    more: list[None] = [None] * (len(draft.pruned.tokens) if draft.pruned else 0)
    return Scalars(
        entropy_p=[*(_positive(v) for v in entropy_p), *more],
        entropy_q=[*(_positive(v) for v in entropy_q), *more],
        h3=[*(_positive(v) for v in h3), *more],
        p_max=[*(_maybe(v) for v in p_max), *more],
        top2_gap=[*(_positive(v) for v in gap), *more],
        p_eos=[*(_maybe(v) for v in p_eos), *more],
        overlap=[*(_maybe(v) for v in overlap), *more],
        tv=[*(None if v is None else round(1 - _probability(v), 6) for v in overlap), *more],
        kl_qp=[*(_positive(v) for v in kl_qp), *more],
        kl_pq=[*(_positive(v) for v in kl_pq), *more],
        rank_in_p=[*rank, *more],
        target_rank_in_q=[*(None if v is None else int(v) for v in rank_q), *more],
    )


def _spread(column: Sequence[float], rows: dict[int, int], size: int) -> Column:
    return [column[rows[node]] if node in rows else None for node in range(size)]


def _probability(value: float) -> float:
    """Clip rounding errors of sums and quotients into [0, 1]."""
    return min(max(value, 0.0), 1.0)


def _maybe(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else _probability(value)


def _positive(value: float | None) -> float | None:
    """Clip rounding errors below 0; None where a divergence or gap is not finite."""
    return None if value is None or not isfinite(value) else max(value, 0.0)
