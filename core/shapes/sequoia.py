"""Sequoia's tree: planned once for how often a child of each place stays, filled in every round.

Above temperature 0 every node draws its children without replacement, as many as the plan has
there. Where they outnumber the support of the drafter's law the rest are drawn uniformly from the
tokens not drawn yet, which the rule has to know of (`RecursiveRejection.uniform_fallback`). At
temperature 0 the likeliest tokens stand in their order. Knows the plan, not how it was found
(`core.shapes.positional`).

Chen et al.: Sequoia, arXiv 2402.12374.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch.nn.utils.rnn import pad_sequence

from core.dice import Dice
from core.extras import SequoiaExtras
from core.host import int_rows
from core.parts import shape
from core.reduce import top_tokens
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.shapes.positional import Plan, best_trees
from core.tree import Sampling

MAX_NODES = 256  # drafted in one round
DEPTH = 6  # tokens on a path, where nothing else is asked for

# nodes at which child 1, 2 ... stayed, of 667: the vector that comes with the paper's code
PUBLISHED = (423, 72, 38, 15, 13, 10, 3, 2, 8, 3, 5, 3, 4, 2, 1, 2, 1, 2, 0, 2)
PUBLISHED_NODES = 667


@dataclass(frozen=True, slots=True)
class Sequoia(Steady):
    """Fills `plan`; `about` is what the record of every round says of it."""

    plan: Plan
    about: SequoiaExtras | None = None

    @property
    def branches(self) -> bool:
        return any(self.plan.ranks)

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.DISTINCT

    def begin(self, greedy: bool) -> Grower:
        return _Filling(self.plan, greedy, self.about)


@dataclass(slots=True)
class _Filling:
    """`place`: node of the plan that each node of the draft fills."""

    plan: Plan
    greedy: bool
    about: SequoiaExtras | None
    place: list[int] = field(default_factory=lambda: [0])

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        parents, tokens = list[int](), list[int]()
        if len(self.plan) == 1:
            return Growth()
        for node, row in zip(grown.frontier, self._children(grown, dice), strict=True):
            # where the plan wants more children than there are tokens, the last are left out
            for child, token in zip(self.plan.children[self.place[node]], row, strict=False):
                self.place.append(child)
                parents.append(node)
                tokens.append(token)
        new = range(len(grown.tree), len(self.place))
        deeper = new if grown.depth + 1 < grown.limit else ()
        expand = [node for node in deeper if self.plan.children[self.place[node]]]
        return Growth(parents, tokens, expand=expand)

    def finish(self, grown: Grown) -> Finished:
        return Finished(extras=() if self.about is None else (self.about,))

    def _children(self, grown: Grown, dice: Dice) -> list[list[int]]:
        """Return the tokens below each node scored last, in one read of the device."""
        widths = [len(self.plan.children[self.place[node]]) for node in grown.frontier]
        rows = [grown.rows[node] for node in grown.frontier]
        if self.greedy:
            likeliest = int_rows(top_tokens(grown.logits[rows], max(widths)))
            return [tokens[:width] for tokens, width in zip(likeliest, widths, strict=True)]
        drawn = [
            dice.at(self.place[node]).draw(grown.q[row, None], width, replace=False)[0]
            for node, row, width in zip(grown.frontier, rows, widths, strict=True)
        ]
        found = int_rows(pad_sequence(drawn, batch_first=True, padding_value=-1))
        return [
            self._filled(tokens[:width], grown, node, dice)
            for node, tokens, width in zip(grown.frontier, found, widths, strict=True)
        ]

    def _filled(self, tokens: list[int], grown: Grown, node: int, dice: Dice) -> list[int]:
        """Return the drawn `tokens`, with others in the places where the support was used up."""
        missing = tokens.count(-1)
        if missing:
            untried = (grown.q[grown.rows[node], None] == 0).to(grown.q)
            spare = dice.at(self.place[node], "uniform").draw(untried, missing, replace=False)
            tokens = [*tokens[:-missing], *int_rows(spare)[0]]
        return [token for token in tokens if token >= 0]


def published() -> tuple[float, ...]:
    """Return the acceptance by place that the paper's code comes with."""
    return tuple(count / PUBLISHED_NODES for count in PUBLISHED)


def planned(budget: int, acceptance: Sequence[float] | None = None) -> Sequoia:
    """Return the policy for at most `budget` nodes, `DEPTH` deep; without `acceptance` by place for
    the published one.
    """
    size, levels = budget + 1, DEPTH + 1
    return Sequoia(best_trees(acceptance or published(), size, levels).plan(size, levels))


PARTS = (
    shape(
        "sequoia",
        "Sequoia",
        "Fills the tree that is best on average, if a child's place decides how often it stays.",
        "Chen et al. 2024",
        planned,
    ),
)
