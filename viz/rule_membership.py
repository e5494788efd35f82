"""Words for nodes that naive membership decided: the target draws, and its token is looked for."""

from __future__ import annotations

from viz.numbers import decimals_for, difference, probability
from viz.payload import Run
from viz.reading import Reading
from viz.sentence import Part, say

_REASONS = frozenset({"target_drew_it", "target_drew_another"})


def told(reading: Reading, node: int) -> list[Run] | None:
    """Return the test of a candidate in words; None where another rule decided it."""
    check = reading.check(node)
    if check is None or reading.round.nodes.reason[node] not in _REASONS:
        return None
    chance, u = check.accept_probability, check.u
    decimals = decimals_for(chance, u)
    mark = probability(chance, decimals)
    law = "what p has left" if reading.missed(node) else "p"
    opening: list[Part] = [
        f"{reading.state(node).capitalize()}. The target draws a token of its own and looks for it "
        "among the candidates; what the draft gave them plays no part. ",
        reading.label(node),
    ]
    if chance <= 0:
        return say(*opening, f" has nothing of {law}, so it cannot be drawn.")
    if chance >= 1:
        return say(*opening, f" has all of {law}, so nothing else can be drawn.")
    where = "inside" if u < chance else "beyond"
    shown = probability(u, decimals)
    fell = f" The dart fell at {shown}, {where} it by {difference(shown, mark)}."
    return say(*opening, f" is drawn with its share of {law}, {mark}.{fell}")
