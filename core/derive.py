"""What follows from a draft tree and the nodes that stayed: states, reasons and accept tests.

For traces from loops that keep less than ours. Children are taken as tried in the order of their
numbers, until one stays. Knows no law beyond the single probabilities given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nextafter

from core.arguments import Column
from core.trace import Check, State
from core.validate import TraceError

SLACK = 1e-5  # so much may p / q in float32 miss the number that decided


@dataclass(frozen=True)
class Verdict:
    """A tree as parents (N,), the accepted path, and the nodes on it that only a relaxed rule kept.

    `ended`: the text ended with the path, so that nothing after it was tried. Raises TraceError
    when these do not fit together.
    """

    parent: list[int]
    path: list[int]
    relaxed: list[int]
    ended: bool

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.parent[1:], start=1):
            if not 0 <= parent < node:
                raise TraceError(
                    f"draft token {node} has parent {parent}; allowed are 0 (the text so far) to "
                    f"{node - 1} (the draft token before it)."
                )
        for tip, node in zip([0, *self.path], self.path, strict=False):
            if node not in self.children(tip):
                raise TraceError(
                    f"accepted goes from node {tip} to {node}, but {node} is no child of {tip} in "
                    f"the draft."
                )
        if not set(self.relaxed) <= set(self.path):
            raise TraceError("relaxed names a node that was not accepted.")

    def children(self, node: int) -> list[int]:
        """Return the children of `node`, in the order tried."""
        return self._children[node]

    def rank(self, node: int) -> int:
        """Return the place of `node` among its siblings, from 0; the root has 0."""
        return self.children(self.parent[node]).index(node) if node else 0

    @cached_property
    def _children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent[1:], start=1):
            found[parent].append(node)
        return found

    def tests(self) -> list[tuple[int, bool]]:
        """Return (node, stayed) for each test, in order."""
        made: list[tuple[int, bool]] = []
        for tip, kept in zip([0, *self.path], [*self.path, None], strict=True):
            children = self.children(tip)
            if kept is not None:
                made += [(child, False) for child in children[: children.index(kept)]]
                made.append((kept, True))
            elif not self.ended:
                made += [(child, False) for child in children]
        return made

    def states(self) -> list[State]:
        """Return the state of every node."""
        states: list[State] = ["unreached" if node else "root" for node in range(len(self.parent))]
        for node, stayed in self.tests():
            states[node] = "accepted" if stayed else "rejected"
        for node in self.relaxed:
            states[node] = "relaxed"
        return states


@dataclass(frozen=True, slots=True)
class Known:
    """Columns (N,) of what is known of the tests: laws in use, u, and the chance it was held to."""

    p: Column
    q: Column
    u: Column
    accept: Column
    greedy: bool


def reasons(verdict: Verdict, known: Known) -> list[str]:
    """Return per node a short key for why it has its state; empty where nobody knows."""
    states = verdict.states()
    found: list[str] = []
    for node, state in enumerate(states):
        if state in ("accepted", "rejected"):
            found.append(_rule(node, state == "accepted", known))
        elif state == "unreached":
            found.append(_why_unreached(verdict, states, node))
        else:
            found.append("")
    return found


def _rule(node: int, stayed: bool, known: Known) -> str:
    if known.greedy:
        return "argmax" if stayed else "not_argmax"
    if known.p[node] is None:
        return ""
    return ("u<" if stayed else "u>=") + ("p" if known.q[node] is None else "p/q")


def _why_unreached(verdict: Verdict, states: Sequence[State], node: int) -> str:
    parent = verdict.parent[node]
    if states[parent] in ("rejected", "unreached"):
        return f"parent_{states[parent]}"
    return "text_ended" if parent == ([0, *verdict.path])[-1] else "sibling_accepted"


def checks(verdict: Verdict, known: Known) -> list[Check]:
    """Return the accept tests, or none at all when the numbers of one of them are unknown.

    Raises TraceError when u and the accept probability say the opposite of what happened.
    """
    made: list[Check] = []
    for node, stayed in verdict.tests():
        numbers = _numbers(verdict, known, node, stayed)
        if numbers is None:
            return []
        chance, u = numbers
        if stayed != (u < chance):
            chance = _mended(node, stayed, u, chance)
        first = verdict.rank(node) == 0
        made.append(
            Check(
                node=node,
                accept_probability=chance,
                u=u,
                passed=stayed,
                p=known.p[node] if first else None,
                q=known.q[node] if first else None,
                mass_before=1.0 if first else None,
            )
        )
    return made


def _numbers(verdict: Verdict, known: Known, node: int, stayed: bool) -> tuple[float, float] | None:
    """Return (accept probability, u), or None where they are unknown."""
    chance, u = known.accept[node], known.u[node]
    if known.greedy and chance is None:
        return float(stayed), 0.0
    if chance is None:
        chance = _chance(verdict, known, node)
    return None if chance is None or u is None else (chance, u)


def _chance(verdict: Verdict, known: Known, node: int) -> float | None:
    """Return min(1, p/q), which holds for a first child under the exact rule."""
    p, q = known.p[node], known.q[node]
    if p is None or verdict.rank(node) > 0 or node in verdict.relaxed:
        return None
    if q == 0:
        raise TraceError(f"q of draft token {node} is 0, so that it cannot have been drawn from q.")
    return min(1.0, p if q is None else p / q)


def _mended(node: int, stayed: bool, u: float, chance: float) -> float:
    """Return the accept probability on the side of u where it was when it decided."""
    if abs(u - chance) > SLACK:
        raise TraceError(
            f"draft token {node} was {'accepted' if stayed else 'rejected'}, but u is {u:g} and "
            f"its accept probability {chance:g}; it is accepted exactly when u is smaller."
        )
    return nextafter(u, 1) if stayed else u
