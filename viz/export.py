"""Tables of a trace as CSV: rounds, nodes or darts, one line each, full numbers.

Token text is written as the page shows it. A cell that a spreadsheet would take for a formula
begins with an apostrophe; the token id beside it is exact.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Literal

from core.trace import Round, Trace
from viz.reading import Reading, read, vocabulary
from viz.text import Vocabulary, alone

Table = Literal["rounds", "nodes", "darts"]
Cell = str | int | float | bool | None

_ROUND = (
    "round",
    "sequence",
    "prefix_length",
    "drafted",
    "tested",
    "accepted",
    "emitted",
    "origin",
)
_COST = ("stop", "draft_forwards", "target_forwards", "target_tokens")
_TIME = ("draft_ms", "verify_ms", "accept_ms", "record_ms", "text")
_NODE = ("round", "node", "parent", "depth", "rank", "token", "text", "role", "state", "reason")
_FROM = ("source", "score", "p", "q", "q_before_siblings", "p_raw", "q_raw")
_LAW = ("entropy_p", "entropy_q", "overlap", "rank_in_p")
_DART = ("round", "dart", "node", "token", "text", "accept_probability", "u", "passed")
_TERMS = ("p", "q", "mass_before", "state", "reason")


def to_csv(trace: Trace, table: Table) -> str:
    """Return one table with a header line; rows end in CRLF, as RFC 4180 says."""
    head, rows = {
        "rounds": ((*_ROUND, *_COST, *_TIME), _rounds),
        "nodes": ((*_NODE, *_FROM, *_LAW), _nodes),
        "darts": ((*_DART, *_TERMS), _darts),
    }[table]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    for row in rows(trace):
        writer.writerow([safe(cell) for cell in row])
    return out.getvalue()


def safe(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{cell}"
    return cell


def _rounds(trace: Trace) -> Iterator[Sequence[Cell]]:
    words = vocabulary(trace)
    for r in trace.rounds:
        cost, outcome = r.cost, r.outcome
        yield (
            *(r.index, r.sequence, r.prefix_length, r.drafted, len(r.checks)),
            *(len(outcome.accepted), len(outcome.emitted), outcome.origin),
            r.stop.reason if r.stop else "",
            *(cost.draft_forwards, cost.target_forwards, cost.target_tokens),
            *(cost.draft_ms, cost.verify_ms, cost.accept_ms, cost.record_ms),
            _text(r, words),
        )


def _text(r: Round, words: Vocabulary) -> str:
    labels = [each.label for each in words.flow(r.outcome.emitted)]
    return "".join((" " if label["space"] else "") + label["text"] for label in labels)


def _nodes(trace: Trace) -> Iterator[Sequence[Cell]]:
    for reading in _readings(trace):
        n, s = reading.round.nodes, reading.round.scalars
        for i in range(reading.size):
            yield (
                *(reading.round.index, i, n.parent[i], reading.depths[i], n.rank[i], n.token[i]),
                alone(reading.label(i)),
                *(n.role[i], n.state[i], n.reason[i], n.source[i], n.score[i]),
                *(n.p[i], n.q[i], n.q_before_siblings[i], n.p_raw[i], n.q_raw[i]),
                *(s.entropy_p[i], s.entropy_q[i], s.overlap[i], s.rank_in_p[i]),
            )


def _darts(trace: Trace) -> Iterator[Sequence[Cell]]:
    for reading in _readings(trace):
        n = reading.round.nodes
        for place, check in enumerate(reading.round.checks):
            node = check.node
            yield (
                *(reading.round.index, place + 1, node, n.token[node]),
                alone(reading.label(node)),
                *(check.accept_probability, check.u, check.passed),
                *(check.p, check.q, check.mass_before, n.state[node], n.reason[node]),
            )


def _readings(trace: Trace) -> Iterator[Reading]:
    words = vocabulary(trace)
    return (read(trace, index, words) for index in range(len(trace.rounds)))
