"""What the sessions of heads share that look a fixed number of tokens ahead from one state.

Head d speaks of what follows a node at depth d. There are no keys and values: a round needs the
last state of the text alone. Where the heads end the session has no more room, so that every tree
policy stops there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from core.heads.following import Following
from core.models.base import FINAL, Scores, Session
from core.tree import DraftTree, Resume


class AheadSession(Following):
    """`heads`: how many tokens are seen ahead of the root."""

    def __init__(self, target: Session, heads: int, tap: int = FINAL) -> None:
        super().__init__(target)
        self._heads = heads
        self._tap = tap
        self._states: list[Tensor] = []  # (k, D) learnt since the last draft
        self._root = -1

    @property
    def context(self) -> int:
        """Most tokens: the heads' end, or the target's."""
        return min(self._target.context, self.length + 1 + self._heads)

    def learn(self, states: Mapping[int, Tensor], tokens: Sequence[int]) -> None:
        self._states.append(states[self._tap])
        self._root = tokens[-1]

    @torch.inference_mode()
    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        """Return what the heads say follows the nodes from `start` on.

        Raises ValueError where the root is not the token that ends the text, or a node lies beyond
        the last head.
        """
        if tree.tokens[0] != self._root:
            raise ValueError("the draft does not begin with the token that ends the text")
        if max(tree.depths[start:]) >= self._heads:
            raise ValueError(f"{self._heads} heads see {self._heads} tokens ahead of the root")
        if self._states:
            self._begin(self._states)
            self._states = []
        hidden, logits, forwards, ran = self._read(tree, start)
        return Scores(logits, {FINAL: hidden} if FINAL in taps else {}, ran, forwards=forwards)

    def _begin(self, states: Sequence[Tensor]) -> None:
        """Take in the states learnt since the last draft; the last row is the root's parent's."""
        raise NotImplementedError

    def _read(self, tree: DraftTree, start: int) -> tuple[Tensor, Tensor, int, int]:
        """Return hidden states (n, D) and logits (n, V) of the nodes from `start` on, the forwards
        made for them and the sublayers run.
        """
        raise NotImplementedError
