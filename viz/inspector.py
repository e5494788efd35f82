"""All that is known at one node: its test in words, the dart line, the laws, six scalars."""

from __future__ import annotations

from viz.bars import bars
from viz.follow import after
from viz.numbers import decimals_for, nats, probability
from viz.payload import Board, Inspector
from viz.reading import OWN, Reading
from viz.rules import by_quotient, rule
from viz.states import state_of

TITLES = {"unreached": "Not reached", "pruned": "Pruned", "probe": "Probe", "root": "Text so far"}
OWN_TITLES = {
    "correction": "Correction",
    "bonus": "Bonus",
    "plain": "Written by the target",
    "none": "Last token",
}


def inspector(reading: Reading, node: int) -> Inspector:
    """Return the inspector of a node, or of the target's own token."""
    rows = bars(reading, node)
    return {
        "node": node,
        "title": title(reading, node),
        "label": reading.label(node),
        "state": state_of(reading, node),
        "rule": rule(reading, node),
        "board": board(reading, node),
        "bars": rows,
        "has_q": any(row["q"] is not None for row in rows),
        "has_residual": any(row["remains"] is not None for row in rows),
        "after": after(reading, node),
        "scalars": scalars(reading, 0 if node == 0 else reading.parent(node)),
    }


def title(reading: Reading, node: int) -> str:
    if node == OWN:
        return OWN_TITLES[reading.round.outcome.origin]
    place = reading.check_of.get(node)
    if place is not None:
        return f"{'Check' if reading.greedy else 'Dart'} {place + 1}"
    return TITLES.get(reading.state(node), reading.state(node).capitalize())


def board(reading: Reading, node: int) -> Board | None:
    """Return the dart line of a tested node; none at temperature 0, where no luck is involved."""
    check = None if node == OWN else reading.check(node)
    if check is None or reading.greedy:
        return None
    q = 1.0 if check.q is None else check.q
    covered = min(q, q * check.accept_probability)
    decimals = decimals_for(check.accept_probability, check.u)
    mark = probability(check.accept_probability, decimals)
    name = "p" if check.q is None else "p/q" if by_quotient(check) else "keep"
    return {
        "q": q,
        "covered": covered,
        "keep": check.accept_probability,
        "u": check.u,
        "passed": check.passed,
        "bar_text": _bar_text(q, covered),
        "keep_text": f"{name} > 1"
        if name == "p/q" and check.p and check.p > q
        else f"{name} {mark}",
        "u_text": f"u {probability(check.u, decimals)}",
    }


def _bar_text(q: float, covered: float) -> str:
    if covered >= q:
        return f"q {probability(q)}, all of it covered by p"
    return f"q {probability(q)}, of which p covers {probability(covered) if covered else 'nothing'}"


def scalars(reading: Reading, node: int) -> list[tuple[str, str]]:
    """Return the numbers of the full laws that follow `node`, those that are known.

    At temperature 0 the laws in use are one-hot: how they overlap says nothing, so it is left out.
    """
    s = reading.round.scalars
    rank = s.target_rank_in_q[node]
    entropies = [
        ("Entropy p, nats", _nats(s.entropy_p[node])),
        ("Entropy q, nats", _nats(s.entropy_q[node])),
    ]
    together = [
        ("Overlap Σ min(p, q)", _share(s.overlap[node])),
        ("Left over", _share(s.tv[node])),
        *entropies,
        ("KL(q‖p), nats", _nats(s.kl_qp[node])),
    ]
    single = [
        *entropies,
        ("Largest p", _share(s.p_max[node])),
        ("Gap of the top two, logits", _nats(s.top2_gap[node])),
        ("End of text", _share(s.p_eos[node])),
    ]
    found = single if reading.greedy or s.overlap[node] is None else together
    found = [*found, ("Target's top in q", None if rank is None else f"rank {rank:,}")]
    return [(name, text) for name, text in found if text is not None]


def _share(value: float | None) -> str | None:
    return None if value is None else probability(value)


def _nats(value: float | None) -> str | None:
    return None if value is None else nats(value)
