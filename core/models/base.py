"""What the loop asks of a model: open a session, score a draft tree in one forward, keep the
accepted path.

Knows nothing of transformers; `hf.py` and `toy.py` implement it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from core.trace import ModelCard
from core.tree import DraftTree, Resume

FINAL = -1  # tap: hidden states after the last norm, from which the head reads


@dataclass(frozen=True, slots=True)
class Scores:
    """Result of one forward. `logits` (n, V): row i is what follows node `start + i`.

    `features` {tap: (m + n, D)}: hidden states after `tap` layers (0 = embedding, FINAL = after the
    last norm) of the m fed tokens that ran with the tree, then of its n nodes. `ran` and `reused`
    count sublayers; `forwards` is 0 where an earlier forward had the answer already.
    """

    logits: Tensor
    features: dict[int, Tensor] = field(default_factory=lambda: dict[int, Tensor]())
    ran: int = 0
    reused: int = 0
    forwards: int = 1


class Session(Protocol):
    """One sequence in one model, with its cache of keys and values."""

    @property
    def length(self) -> int:
        """Tokens in the cache or waiting to enter it with the next `score`; the tree's root comes
        after them.
        """
        ...

    @property
    def context(self) -> int:
        """Most tokens the model can hold."""
        ...

    def feed(self, tokens: Sequence[int]) -> None:
        """Append committed tokens; they run together with the next `score`."""
        ...

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        """Run nodes `start`, ... of `tree` over the cache and the earlier nodes, in one forward."""
        ...

    def keep(self, path: Sequence[int]) -> None:
        """Leave the scored nodes of `path` (root first, or none) in the cache, drop every other."""
        ...


class LanguageModel(Protocol):
    """Weights that can open sessions."""

    @property
    def card(self) -> ModelCard: ...

    def open(self, token_ids: Sequence[int] = ()) -> Session:
        """Return a session fed with `token_ids`; nothing is computed yet."""
        ...
