"""Which tree, how deep and with how many threads: the settings that make most of the time.

From what rounds cost (`core.measure.pace`) and how often drafted tokens stay: by a child's place
among its siblings, whatever its depth (`core.shapes.positional`), or by head and candidate where a
head's accuracy was measured (`core.shapes.accuracy_tree`). Arithmetic only: knows no model, no
clock and no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.heads.accuracy import Accuracy
from core.measure.pace import Pace, Widths
from core.measure.tuned import Proposal, Setting
from core.shapes.accuracy_tree import grown, value
from core.shapes.positional import best_trees

MOST_NODES = 48  # of a tree that is proposed
MOST_DEPTH = 8

Form = Literal["chain", "tree", "planned"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft of `nodes` tokens, `depth` of them on the longest path, and the tokens of a round
    that are expected of it, the target's own included.
    """

    nodes: int
    depth: int
    tokens: float


@dataclass(frozen=True, slots=True)
class Use:
    """A method that drafts in one form; `drafters`: only with these, None: with any.

    `settings` names the method's own for so many nodes, so deep.
    """

    method: str
    form: Form
    drafters: frozenset[str] | None
    settings: Callable[[int, int], Mapping[str, Setting]]

    def takes(self, drafter: str) -> bool:
        return self.drafters is None or drafter in self.drafters


USES = (
    Use("speculative_sampling", "chain", None, lambda nodes, depth: {"length": depth}),
    Use("fastdraft", "chain", frozenset({"model"}), lambda nodes, depth: {"length": depth}),
    Use("kangaroo", "chain", frozenset({"kangaroo"}), lambda nodes, depth: {"length": depth}),
    Use(
        "sequoia",
        "tree",
        None,
        lambda nodes, depth: {"budget": nodes, "depth": depth, "fit": False},
    ),
    Use(
        "eagle2",
        "tree",
        frozenset({"eagle", "eagle3"}),
        lambda nodes, depth: {"nodes": nodes + 1, "depth": depth - 1},
    ),
    Use("medusa", "planned", frozenset({"medusa"}), lambda nodes, depth: {"nodes": nodes}),
    Use("hydra", "planned", frozenset({"hydra"}), lambda nodes, depth: {"nodes": nodes}),
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often what a drafter drafts stays. `places`: chance of child number 1, 2 ... of a node,
    of `counted` nodes; `accuracy` of a head's candidates. `deepest`: tokens that it sees ahead.
    """

    places: Sequence[float] | None
    counted: int
    accuracy: Accuracy | None = None
    deepest: int = MOST_DEPTH


@dataclass(frozen=True, slots=True)
class Costs:
    """What was timed with one number of threads: the target, plain rounds, and every drafter."""

    threads: int
    target: Widths
    plain_ms: float
    paces: Mapping[str, Pace]


def proposals(
    evidence: Mapping[str, Evidence], costs: Sequence[Costs], takes_drafter: Callable[[str], bool]
) -> list[Proposal]:
    """Return the best settings of each method with each drafter, the fastest first.

    `takes_drafter`: whether a method has the setting `drafter`.
    """
    plain = min(each.plain_ms for each in costs)
    found = [
        best
        for drafter, known in evidence.items()
        for use in USES
        if use.takes(drafter)
        and (best := _best(use, drafter, known, costs, plain, takes_drafter)) is not None
    ]
    return sorted(found, key=lambda proposal: -proposal.speedup)


def _best(
    use: Use,
    drafter: str,
    known: Evidence,
    costs: Sequence[Costs],
    plain: float,
    takes_drafter: Callable[[str], bool],
) -> Proposal | None:
    """Return the settings with the most tokens per time; None where nothing was measured."""
    offered = [
        (candidate, each.threads, each.paces[drafter].round_ms(candidate.nodes, candidate.depth, t))
        for each in costs
        if drafter in each.paces
        for t in (each.target,)
        for candidate in candidates(use.form, known)
        if candidate.nodes < t.most
    ]
    if not offered:
        return None
    best, threads, ms = max(offered, key=lambda option: option[0].tokens / option[2])
    own: dict[str, Setting] = {"drafter": drafter} if takes_drafter(use.method) else {}
    counted = min(known.accuracy.tried) if use.form == "planned" and known.accuracy else 0
    return Proposal(
        method=use.method,
        drafter=drafter,
        settings={**own, **use.settings(best.nodes, best.depth)},
        threads=threads,
        nodes=best.nodes,
        depth=best.depth,
        tokens=round(best.tokens, 3),
        round_ms=round(ms, 3),
        speedup=round(best.tokens * plain / ms, 3),
        counted=counted or known.counted,
    )


def candidates(form: Form, known: Evidence) -> Iterator[Candidate]:
    """Yield the drafts of a form that are worth a look; none where their evidence is missing."""
    depth = min(MOST_DEPTH, known.deepest)
    if form == "planned":
        if known.accuracy is not None:
            yield from _planned(known.accuracy)
    elif known.places and form == "chain":
        stays = known.places[0]
        for length in range(1, depth + 1):
            yield Candidate(length, length, sum(stays**step for step in range(length + 1)))
    elif known.places:
        yield from _trees(known.places, depth)


def _trees(places: Sequence[float], depth: int) -> Iterator[Candidate]:
    best = best_trees(places, MOST_NODES + 1, depth + 1)
    for levels in range(2, depth + 2):
        for nodes in range(2, MOST_NODES + 2):
            size = best.size(nodes, levels)
            if size == nodes:
                yield Candidate(nodes - 1, levels - 1, best.value(nodes, levels))


def _planned(accuracy: Accuracy) -> Iterator[Candidate]:
    table = accuracy.table
    tokens, depth = 1.0, 0
    for nodes, path in enumerate(grown(table, MOST_NODES), start=1):
        tokens, depth = tokens + value(path, table), max(depth, len(path))
        yield Candidate(nodes, depth, tokens)
