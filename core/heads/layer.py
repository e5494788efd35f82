"""The decoder layer that trained heads are made of, for one text with a cache and for batches.

The same module drafts and is trained, so that the two cannot drift apart. Sums are those of a Llama
layer; which norms stand before it differs from head to head, and is theirs.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from core.heads.target import Shape

Rotary = tuple[Tensor, Tensor]


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self._eps = eps

    def forward(self, hidden: Tensor) -> Tensor:
        return F.rms_norm(hidden, hidden.shape[-1:], self.weight.to(hidden.dtype), self._eps)


class Attention(nn.Module):
    """Grouped attention with rotary positions over inputs (B, T, `width`).

    `bias`: of queries, keys and values, as Qwen2 has; `normed`: queries and keys are normed per
    head, as Qwen3's are.
    """

    def __init__(self, shape: Shape, width: int, bias: bool = False, normed: bool = False) -> None:
        super().__init__()
        self._shape = shape
        own, shared = shape.heads * shape.head_dim, shape.groups * shape.head_dim
        self.q_proj = nn.Linear(width, own, bias=bias)
        self.k_proj = nn.Linear(width, shared, bias=bias)
        self.v_proj = nn.Linear(width, shared, bias=bias)
        self.o_proj = nn.Linear(own, shape.hidden, bias=False)
        self.q_norm = RMSNorm(shape.head_dim, shape.eps) if normed else nn.Identity()
        self.k_norm = RMSNorm(shape.head_dim, shape.eps) if normed else nn.Identity()

    def project(self, inputs: Tensor, rotary: Rotary) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (B, H, T, d), keys and values (B, G, T, d) of inputs (B, T, width)."""
        batch, length, _ = inputs.shape
        size = self._shape.head_dim

        def split(linear: nn.Linear) -> Tensor:
            return cast(Tensor, linear(inputs)).view(batch, length, -1, size).transpose(1, 2)

        queries = cast(Tensor, self.q_norm(split(self.q_proj)))
        keys = cast(Tensor, self.k_norm(split(self.k_proj)))
        return turned(queries, rotary), turned(keys, rotary), split(self.v_proj)

    def mix(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return (B, T, hidden): what queries see of keys and values. `mask` (..., T, K): additive
        or bool; None: causal.
        """
        batch, heads, length, size = queries.shape
        fold = heads // keys.shape[1]
        out = F.scaled_dot_product_attention(
            queries,
            keys.repeat_interleave(fold, dim=1),
            values.repeat_interleave(fold, dim=1),
            mask,
            is_causal=mask is None and length > 1,
        )
        out = out.transpose(1, 2).reshape(batch, length, heads * size)
        return cast(Tensor, self.o_proj(out))


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.hidden, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        gate, up = cast(Tensor, self.gate_proj(hidden)), cast(Tensor, self.up_proj(hidden))
        return cast(Tensor, self.down_proj(F.silu(gate) * up))


def rotary(positions: Tensor, shape: Shape, dtype: torch.dtype) -> Rotary:
    """Return cosines and sines (B, 1, T, d) of positions (B, T)."""
    half = torch.arange(0, shape.head_dim, 2, device=positions.device).float() / shape.head_dim
    frequencies = shape.theta**-half
    if shape.frequencies:
        frequencies = torch.tensor(shape.frequencies, device=positions.device)
    angles = positions[..., None].float() * frequencies
    angles = torch.cat([angles, angles], dim=-1)[:, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def turned(states: Tensor, rotary: Rotary) -> Tensor:
    """Turn queries or keys (B, H, T, d) to their positions."""
    cos, sin = rotary
    first, second = states.chunk(2, dim=-1)
    return states * cos + torch.cat([-second, first], dim=-1) * sin
