"""EAGLE-3's head: tokens drafted directly, from low, middle and high layers of the target.

Three states of the target are fused into one feature; attention reads the normed embedding beside
the normed feature, and the feature is the residual stream. A drafted pair takes the head's own
output where there is no feature: nothing asks that the two be alike, which is what training by
unrolled drafts is for. The output head is the head's own, over a draft vocabulary.

Li, Wei, Zhang, Zhang: EAGLE-3: Scaling up Inference Acceleration of Large Language Models via
Training-Time Test, 2025, arXiv 2503.01840. The settings of the `speculators` format are its own:
the normed feature as residual, norms before the fusion, and outputs that are handed on normed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from core.heads.layer import RMSNorm
from core.heads.pairs import PairHead, PairLayer, Pairs
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary

KIND = "eagle3"

NormBefore = Literal["none", "all", "each"]


def default_taps(layers: int) -> tuple[int, ...]:
    """Return the layers whose inputs the published heads read, of a target with `layers`."""
    return 2, layers // 2, layers - 3


@dataclass(frozen=True, slots=True)
class Variant:
    """What checkpoints differ in beyond sizes. `taps`: how many states are fused; `before`: norms
    of these states, over all at once or each; `from_normed`: the normed feature is the residual;
    `hands_on_normed`: outputs pass the last norm before they are read or handed on.
    """

    taps: int = 3
    before: NormBefore = "none"
    from_normed: bool = False
    hands_on_normed: bool = False
    fused_bias: bool = False
    qkv_bias: bool = False
    qk_normed: bool = False


class MiddleLayer(PairLayer):
    """The layer, with a norm for each half of what its attention reads."""

    def __init__(self, shape: Shape, variant: Variant) -> None:
        super().__init__(shape, 2 * shape.hidden, variant.qkv_bias, variant.qk_normed)
        self.input_layernorm = RMSNorm(shape.hidden, shape.eps)
        self.hidden_norm = RMSNorm(shape.hidden, shape.eps)


class Eagle3Head(PairHead):
    """Parameters are named as first published, but for the output head, which is kept apart."""

    def __init__(self, shape: Shape, variant: Variant = Variant()) -> None:
        super().__init__(shape)
        self.variant = variant
        wide = variant.taps * shape.hidden
        self.fc = nn.Linear(wide, shape.hidden, bias=variant.fused_bias)
        self.midlayer = MiddleLayer(shape, variant)
        self.norm = RMSNorm(shape.hidden, shape.eps)
        if variant.before == "all":
            self.input_norm = RMSNorm(wide, shape.eps)
        elif variant.before == "each":
            norms = [RMSNorm(shape.hidden, shape.eps) for _ in range(variant.taps)]
            self.fc_norm = nn.ModuleList(norms)

    @property
    def layer(self) -> PairLayer:
        return self.midlayer

    def fuse(self, states: Sequence[Tensor]) -> Tensor:
        if self.variant.before == "each":
            norms = cast("Sequence[RMSNorm]", self.fc_norm)
            states = [norm.forward(state) for norm, state in zip(norms, states, strict=True)]
        joined = torch.cat(list(states), dim=-1)
        if self.variant.before == "all":
            joined = self.input_norm.forward(joined)
        return cast(Tensor, self.fc(joined))

    def enter(self, features: Tensor, embedded: Tensor) -> tuple[Tensor, Tensor]:
        normed = self.midlayer.hidden_norm.forward(features)
        inputs = torch.cat([self.midlayer.input_layernorm.forward(embedded), normed], dim=-1)
        return inputs, normed if self.variant.from_normed else features

    def leave(self, residual: Tensor, mixed: Tensor) -> Tensor:
        outputs = self.midlayer.leave(residual, mixed)
        return self.norm.forward(outputs) if self.variant.hands_on_normed else outputs

    def read(self, outputs: Tensor) -> Tensor:
        return outputs if self.variant.hands_on_normed else self.norm.forward(outputs)


def eagle3(
    module: Eagle3Head,
    rows: Tensor,
    taps: tuple[int, ...],
    target: TargetWeights,
    vocabulary: DraftVocabulary,
    embedding: Tensor | None = None,
) -> Pairs:
    """Return the head, ready for its target. `rows` (k, D): of its output head."""
    return Pairs.of(KIND, module, taps, target, rows, vocabulary, embedding)
