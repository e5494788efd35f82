"""The part of the vocabulary that a drafter can name. Everything else has the law 0.

A trimmed output head costs as many rows as it keeps. Exactness is untouched: a token outside has
q = 0, and the residual of a rejection keeps all of its p.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class DraftVocabulary:
    """`ids` (k,), ascending, each once: row i of a trimmed head stands for token ids[i]."""

    ids: Tensor
    size: int  # of the target's vocabulary

    @staticmethod
    def of(ids: Tensor, size: int) -> DraftVocabulary:
        """Raise ValueError for ids that are not ascending or lie outside the vocabulary."""
        ids = ids.long()
        if ids.dim() != 1 or not len(ids) or bool((ids[1:] <= ids[:-1]).any()):
            raise ValueError("A draft vocabulary lists tokens in ascending order, each once.")
        if int(ids[0]) < 0 or int(ids[-1]) >= size:
            raise ValueError(f"A draft vocabulary names tokens of the target's {size:,} only.")
        return DraftVocabulary(ids, size)

    @staticmethod
    def whole(size: int) -> DraftVocabulary:
        return DraftVocabulary(torch.arange(size), size)

    @staticmethod
    def frequent(counts: Tensor, count: int, always: Iterable[int] = ()) -> DraftVocabulary:
        """Return the `count` tokens that occur most often (`counts` (V,)), those of `always` first.

        Where too few occur, the lowest ids follow: in byte-pair vocabularies merged early, so
        frequent. Raises ValueError for fewer than `always` or more than there are.
        """
        kept = torch.tensor(sorted(set(always)), dtype=torch.long)
        if not max(1, len(kept)) <= count <= len(counts):
            raise ValueError(
                f"A draft vocabulary of this target has {max(1, len(kept)):,} to {len(counts):,} "
                f"tokens, not {count:,}."
            )
        ranked = counts.long().clone()
        ranked[kept] = ranked.max() + 1
        order = ranked.argsort(descending=True, stable=True)
        return DraftVocabulary.of(order[:count].sort().values, len(counts))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_whole(self) -> bool:
        return len(self.ids) == self.size

    def on(self, device: torch.device) -> DraftVocabulary:
        """Return the same with its ids on a device, so that no step moves them."""
        return self if self.ids.device == device else replace(self, ids=self.ids.to(device))

    def common(self, other: DraftVocabulary) -> tuple[DraftVocabulary, Tensor]:
        """Return the tokens of both, and bool (k,): which of this one's they are. Raises ValueError
        where there are none.
        """
        shared = torch.isin(self.ids, other.ids.to(self.ids.device))
        if not bool(shared.any()):
            raise ValueError("The drafter can name none of the most frequent tokens: keep more.")
        return DraftVocabulary(self.ids[shared], self.size), shared

    def rows(self, weight: Tensor) -> Tensor:
        """Return the rows (k, D) of a head (V, D)."""
        return weight if self.is_whole else weight[self.ids.to(weight.device)].contiguous()

    def spread(self, logits: Tensor) -> Tensor:
        """Return logits (n, V) of the whole vocabulary from those of its part (n, k)."""
        if self.is_whole:
            return logits
        whole = logits.new_full((len(logits), self.size), -torch.inf)
        whole[:, self.ids.to(logits.device)] = logits
        return whole
