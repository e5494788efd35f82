"""Heads that run one decoder layer over pairs of a feature and the token after it (EAGLE and its
kind): what they share, in drafting and in training.

What a feature is, how it is joined with the token and what reads the outputs is each head's own.
Knows no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from core.extras import FeatureHead
from core.heads.following import Autoregressive
from core.heads.layer import MLP, Attention, RMSNorm, Rotary, rotary
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.base import Session
from core.models.cache import TreeCache


class PairLayer(nn.Module):
    """A decoder layer whose attention reads `width` numbers per pair, beside a residual stream."""

    def __init__(self, shape: Shape, width: int, bias: bool = False, normed: bool = False) -> None:
        super().__init__()
        self.self_attn = Attention(shape, width, bias, normed)
        self.mlp = MLP(shape)
        self.post_attention_layernorm = RMSNorm(shape.hidden, shape.eps)

    def leave(self, residual: Tensor, mixed: Tensor) -> Tensor:
        """Return the layer's output from what stood before attention and what it added."""
        hidden = residual + mixed
        return hidden + self.mlp.forward(self.post_attention_layernorm.forward(hidden))


class PairHead(nn.Module):
    """The trained part of a head. All tensors (..., D), but for the inputs of attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    @property
    def layer(self) -> PairLayer:
        raise NotImplementedError

    def fuse(self, states: Sequence[Tensor]) -> Tensor:
        """Return features of the target's states, one tensor per tap."""
        raise NotImplementedError

    def enter(self, features: Tensor, embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Return what attention reads of each pair, and the residual stream."""
        raise NotImplementedError

    def leave(self, residual: Tensor, mixed: Tensor) -> Tensor:
        """Return outputs: features that stand for the next position where there is no true one."""
        return self.layer.leave(residual, mixed)

    def read(self, outputs: Tensor) -> Tensor:
        """Return what the output head is applied to."""
        return outputs

    def turns(self, positions: Tensor, like: Tensor) -> Rotary:
        """Return the rotations of positions (B, T)."""
        return rotary(positions, self.shape, like.dtype)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A head that is ready for its target (`core.heads.base.Head`), and the `Body` of its sessions.

    `embedding` (V, D); `rows` (k, D): the output head's, one per token of the draft vocabulary.
    """

    kind: FeatureHead
    head: PairHead
    taps: tuple[int, ...]
    layers: int  # of the target
    embedding: Tensor
    rows: Tensor
    vocabulary: DraftVocabulary
    sublayers: int = 2  # attention and MLP

    @staticmethod
    def of(
        kind: FeatureHead,
        head: PairHead,
        taps: tuple[int, ...],
        target: TargetWeights,
        rows: Tensor,
        vocabulary: DraftVocabulary,
        embedding: Tensor | None = None,
    ) -> Pairs:
        """Return the head on the target's device and in its type of numbers; it shares the target's
        embedding where it has none of its own.
        """
        own = target.embedding if embedding is None else embedding.to(target.embedding)
        head = head.to(target.device, target.dtype).eval().requires_grad_(False)
        rows = rows.detach().to(own)
        return Pairs(kind, head, taps, target.layers, own, rows, vocabulary)

    @property
    def parameters(self) -> int:
        return sum(part.numel() for part in self.head.parameters())

    def trimmed(self, vocabulary: DraftVocabulary) -> Pairs:
        both, kept = self.vocabulary.common(vocabulary)
        return replace(self, vocabulary=both, rows=self.rows[kept.to(self.rows.device)])

    def open(self, text: Sequence[int], target: Session) -> Session:
        return Autoregressive(target, self, self.embedding.device)

    def fused(self, states: Mapping[int, Tensor]) -> Tensor:
        return self.head.fuse([states[tap].to(self.embedding) for tap in self.taps])

    def run(
        self,
        features: Tensor,
        tokens: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        cache: TreeCache,
    ) -> Tensor:
        head, attention = self.head, self.head.layer.self_attn
        embedded = F.embedding(tokens, self.embedding)
        inputs, residual = head.enter(features[None], embedded[None])
        queries, keys, values = attention.project(inputs, head.turns(positions[None], inputs))
        keys, values = cache.update(keys, values, 0)
        return head.leave(residual, attention.mix(queries, keys, values, mask))[0]

    def logits(self, outputs: Tensor) -> Tensor:
        return self.vocabulary.spread(F.linear(self.head.read(outputs), self.rows))
