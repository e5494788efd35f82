"""All that is known at one node: its test in words, the dart line, the laws, six scalars."""

from __future__ import annotations

from viz.bars import bars
from viz.follow import after
from viz.numbers import decimals_for, nats, probability
from viz.payload import Board, Inspector
from viz.reading import OWN, Reading
from viz.rule_selection import law_name
from viz.rules import by_quotient, is_without_luck, rule
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
        luck = not (reading.greedy or is_without_luck(reading, place))
        return f"{'Dart' if luck else 'Check'} {place + 1}"
    if reading.round.nodes.reason[node] == "not_selected":
        return "Not selected"
    return TITLES.get(reading.state(node), reading.state(node).capitalize())


def board(reading: Reading, node: int) -> Board | None:
    """Return the dart line of a tested node; none where no luck is involved."""
    check = None if node == OWN else reading.check(node)
    if check is None or reading.greedy or is_without_luck(reading, reading.check_of[node]):
        return None
    q = 1.0 if check.q is None else check.q
    covered = min(q, q * check.accept_probability)
    decimals = decimals_for(check.accept_probability, check.u)
    mark = probability(check.accept_probability, decimals)
    law = law_name(reading, node)
    name = "p" if check.q is None else f"p/{law}" if by_quotient(check) else "keep"
    return {
        "q": q,
        "covered": covered,
        "keep": check.accept_probability,
        "u": check.u,
        "passed": check.passed,
        "bar_text": _bar_text(law, check.q, covered, by_quotient(check)),
        "keep_text": f"{name} > 1"
        if name == f"p/{law}" and check.p and check.p > q
        else f"{name} {mark}",
        "u_text": f"u {probability(check.u, decimals)}",
    }


def _bar_text(law: str, q: float | None, covered: float, quotient: bool) -> str:
    part = probability(covered) if covered else "nothing"
    if q is None:
        return f"offered outright, p covers {part}"
    if not quotient:
        return f"{law} {probability(q)}, of which {part} can stay"
    if covered >= q:
        return f"{law} {probability(q)}, all of it covered by p"
    return f"{law} {probability(q)}, of which p covers {part}"


def scalars(reading: Reading, node: int) -> list[tuple[str, str]]:
    """Return the numbers of the full laws that follow `node`, those that are known.

    At temperature 0 the laws in use are one-hot: how they overlap says nothing, so it is left out.
    """
    s = reading.round.scalars
    rank = s.target_rank_in_q[node]
    raw = "" if _is_raw(reading) else " at T 1"  # those of the raw laws; the bars show those in use
    entropies = [
        (f"Entropy p{raw}, nats", _nats(s.entropy_p[node])),
        (f"Entropy q{raw}, nats", _nats(s.entropy_q[node])),
    ]
    together = [
        ("Overlap Σ min(p, q)", _share(s.overlap[node])),
        ("Left over", _share(s.tv[node])),
        *entropies,
        ("KL(q‖p), nats", _nats(s.kl_qp[node])),
    ]
    single = [
        *entropies,
        (f"Largest p{raw}", _share(s.p_max[node])),
        ("Gap of the top two, logits", _nats(s.top2_gap[node])),
        (f"End of text{raw}", _share(s.p_eos[node])),
    ]
    found = single if reading.greedy or s.overlap[node] is None else together
    found = [*found, ("Target's top in q", None if rank is None else f"rank {rank:,}")]
    return [(name, text) for name, text in found if text is not None]


def _is_raw(reading: Reading) -> bool:
    """Return whether what is shown are the laws at temperature 1, unfiltered."""
    s = reading.trace.sampling
    return reading.greedy or (s.temperature == 1 and not s.top_k and s.top_p == 1)


def _share(value: float | None) -> str | None:
    return None if value is None else probability(value)


def _nats(value: float | None) -> str | None:
    return None if value is None else nats(value)
