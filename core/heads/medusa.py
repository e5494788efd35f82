"""Medusa's heads: each guesses one place ahead from the target's last state alone, all at once.

Head d reads s_n, the state after the target's last norm, and speaks of the token d + 2 places on;
the root, which the target chose, is the token in between. No head knows what another one said, so
that all nodes of a depth have one law. A head is a few residual blocks before a head of its own or
the target's.

Cai et al.: Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads, ICML
2024, arXiv 2401.10774. How checkpoints are laid out is told in `medusa_layouts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from core.extras import Extras, Glance, LookaheadExtras
from core.heads.accuracy import Accuracy
from core.heads.ahead import AheadSession
from core.heads.vocabulary import DraftVocabulary
from core.host import float_rows, int_rows
from core.models.base import FINAL, Session
from core.reduce import six_digits
from core.shapes.favourites import favourites
from core.tree import DraftTree

KIND = "medusa"
_TOLD = 5  # candidates of a head that a record keeps


class ResBlock(nn.Module):
    """x + SiLU(W x + b), the identity until it is trained."""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=bias)
        nn.init.zeros_(self.linear.weight)
        if bias:
            nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + F.silu(cast(Tensor, self.linear(hidden)))


class MedusaBlocks(nn.Module):
    """`heads` heads of `blocks` blocks each, without what reads tokens off them."""

    def __init__(self, width: int, heads: int, blocks: int = 1, bias: bool = True) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(*(ResBlock(width, bias) for _ in range(blocks))) for _ in range(heads)
        )

    def __len__(self) -> int:
        return len(self.heads)

    def forward(self, states: Tensor) -> Tensor:
        """Map states (..., D) to those that are read (heads, ..., D)."""
        return torch.stack([cast(Tensor, head(states)) for head in self.heads])


@dataclass(frozen=True, slots=True)
class MedusaHead:
    """Heads ready for a target (`core.heads.base.Head`). `rows`: what reads tokens off a state,
    (k, D) per head, or once for all; `scale`: of the logits.
    """

    module: MedusaBlocks
    rows: tuple[Tensor, ...]
    vocabulary: DraftVocabulary
    scale: float = 1.0
    accuracy: Accuracy | None = None
    taps: tuple[int, ...] = (FINAL,)

    @property
    def ahead(self) -> int:
        return len(self.module)

    @property
    def blocks(self) -> int:
        return sum(isinstance(part, ResBlock) for part in self.module.modules())

    @property
    def parameters(self) -> int:
        return sum(part.numel() for part in self.module.parameters())

    def trimmed(self, vocabulary: DraftVocabulary) -> MedusaHead:
        both, kept = self.vocabulary.common(vocabulary)
        rows = tuple(each[kept.to(each.device)] for each in self.rows)
        return replace(self, vocabulary=both, rows=rows)

    def open(self, text: Sequence[int], target: Session) -> Session:
        return MedusaSession(self, target)

    def read(self, hidden: Tensor) -> Tensor:
        """Return logits (heads, k) over the draft vocabulary from the heads' outputs (heads, D)."""
        if len(self.rows) == 1:
            logits = F.linear(hidden, self.rows[0])
        else:
            logits = torch.stack([F.linear(h, w) for h, w in zip(hidden, self.rows, strict=True)])
        return logits if self.scale == 1 else logits * self.scale


class MedusaSession(AheadSession):
    """One forward per round, for all nodes that can come."""

    def __init__(self, head: MedusaHead, target: Session) -> None:
        super().__init__(target, head.ahead)
        self._head = head
        self._names = head.vocabulary.ids.cpu().numpy()  # no round has to fetch them
        self._state: Tensor | None = None  # (1, D), not read yet
        self._hidden = self._named = self._logits = torch.empty(0)  # (heads, D), (.., k), (.., V)

    def _begin(self, states: Sequence[Tensor]) -> None:
        self._state = states[-1][-1:].to(self._head.rows[0])

    def _read(self, tree: DraftTree, start: int) -> tuple[Tensor, Tensor, int, int]:
        forwards = ran = 0
        if self._state is not None:
            self._hidden = cast(Tensor, self._head.module(self._state))[:, 0]
            self._named = self._head.read(self._hidden)
            self._logits = self._head.vocabulary.spread(self._named)
            self._state, forwards, ran = None, 1, self._head.blocks
        depths = list(tree.depths[start:])
        return self._hidden[depths], self._logits[depths], forwards, ran

    def review(self, states: Mapping[int, Tensor], places: Mapping[int, int]) -> Extras | None:
        """Return what every head said in this round, whether or not the tree has room for it."""
        rows, shares = favourites(self._named, _TOLD)
        tokens = int_rows(self._names[rows])
        told = zip(tokens, float_rows(six_digits(shares)), strict=True)
        return LookaheadExtras(heads=[Glance(token=ids, q=likely) for ids, likely in told])


def medusa(
    module: MedusaBlocks,
    rows: Sequence[Tensor],
    vocabulary: DraftVocabulary,
    scale: float = 1.0,
    accuracy: Accuracy | None = None,
) -> MedusaHead:
    """Return heads on the device and in the numbers of `rows`."""
    module = module.to(rows[0].device, rows[0].dtype).eval().requires_grad_(False)
    vocabulary = vocabulary.on(rows[0].device)
    plain = MedusaHead(module, tuple(row.detach() for row in rows), vocabulary)
    return replace(plain, scale=scale, accuracy=accuracy)
