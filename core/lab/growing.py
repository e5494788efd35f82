"""Grows trees of several shapes from the same draft scores: a node that one shape had scored is
known to all others.

What a shape costs is counted as if it were alone. Knows no target and no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.dice import Dice
from core.laws import RAW, Law
from core.models.base import Session
from core.shapes.base import Grown, TreePolicy
from core.tree import Draft, DraftTree, Work

Path = tuple[int, ...]  # tokens from the root's first child down; the root itself is ()


class DraftScores:
    """What a drafter says after `root` and every path of tokens it was asked for, under `law`."""

    def __init__(self, session: Session, root: int, law: Law) -> None:
        self.root = root
        self.law = law
        self._session = session
        self._tree: DraftTree | None = None  # all nodes scored, in that order
        self._place: dict[Path, int] = {}
        self._logits: list[Tensor] = []
        self._laws: list[Tensor] = []

    def __contains__(self, path: Path) -> bool:
        return path in self._place

    def add(self, paths: Sequence[Path]) -> None:
        """Score what is not known of `paths` in one forward; their parents must be."""
        new = list(dict.fromkeys(path for path in paths if path not in self._place))
        if not new:
            return
        known = 0 if self._tree is None else len(self._tree)
        if self._tree is None:
            self._tree = DraftTree.root(self.root)
        else:
            parents = [self._place[path[:-1]] for path in new]
            self._tree = self._tree.extended(parents, [path[-1] for path in new])
        logits = self._session.score(self._tree, known).logits
        self._place |= {path: known + i for i, path in enumerate(new)}
        self._logits += logits.unbind()
        self._laws += self.law(logits).unbind()

    def rows(self, paths: Sequence[Path]) -> tuple[Tensor, Tensor]:
        """Return laws in use and logits (R, V) after known `paths`."""
        places = [self._place[path] for path in paths]
        laws = torch.stack([self._laws[place] for place in places])
        return laws, torch.stack([self._logits[place] for place in places])

    def beliefs(self, paths: Sequence[Path]) -> list[float]:
        """Return the draft's probability of the last token of each path, given the rest.

        Of the law in use; at temperature 0, whose law knows no doubt, of that at temperature 1.
        """
        return [float(self.believed(path[:-1])[path[-1]]) for path in paths]

    def believed(self, path: Path) -> Tensor:
        """Return the law (V,) of what follows a known path, as in `beliefs`."""
        place = self._place[path]
        return RAW(self._logits[place][None])[0] if self.law.is_greedy else self._laws[place]


@dataclass(frozen=True, slots=True)
class Tree:
    """A draft as one shape would offer it, and the path of every node of it, the root first."""

    draft: Draft
    paths: tuple[Path, ...]


def grow(shape: TreePolicy, scores: DraftScores, limit: int, dice: Dice) -> Tree:
    """Return the draft of `shape`, at most `limit` deep; `dice` is asked for its draws."""
    greedy = scores.law.is_greedy
    grower, forwards = shape.begin(greedy), 0
    tree, paths, frontier = DraftTree.root(scores.root), list[Path]([()]), [0]
    rows: dict[int, int] = {}
    while True:
        scores.add([paths[node] for node in frontier])
        rows |= {node: len(rows) + i for i, node in enumerate(frontier)}
        laws, logits = scores.rows([paths[node] for node in rows])
        forwards += 1
        grown = Grown(tree, laws, logits, rows, frontier, limit)
        growth = grower.grow(grown, dice)
        tree = tree.extended(growth.parents, growth.tokens, growth.offers)
        for node in range(len(paths), len(tree)):
            paths.append((*paths[tree.parents[node]], tree.tokens[node]))
        frontier = list(growth.expand)
        if not frontier:
            break
    done = grower.finish(replace(grown, tree=tree, frontier=frontier))
    kept = range(len(tree)) if done.keep is None else done.keep
    place = {node: i for i, node in enumerate(kept)}
    draft = Draft(
        tree if done.keep is None else tree.selected(kept),
        shape.sampling(greedy),
        mixed={place[n]: kind for n, kind in done.mixed.items() if n in place},
        q=laws,
        logits=logits,
        law=scores.law,
        rows={place[node]: row for node, row in rows.items() if node in place},
        stop=done.stop,
        work=Work(forwards),
    )
    return Tree(draft, tuple(paths[node] for node in kept))
