"""The numbers of a round's record, computed one by one in numpy's float64 from the whole laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.models.base import Scores
from core.tree import Draft
from core.verify.base import Context, Outcome
from tests.slow_rejection import SlowRejection
from tests.toys import normed, slow_law

Row = NDArray[np.float64]
TOP, FEW = 20, 8


@dataclass(frozen=True)
class Decided:
    """Everything that a round knew when it was over."""

    draft: Draft
    scores: Scores
    outcome: Outcome
    context: Context

    def p_raw(self, node: int) -> Row:
        return _softmax(self.scores.logits[node].double().numpy())

    def p(self, node: int) -> Row:
        return np.array(slow_law(self.p_raw(node).tolist(), self.context.law))

    def q_raw(self, node: int) -> Row | None:
        logits, row = self.draft.logits, self.draft.rows.get(node)
        if logits is None or row is None:
            return None
        return _softmax(logits[row].double().numpy())

    def q(self, node: int) -> Row | None:
        raw = self.q_raw(node)
        return None if raw is None else np.array(slow_law(raw.tolist(), self.context.law))

    def listed(self, node: int) -> int:
        """Return how many tokens of each law are kept at a node: fewer where nothing was tried."""
        tried = {self.draft.tree.parents[check.node] for check in self.outcome.checks}
        return TOP if node in {0, *self.outcome.path, *tried} else FEW

    def rejected_laws(self) -> list[tuple[int, float, Row]]:
        """Return (child, share left, law after) for each failed test, in order."""
        rule, found = SlowRejection(), []
        for node in (0, *self.outcome.path):
            target, q = self.p(node).tolist(), self.q(node)
            fixed = self.draft.sampling_at(node).value == "deterministic"
            drawn = [1.0] * len(target) if fixed or q is None else q.tolist()
            for child in self.draft.tree.children(node):
                token = self.draft.tree.tokens[child]
                if not any(c.node == child and not c.passed for c in self.outcome.checks):
                    break
                rest = rule.rest(target, drawn, token, fixed)
                target = normed(rest)
                if self.draft.sampling_at(node).value == "distinct":
                    drawn = rule.spent(drawn, token)
                found.append((child, sum(rest), np.array(target)))
        return found

    def final_law(self) -> Row:
        """Return the law of the final token."""
        end = self.outcome.end
        after = [
            law for child, _, law in self.rejected_laws() if self.draft.tree.parents[child] == end
        ]
        return after[-1] if after else self.p(end)


def _softmax(logits: Row) -> Row:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def entropy(law: Row) -> float:
    kept = law[law > 0]
    return float(-(kept * np.log(kept)).sum())


def h3(law: Row) -> float:
    return entropy(np.sort(law)[::-1][:3])


def divergence(one: Row, other: Row) -> float | None:
    """Return KL(one||other) in nats; None where `other` lacks a token of `one`."""
    there = one > 0
    if (other[there] == 0).any():
        return None
    return float((one[there] * np.log(one[there] / other[there])).sum())


def rank(law: Row, token: int) -> int:
    return 1 + int((law > law[token]).sum())


def largest(law: Row, count: int = TOP) -> list[float]:
    """Return the `count` largest entries that are not zero."""
    return [float(x) for x in np.sort(law)[::-1][:count] if x > 0]


def gap(logits: Sequence[float]) -> float | None:
    ordered = sorted(logits, reverse=True)
    return ordered[0] - ordered[1] if len(ordered) > 1 else None
