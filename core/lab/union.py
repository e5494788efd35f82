"""All nodes of several trees as one tree, which the target scores in one pass, and its greedy path.

Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.host import floats
from core.lab.growing import DraftScores, Path, Tree
from core.laws import RAW, Law
from core.models.base import Session
from core.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Node:
    """A node of any of the trees, or of the target's own path. `parent` among the nodes, -1: the
    root, which is no node. `p`, `q`: of its token given its parent, at temperature 0 those at
    temperature 1; q is None where the drafter was not asked.
    """

    token: int
    parent: int
    p: float
    q: float | None


class Union:
    """Every node of any tree once, and what the target says after it: one pass for all of them."""

    def __init__(self, session: Session, root: int, trees: Iterable[Tree]) -> None:
        self._session = session
        self._tree = DraftTree.root(root)
        self.place: dict[Path, int] = {(): 0}
        for tree in trees:
            for path in tree.paths:
                self._add(path)
        self.logits = session.score(self._tree).logits

    def _add(self, path: Path) -> None:
        if path not in self.place:
            self.place[path] = len(self._tree)
            self._tree = self._tree.extended([self.place[path[:-1]]], [path[-1]])

    def favourites(self, length: int, ends: frozenset[int]) -> tuple[int, ...]:
        """Return the places of the target's greedy text, `length` tokens long or up to the first of
        the tokens `ends`.
        """
        path: Path = ()
        while len(path) < length and not (path and path[-1] in ends):
            if self.place[path] == len(self.logits):
                more = self._session.score(self._tree, len(self.logits)).logits
                self.logits = torch.cat([self.logits, more])
            path = (*path, int(self.logits[self.place[path]].argmax()))
            self._add(path)
        return tuple(self.place[path[: i + 1]] - 1 for i in range(len(path)))

    def rows(self, paths: Sequence[Path]) -> Tensor:
        """Return the target's logits (N, V) after drafted `paths`."""
        return self.logits[[self.place[path] for path in paths]]

    def nodes(self, scores: DraftScores, law: Law) -> tuple[Node, ...]:
        """Return all nodes but the root."""
        paths = list(self.place)[1:]
        asked = [path for path in paths if path[:-1] in scores]
        q = dict(zip(asked, scores.beliefs(asked), strict=True))
        shown = RAW if law.is_greedy else law
        parents = self._tree.parents[1:]
        p = floats(shown(self.logits)[list(parents), [path[-1] for path in paths]])
        return tuple(
            Node(path[-1], parent - 1, chance, q.get(path))
            for path, parent, chance in zip(paths, parents, p, strict=True)
        )
