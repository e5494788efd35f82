"""What a node is on the page: its state, with the target's own token as one more kind of node."""

from __future__ import annotations

from core.trace import Origin
from viz.payload import NodeState
from viz.reading import OWN, Reading

ORDER: tuple[NodeState, ...] = (
    "accepted",
    "relaxed",
    "rejected",
    "unreached",
    "pruned",
    "probe",
    "correction",
    "bonus",
    "plain",
)
_OWN: dict[Origin, NodeState] = {
    "correction": "correction",
    "bonus": "bonus",
    "plain": "plain",
    "none": "plain",
}


def state_of(reading: Reading, node: int) -> NodeState:
    return _OWN[reading.round.outcome.origin] if node == OWN else reading.state(node)


def present(reading: Reading) -> list[NodeState]:
    """Return the states met in the round, in the order of the legend."""
    found: set[NodeState] = set(reading.round.nodes.state)
    if reading.own is not None:
        found.add(state_of(reading, OWN))
    return [state for state in ORDER if state in found]
