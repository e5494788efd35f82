"""Trees with a fixed number of children per level: (1, 1, 1) is a chain of three, (4, 2, 2) has 4 +
8 + 16 nodes.

Above temperature 0 children are drawn, without replacement (RSD-C, Jeon et al., arXiv 2402.14160;
MCSD's k-config, Yang et al., arXiv 2401.06706) or with it (SpecInfer's expansion config, Miao et
al., arXiv 2305.09781), in the order in which they are to be tried; or they are the likeliest tokens
in order, which are fixed. At temperature 0, the limit of both, they always are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import prod

from torch import Tensor

from core.dice import Dice
from core.extras import Drawing, LevelsExtras
from core.host import int_rows
from core.parts import shape
from core.reduce import top_tokens
from core.shapes.base import Finished, Grower, Grown, Growth, Steady, once_each
from core.shapes.draws import distinct
from core.tree import Sampling

_DRAWING: dict[Sampling, Drawing] = {
    Sampling.DETERMINISTIC: "likeliest",
    Sampling.INDEPENDENT: "independent",
    Sampling.DISTINCT: "distinct",
}

MAX_NODES = 256  # drafted in one round; more than any published tree of this kind


def node_count(widths: Sequence[int]) -> int:
    """Return how many nodes a tree of these widths drafts."""
    return sum(prod(widths[: level + 1]) for level in range(len(widths)))


@dataclass(frozen=True, slots=True)
class Levels(Steady):
    """`widths`: children of every node, level by level; each at least 1.

    `kind`: how children come about above temperature 0. What is drawn twice with replacement is one
    node (`DraftTree.offers`), and grows children once. `uniform_fallback`: see
    `core.shapes.draws.distinct`.
    """

    widths: tuple[int, ...]
    kind: Sampling = Sampling.DISTINCT
    uniform_fallback: bool = False

    @property
    def branches(self) -> bool:
        return any(width > 1 for width in self.widths)

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else self.kind

    def begin(self, greedy: bool) -> Grower:
        return _Levels(self, self.sampling(greedy))


@dataclass(frozen=True, slots=True)
class _Levels:
    shape: Levels
    kind: Sampling  # of this round

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        widths = self.shape.widths
        depth, end = grown.depth, min(len(widths), grown.limit)
        if depth >= end:
            return Growth()
        rows = [grown.rows[node] for node in grown.frontier]
        tokens = int_rows(self._children(grown, rows, widths[depth], dice.at(depth)))
        first = len(grown.tree)
        drawn = list(zip(grown.frontier, tokens, strict=True))
        parents, merged, offers = once_each(drawn, first)
        new = range(first, first + len(merged))
        return Growth(parents, merged, offers, new if depth + 1 < end else ())

    def finish(self, grown: Grown) -> Finished:
        if not self.shape.branches:
            return Finished()
        return Finished(
            extras=(LevelsExtras(widths=list(self.shape.widths), drawing=_DRAWING[self.kind]),)
        )

    def _children(self, grown: Grown, rows: list[int], width: int, dice: Dice) -> Tensor:
        """Return the children (R, width) of the laws `rows`; -1 where the support is used up."""
        if self.kind is Sampling.DETERMINISTIC:
            return top_tokens(grown.logits[rows], width)
        if self.kind is Sampling.INDEPENDENT:
            return dice.draw(grown.q[rows], width)
        return distinct(grown.q[rows], width, dice, self.shape.uniform_fallback)


K_CONFIG = (4, 2, 2)  # MCSD's published tree
EXPANSION = (1, 1, 3, 1, 1, 1, 1, 1)  # SpecInfer's


def within(budget: int, published: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of a published tree, cut or continued by single children to fit a budget of
    nodes.
    """
    widths: list[int] = []
    leaves = 1
    for width in chain(published, repeat(1)):
        width = min(width, budget // leaves)
        if not width:
            break
        widths.append(width)
        leaves *= width
        budget -= leaves
    return tuple(widths)


PARTS = (
    shape(
        "chain",
        "Chain",
        "One child per node.",
        "Leviathan et al. 2023",
        lambda budget: Levels((1,) * budget),
    ),
    shape(
        "k_config",
        "k-config",
        "A set number of distinct candidates per node, level by level.",
        "Yang et al. 2024",
        lambda budget: Levels(within(budget, K_CONFIG)),
    ),
    shape(
        "expansion",
        "Expansion config",
        "A set number of independent candidates per node, level by level.",
        "Miao et al. 2023",
        lambda budget: Levels(within(budget, EXPANSION), Sampling.INDEPENDENT),
    ),
)
