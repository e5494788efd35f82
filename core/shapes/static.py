"""A tree given ahead, as rank paths: `201` is the second child of the first child of the root's
third. EAGLE-1's (Li et al., arXiv 2401.15077) has 25 nodes down to depth 5.

At temperature 0 rank r is the token that the drafter likes r-th best. Above it every node draws its
children without replacement, and a rank is the place in the order drawn; as many are drawn as the
tree has ranks there, since a drawn token must not be thrown away for what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from core.dice import Dice
from core.extras import StaticExtras
from core.host import int_rows
from core.parts import shape
from core.shapes.base import Finished, Grower, Grown, Growth, Steady
from core.shapes.favourites import favourites
from core.tree import Sampling

Path = tuple[int, ...]

EAGLE = "0 1 2 3 00 01 02 10 11 20 21 30 000 001 002 010 011 020 021 100 0000 0001 0002 00000 00001"
MOST_NODES = 256
DEEPEST = 16


def parse(words: str) -> tuple[Path, ...]:
    """Return the rank paths of `words`, a digit per rank, sorted by depth.

    Raises ValueError with one sentence where they are no tree.
    """
    named = words.split()
    if not 1 <= len(named) <= MOST_NODES:
        raise ValueError(f"it has {len(named)} nodes, and 1 to {MOST_NODES} are allowed")
    wrong = next((w for w in named if not (w.isascii() and w.isdigit() and len(w) <= DEEPEST)), "")
    if wrong:
        raise ValueError(f"{wrong!r} is no path of 1 to {DEEPEST} ranks, a digit for each")
    paths = sorted((tuple(map(int, word)) for word in named), key=lambda path: (len(path), path))
    check(paths)
    return tuple(paths)


def check(paths: Sequence[Path]) -> None:
    """Raise ValueError unless every path has its parent and its earlier siblings, each once."""
    known = {(), *paths}
    if len(known) <= len(paths):
        raise ValueError("a path stands there twice")
    for path in paths:
        rank, parent = path[-1], path[:-1]
        if parent not in known or (rank and (*parent, rank - 1) not in known):
            word = "".join(map(str, path))
            raise ValueError(f"{word} is there, but not its parent and all earlier siblings")


@dataclass(frozen=True)
class StaticTree(Steady):
    """`paths` as from `parse`: parents first, siblings in the order of their ranks."""

    paths: tuple[Path, ...]

    @cached_property
    def widths(self) -> Mapping[Path, int]:
        """Children per path, the root's included."""
        return Counter(path[:-1] for path in self.paths)

    @property
    def branches(self) -> bool:
        return any(width > 1 for width in self.widths.values())

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DETERMINISTIC if greedy else Sampling.DISTINCT

    def begin(self, greedy: bool) -> Grower:
        return _Filling(self, greedy)


@dataclass(slots=True)
class _Filling:
    """`path`: ranks of every node drafted so far."""

    policy: StaticTree
    greedy: bool
    path: dict[int, Path] = field(default_factory=lambda: {0: ()})

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        parents: list[int] = []
        tokens: list[int] = []
        first, widths = len(grown.tree), self.policy.widths
        for node, row in sorted(self._rows(grown, dice.at(grown.depth)).items()):
            for rank, token in enumerate(token for token in row if token >= 0):
                self.path[first + len(tokens)] = (*self.path[node], rank)
                parents.append(node)
                tokens.append(token)
        deeper = range(first, first + len(tokens)) if grown.depth + 1 < grown.limit else ()
        return Growth(parents, tokens, expand=[n for n in deeper if self.path[n] in widths])

    def finish(self, grown: Grown) -> Finished:
        ranks = [list(self.path[node]) for node in range(len(grown.tree))]
        return Finished(extras=(StaticExtras(planned=len(self.policy.paths), ranks=ranks),))

    def _rows(self, grown: Grown, dice: Dice) -> dict[int, list[int]]:
        """Return the children of every node scored last; -1 where a law's support is used up."""
        widths = [self.policy.widths[self.path[node]] for node in grown.frontier]
        rows = [grown.rows[node] for node in grown.frontier]
        if self.greedy:
            found = int_rows(favourites(grown.logits[rows], max(widths))[0])
        else:
            found = self._drawn(grown.q[rows], widths, dice)
        return {
            node: row[:width]
            for node, row, width in zip(grown.frontier, found, widths, strict=True)
        }

    def _drawn(self, laws: Tensor, widths: Sequence[int], dice: Dice) -> list[list[int]]:
        """Draw from `laws` (R, V) as many as each row is to have, and read them at once."""
        drawn = torch.full((len(widths), max(widths)), -1, device=laws.device)
        for width in sorted(set(widths)):
            alike = [row for row, wanted in enumerate(widths) if wanted == width]
            some = dice.at(width).draw(laws[alike], min(width, laws.shape[1]), replace=False)
            drawn[alike, : some.shape[1]] = some
        return int_rows(drawn)


PARTS = (
    shape(
        "static",
        "Static tree",
        "Fills a tree whose form was found once, by rank, whatever the text.",
        "Li et al. 2024 (EAGLE-1)",
        lambda budget: StaticTree(parse(EAGLE)[:budget]),
    ),
)
