"""Words for nodes that typical acceptance decided: p against a threshold, and no dart."""

from __future__ import annotations

from math import exp

from core.extras import TypicalExtras
from viz.numbers import DECIMALS, nats, optional, probability
from viz.payload import Run
from viz.reading import Reading
from viz.sentence import Part, say

_REASONS = frozenset({"typical", "not_typical", "outrun"})
_MOST = 6  # decimals


def told(reading: Reading, node: int) -> list[Run] | None:
    """Return the test of a candidate in words; None where another rule decided it."""
    extra = next((e for e in reading.round.extras if isinstance(e, TypicalExtras)), None)
    reason = reading.round.nodes.reason[node]
    if extra is None or reason not in _REASONS:
        return None
    compared = _compared(reading, extra, node)
    if reason == "outrun":
        run = "another run is longer, or as long and likelier"
        return say("Not kept. ", *compared, f" It passes, but {run}.")
    verdict = f"{reading.state(node).capitalize()}. "
    return say(verdict, *compared, f" No dart decides{_exact(reading, node)}.")


def _compared(reading: Reading, extra: TypicalExtras, node: int) -> list[Part]:
    """Return what the target gives the token, against the threshold there."""
    p, entropy = reading.round.nodes.p[node], extra.entropy[reading.parent(node)]
    if p is None or entropy is None:
        return [reading.label(node), " was held against the threshold."]
    least = threshold(extra, entropy)
    decimals = DECIMALS
    while decimals < _MOST and probability(p, decimals) == probability(least, decimals):
        decimals += 1
    side = "more" if p > least else "no more"
    return [
        "The target gives ",
        reading.label(node),
        f" {optional(p, decimals)}, {side} than the threshold {probability(least, decimals)} at an "
        f"entropy of {nats(entropy)} nats.",
    ]


def _exact(reading: Reading, node: int) -> str:
    """Return what the exact rule's dart would have said of a tested token."""
    judge, place = reading.round.judge, reading.check_of.get(node)
    if judge is None or place is None:
        return ""
    verdict = "kept it" if judge.strict_verdict[place] else "let it go"
    return f"; the exact rule's would have {verdict}"


def threshold(extra: TypicalExtras, entropy: float) -> float:
    """Return what p of a token has to exceed where p has this entropy, in nats."""
    return min(extra.epsilon, extra.delta * exp(-entropy))
