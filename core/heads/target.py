"""What trained heads share with their target: its embedding, its head, its last norm, its sizes.

Read from the loaded model, never copied into a head's file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from core.models.families import anatomy
from core.models.hf import HFModel


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Llama-shaped decoder layer. `frequencies`: of the rotary positions, where they are
    not the powers of `theta` alone.
    """

    hidden: int
    heads: int
    groups: int  # heads of keys and values
    head_dim: int
    inner: int
    eps: float
    theta: float  # base of the rotary positions
    frequencies: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetWeights:
    """`embedding` and `head` (V, D); `norm` maps states (..., D) as the target's last norm does."""

    name: str
    shape: Shape
    layers: int
    vocabulary_size: int
    embedding: Tensor
    head: Tensor
    norm: Callable[[Tensor], Tensor]

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.dtype

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    @staticmethod
    def of(target: HFModel) -> TargetWeights:
        """Raise ValueError for a target whose layers cannot be told apart."""
        pieces = anatomy(target.model)
        output = cast("nn.Module | None", target.model.get_output_embeddings())
        if pieces is None or output is None:
            raise ValueError(
                "Trained heads read the states of the target's layers: choose a target of Llama, "
                "Mistral, Qwen2, Qwen3 or GPT-2 shape."
            )
        embedding = cast(Tensor, target.model.get_input_embeddings().weight)
        size = target.card.vocabulary_size
        return TargetWeights(
            target.card.id,
            shape_of(target),
            pieces.num_layers,
            size,
            embedding[:size].detach(),
            cast(Tensor, output.weight)[:size].detach(),
            pieces.norm,
        )


def shape_of(target: HFModel) -> Shape:
    """Return the sizes of the target's own layers."""
    config = target.model.config.get_text_config()
    hidden = int(config.hidden_size)
    heads = int(config.num_attention_heads)
    rope = cast("dict[str, object]", getattr(config, "rope_parameters", None) or {})
    theta = rope.get("rope_theta", getattr(config, "rope_theta", 10000.0))
    return Shape(
        hidden=hidden,
        heads=heads,
        groups=int(getattr(config, "num_key_value_heads", None) or heads),
        head_dim=int(getattr(config, "head_dim", None) or hidden // heads),
        inner=int(getattr(config, "intermediate_size", None) or 4 * hidden),
        eps=float(getattr(config, "rms_norm_eps", 1e-5)),
        theta=float(cast(float, theta)),
    )
