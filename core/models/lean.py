"""The Llama layer in as few calls as it takes: a small model's step is half call overhead.

Same weights, same formulas as transformers' module, fewer kernels: query, key and value in one
product, gate and up in another, rotary positions on queries and keys together, and grouped heads
folded into the query rows, so that keys and values are never repeated. The fused matrices replace
the module's own (its parameters become views of them): no memory is used twice. Rounding differs
from the module's in the last bits, as any regrouped sum does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.models.anatomy import LlamaLike, Op, Pass, Rotary, attention_of

_PARTS = {"input_layernorm", "self_attn", "post_attention_layernorm", "mlp"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_MLP = {"gate_proj", "up_proj", "down_proj", "act_fn"}


@dataclass(frozen=True, slots=True)
class _Layer:
    """Weights of one layer; `qkv` and `gate_up` are stacked by rows."""

    norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    out: Op
    norm2: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Op


def is_lean(model: PreTrainedModel) -> bool:
    """Return whether every layer is made of exactly the parts rewritten here, on one device."""
    if attention_of(model) != "sdpa" or model.config.hidden_act != "silu":
        return False
    if len({parameter.device for parameter in model.parameters()}) != 1:
        return False
    layers = cast(nn.ModuleList, cast(nn.Module, model.model).layers)
    return all(
        _names(layer) == _PARTS
        and _names(layer.self_attn) == _ATTENTION
        and _names(layer.mlp) <= _MLP
        and _is_plain(layer.self_attn)
        and _is_plain(layer.mlp)
        for layer in layers
    )


def _names(module: object) -> set[str]:
    return {name for name, _ in cast(nn.Module, module).named_children()}


def _is_plain(module: object) -> bool:
    """Return whether all products are plain linear layers; quantised ones cannot be stacked."""
    parts = cast(nn.Module, module).named_children()
    return all(type(part) is nn.Linear for name, part in parts if name.endswith("_proj"))


class LeanLlama(LlamaLike):
    """A Llama-shaped model without the module overhead. Requires `is_lean(model)`."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__(model)
        config = model.config
        self.dtype = model.dtype
        self._heads = int(config.num_attention_heads)
        self.groups = int(config.num_key_value_heads)
        self.head_dim = int(getattr(config, "head_dim", None) or config.hidden_size // self._heads)
        self.fold = self._heads // self.groups  # query heads that share keys
        self._eps = float(config.rms_norm_eps)
        self._lean = [_fused(block.module) for block in self._blocks]

    def prepare(self, hidden: Tensor, shared: Pass) -> Pass:
        """Lay out the rotations, and fold the mask."""
        shared = super().prepare(hidden, shared)
        folded = None if shared.mask is None else shared.mask.repeat(1, 1, self.fold, 1)
        return replace(shared, rotary=_signed(cast(Rotary, shared.rotary)), folded=folded)

    def turns(self, hidden: Tensor, positions: Tensor) -> Rotary:
        """Return cosines and signed sines (T, 1, D) of `positions` (T,), for `projected`."""
        return _signed(self._rotary(hidden[None], positions[None]))

    def projected(
        self, layer: int, hidden: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (T, H, D), keys and values (T, G, D) of states (T, hidden size), turned to
        their positions.
        """
        weights, size = self._lean[layer], self.head_dim
        normed = F.rms_norm(hidden, (hidden.shape[-1],), weights.norm, self._eps)
        mixed = F.linear(normed, weights.qkv, weights.qkv_bias).view(len(hidden), -1, size)
        turned, values = mixed[:, : -self.groups], mixed[:, -self.groups :]
        turned = torch.addcmul(turned * cos, turned.roll(size // 2, dims=-1), sin)
        return turned[:, : self._heads], turned[:, self._heads :], values

    def mixed(self, layer: int, heads: Tensor) -> Tensor:
        """Return what the attention of a layer adds, from its heads' outputs side by side."""
        return self._lean[layer].out(heads)

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor:
        rows, size = hidden.shape[1], self.head_dim
        queries, keys, values = self.projected(layer, hidden[0], *cast(Rotary, shared.rotary))
        keys, values = shared.cache.update(
            keys.transpose(0, 1)[None], values.transpose(0, 1)[None], layer
        )
        queries = queries.view(rows, self.groups, -1, size).permute(1, 2, 0, 3)
        queries = queries.reshape(1, self.groups, -1, size)
        causal = shared.mask is None and rows > 1
        if causal:
            keys = keys.repeat_interleave(self.fold, dim=1)
            values = values.repeat_interleave(self.fold, dim=1)
            queries = queries.view(1, self._heads, rows, size)
        out = F.scaled_dot_product_attention(queries, keys, values, shared.folded, is_causal=causal)
        out = out.view(self._heads, rows, size).transpose(0, 1).reshape(1, rows, -1)
        return hidden + self.mixed(layer, out)

    def transform(self, layer: int, hidden: Tensor) -> Tensor:
        weights = self._lean[layer]
        normed = F.rms_norm(hidden, (hidden.shape[-1],), weights.norm2, self._eps)
        gate, up = F.linear(normed, weights.gate_up, weights.gate_up_bias).chunk(2, dim=-1)
        return hidden + weights.down(F.silu(gate) * up)


def _signed(rotary: Rotary) -> Rotary:
    """Return cosines and sines as (T, 1, D), the first half of the sines negated: then a roll by
    half a head rotates.
    """
    cos, sin = (part[0, :, None] for part in rotary)
    half = sin.shape[-1] // 2
    return cos, torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)


def _fused(layer: nn.Module) -> _Layer:
    attention, mlp = cast(nn.Module, layer.self_attn), cast(nn.Module, layer.mlp)
    qkv, qkv_bias = _stack([cast(nn.Linear, getattr(attention, f"{x}_proj")) for x in "qkv"])
    gate_up, gate_up_bias = _stack([cast(nn.Linear, mlp.gate_proj), cast(nn.Linear, mlp.up_proj)])
    return _Layer(
        norm=_weight(layer.input_layernorm),
        qkv=qkv,
        qkv_bias=qkv_bias,
        out=cast(Op, attention.o_proj),
        norm2=_weight(layer.post_attention_layernorm),
        gate_up=gate_up,
        gate_up_bias=gate_up_bias,
        down=cast(Op, mlp.down_proj),
    )


def _weight(module: object) -> Tensor:
    return cast(Tensor, cast(nn.Module, module).weight)


def _stack(parts: list[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Stack the weights of linear layers by rows; make the layers' own weights views of it."""
    weight = torch.cat([part.weight.data for part in parts])
    first = 0
    for part in parts:
        part.weight.data = weight[first : first + part.out_features]
        first += part.out_features
    biases = [cast(Tensor | None, part.bias) for part in parts]
    given = [bias.data for bias in biases if bias is not None]
    return weight, torch.cat(given) if given else None
