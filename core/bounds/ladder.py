"""The ladder of rules at one node: what each accepts of K drafts, and the best that any could.

Rungs are named `way/rule`: how the drafts come about, as `core.tree.Sampling` has it, and the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from core.bounds import rules
from core.bounds.pair import Ints, Pair, laws, likeliest, pair, without
from core.bounds.prefix import Distinct, Independent, TopAndOne, top_and_one
from core.bounds.rejection import PATHS, recursive_distinct
from core.host import Floats

SINGLE = "one/standard"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Probability that the token that joins the text is one of the drafts.

    `margin`: how far an estimate may be off; None where the value is exact.
    """

    value: float
    margin: float | None = None

    @property
    def is_exact(self) -> bool:
        return self.margin is None


@dataclass(frozen=True, slots=True)
class Node:
    """Laws p and q (V,) of a node in float64, and three ways to make `count` drafts from q."""

    p: Floats
    q: Floats
    count: int
    independent: Independent
    distinct: Distinct
    greedy: TopAndOne

    @property
    def both(self) -> Pair:
        return self.independent.line


def ladder(
    p: Tensor, q: Tensor, count: int, top: Sequence[int] | None = None
) -> Mapping[str, Acceptance]:
    """Return the acceptance of every rule for `count` drafts at a node with laws p and q (V,).

    `top`: the fixed tokens beside the drawn one, where they are known; else the likeliest of q.
    Raises ValueError for less than one draft, and for p and q that are no laws.
    """
    if count < 1:
        raise ValueError(f"The number of drafts is {count}; it may be 1 or more.")
    target, draft = laws(p, q)
    fixed = likeliest(draft, count - 1) if top is None else np.asarray(top, dtype=np.int64)
    return rungs(drafted(target, draft, count, fixed))


def drafted(p: Floats, q: Floats, count: int, top: Ints) -> Node:
    """Return the node with laws p and q (V,), whose greedy drafts are `top` and one drawn."""
    both = pair(p, q)
    greedy = top_and_one(both, p, q, top)
    return Node(p, q, count, Independent(both, count), Distinct(both, count), greedy)


def rungs(node: Node, paths: int = PATHS) -> Mapping[str, Acceptance]:
    """Return the acceptance of every rule at `node`; an estimate sums so many `paths`."""
    p, q, both, count = node.p, node.q, node.both, node.count
    fixed = node.greedy.line.tokens[: node.greedy.top]
    drawn = without(q, fixed)
    value, margin = recursive_distinct(both, count, paths)
    exact = {
        SINGLE: rules.overlap(both),
        "independent/naive": rules.naive_independent(p, q, count),
        "independent/recursive": rules.recursive_independent(both, count),
        "independent/k_seq": rules.k_sequential(p, q, count),
        "independent/optimum": node.independent.optimum().value,
        "distinct/naive": rules.naive_distinct(both, node.distinct.race),
        "distinct/optimum": node.distinct.optimum().value,
        "top_and_one/naive": rules.naive_top_and_one(p, drawn, fixed),
        "top_and_one/recursive": rules.recursive_top_and_one(p, drawn, fixed),
        "top_and_one/optimum": node.greedy.optimum().value,
        "deterministic/one_hot": rules.one_hot(p, likeliest(q, count)),
    }
    found = {name: Acceptance(value) for name, value in exact.items()}
    return found | {"distinct/recursive": Acceptance(value, margin)}
