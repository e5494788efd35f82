"""The host's half of recording: from the reduced numbers of one round to the blocks of the trace.

Recording always happens; what it costs is part of the record (`record_ms`). Numbers carry six
significant digits, except those that decided: u and the accept probability are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from torch import Tensor

from core.host import float_blocks, float_rows, floats, int_rows
from core.models.base import Scores
from core.reduce import fetch, reduce_round
from core.trace import Law, Nodes, Residual, Scalars, State, Top
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, Table

Column = list[float | None]


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


def _tops(numbers: dict[str, Tensor]) -> list[Top]:
    if "end_tokens" not in numbers:
        return []
    tokens, masses = int_rows(numbers["end_tokens"]), float_rows(numbers["end_mass"])
    return [_top(t, m) for t, m in zip(tokens, masses, strict=True)]


def _top(tokens: Sequence[float], mass: Sequence[float]) -> Top:
    kept = [(int(t), _probability(m)) for t, m in zip(tokens, mass, strict=True) if m > 0]
    return Top(
        token=[t for t, _ in kept], mass=[m for _, m in kept], rest=_rest([m for _, m in kept])
    )


def _residuals(draft: Draft, outcome: Outcome, table: Table, ends: Sequence[Top]) -> list[Residual]:
    rejected = [check.node for check in outcome.checks if not check.passed]
    found = [(node, law[0]) for node in rejected if (law := table.residual(node)) is not None]
    return [
        Residual(
            node=draft.tree.parents[node],
            after=node,
            left=_probability(left),
            token=top.token,
            mass=top.mass,
            rest=top.rest,
        )
        for (node, left), top in zip(found, ends[: len(found)], strict=True)
    ]


def _nodes(
    draft: Draft, outcome: Outcome, context: Context, table: Table, numbers: dict[str, Tensor]
) -> Nodes:
    tree, size = draft.tree, len(draft.tree)
    p, p_raw, _ = ([None, *column] for column in float_rows(numbers["own_p"]))
    nothing: list[Column] = [[None] * size, [None] * size]
    q, q_raw = [[None, *c] for c in float_rows(numbers["own_q"])] if "own_q" in numbers else nothing
    states = _states(draft, outcome)
    return Nodes(
        token=list(tree.tokens),
        parent=list(tree.parents),
        rank=list(tree.ranks),
        count=list(tree.counts),
        role=list(tree.roles),
        source=list(draft.sources) or [""] * size,
        score=list(draft.scores) or [None] * size,
        q=[_maybe(value) for value in table.drawn],
        q_before_siblings=[_maybe(value) for value in q],
        p=[_maybe(value) for value in p],
        q_raw=[_maybe(value) for value in q_raw],
        p_raw=[_maybe(value) for value in p_raw],
        state=states,
        reason=[_reason(draft, states, node, context.law.is_greedy) for node in range(size)],
    )


def _states(draft: Draft, outcome: Outcome) -> list[State]:
    rejected = {check.node for check in outcome.checks if not check.passed}
    states: list[State] = ["root"]
    for node in range(1, len(draft.tree)):
        if draft.tree.roles[node] == "probe":
            states.append("probe")
        elif node in outcome.path:
            states.append("accepted")
        else:
            states.append("rejected" if node in rejected else "unreached")
    return states


def _reason(draft: Draft, states: Sequence[State], node: int, greedy: bool) -> str:
    """Return the short key of why a node has its state."""
    state = states[node]
    fixed = draft.sampling_at(draft.tree.parents[node]) is Sampling.DETERMINISTIC if node else False
    if state in ("accepted", "rejected"):
        kept = state == "accepted"
        if greedy:
            return "argmax" if kept else "not_argmax"
        return ("u<p" if kept else "u>=p") if fixed else ("u<p/q" if kept else "u>=p/q")
    if state != "unreached":
        return ""
    parent = draft.tree.parents[node]
    if states[parent] not in ("root", "accepted"):
        return "parent_rejected" if states[parent] == "rejected" else "parent_unreached"
    siblings = draft.tree.children(parent)
    return "sibling_accepted" if any(states[s] == "accepted" for s in siblings) else "text_ended"


def _laws(draft: Draft, numbers: dict[str, Tensor]) -> list[Law]:
    tokens = int_rows(numbers["tokens"])
    p, p_raw = float_blocks(numbers["p"])
    q, q_raw = float_blocks(numbers["q"]) if "q" in numbers else ([], [])
    laws: list[Law] = []
    for node, ids in enumerate(tokens):
        places = [place for place, token in enumerate(ids) if ids.index(token) == place]
        row = draft.rows.get(node) if q else None
        law_p, law_p_raw = _at(p[node], places), _at(p_raw[node], places)
        law_q = None if row is None else _at(q[row], places)
        law_q_raw = None if row is None else _at(q_raw[row], places)
        laws.append(
            Law(
                node=node,
                token=[ids[place] for place in places],
                p=law_p,
                p_raw=law_p_raw,
                q=law_q,
                q_raw=law_q_raw,
                p_rest=_rest(law_p),
                p_raw_rest=_rest(law_p_raw),
                q_rest=None if law_q is None else _rest(law_q),
                q_raw_rest=None if law_q_raw is None else _rest(law_q_raw),
            )
        )
    return laws


def _scalars(draft: Draft, numbers: dict[str, Tensor]) -> Scalars:
    size = len(draft.tree)
    entropy_p, h3, p_max, gap, p_eos = float_rows(numbers["target"])
    rank = [None, *(int(rank) for rank in floats(numbers["own_p"][2]))]
    blank: Column = [None] * size
    entropy_q, overlap, kl_qp, kl_pq, rank_q = blank, blank, blank, blank, blank
    if "draft" in numbers:
        columns = [_spread(column, draft.rows, size) for column in float_rows(numbers["draft"])]
        entropy_q, overlap, kl_qp, kl_pq, rank_q = columns
    return Scalars(
        entropy_p=[_positive(v) for v in entropy_p],
        entropy_q=[_positive(v) for v in entropy_q],
        h3=[_positive(v) for v in h3],
        p_max=[_maybe(v) for v in p_max],
        top2_gap=[_positive(v) for v in gap],
        p_eos=[_maybe(v) for v in p_eos],
        overlap=[_maybe(v) for v in overlap],
        tv=[None if v is None else round(1 - _probability(v), 6) for v in overlap],
        kl_qp=[_positive(v) for v in kl_qp],
        kl_pq=[_positive(v) for v in kl_pq],
        rank_in_p=rank,
        target_rank_in_q=[None if v is None else int(v) for v in rank_q],
    )


def _spread(column: Sequence[float], rows: dict[int, int], size: int) -> Column:
    return [column[rows[node]] if node in rows else None for node in range(size)]


def _at(values: Sequence[float], places: Sequence[int]) -> list[float]:
    return [_probability(values[place]) for place in places]


def _rest(values: Sequence[float]) -> float:
    """Return the mass of all other tokens; differences below the stored precision are 0."""
    rest = 1 - sum(values)
    return round(rest, 6) if rest > 2e-6 else 0.0


def _probability(value: float) -> float:
    """Clip rounding errors of sums and quotients into [0, 1]."""
    return min(max(value, 0.0), 1.0)


def _maybe(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else _probability(value)


def _positive(value: float | None) -> float | None:
    """Clip rounding errors below 0; None where a divergence or gap is not finite."""
    return None if value is None or not isfinite(value) else max(value, 0.0)
