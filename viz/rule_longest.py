"""Words for nodes that the longest strand decided (DynaSD)."""

from __future__ import annotations

from viz.payload import Run
from viz.reading import Reading
from viz.sentence import say

REASONS = frozenset({"longest_strand", "other_root", "shorter_strand"})


def longest_strand(reading: Reading, node: int) -> list[Run]:
    """Return why an untested root, or a token of another strand, stands where it stands."""
    label, reason = reading.label(node), reading.round.nodes.reason[node]
    if reason == "longest_strand":
        return say(
            "Accepted. ",
            label,
            " is a root, drawn from the target's law and never tested; no strand had a longer run "
            "of kept tokens.",
        )
    if reason == "other_root":
        return say(
            "Not taken. ", label, " is a root like the winner's; another strand kept a longer run."
        )
    return say("Not taken. ", label, " passed its own test, but another strand kept a longer run.")
