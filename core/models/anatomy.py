"""Where embedding, layers, norm and head sit in a transformers model, so that passes can be
partial.

Families listed here are run layer by layer. Any other causal model is run whole: it can be a target
or a draft model, but has no views (early exit, skipped sublayers) and no hidden states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.models.cache import TreeCache

Rotary = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Pass:
    """What all layers of one forward share: `mask` (1, 1, T, K) additive or None, `positions` (1,
    T).

    `masks`: by kind of layer, where kinds see differently far. `folded`: the mask once per query
    head of a group (1, 1, G * T, K), for layers that fold heads into rows.
    """

    positions: Tensor
    mask: Tensor | None
    cache: TreeCache
    rotary: Rotary | None = None
    folded: Tensor | None = None
    masks: Mapping[str, Tensor] | None = None


class Anatomy(Protocol):
    """A model in pieces. Hidden states are (1, T, D); `prepare` comes before the first layer of a
    forward.
    """

    @property
    def num_layers(self) -> int: ...

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor: ...

    def prepare(self, hidden: Tensor, shared: Pass) -> Pass:
        """Add what is computed once per forward."""
        ...

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor: ...

    def transform(self, layer: int, hidden: Tensor) -> Tensor: ...

    def norm(self, hidden: Tensor) -> Tensor: ...

    def head(self, hidden: Tensor) -> Tensor: ...


class Attention(Protocol):
    """An attention module of transformers: output, and the weights where it is eager."""

    def __call__(
        self,
        hidden_states: Tensor,
        *,
        attention_mask: Tensor | None,
        cache: TreeCache,
        position_embeddings: Rotary | None = ...,
    ) -> tuple[Tensor, Tensor | None]: ...


Op = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Block:
    """One pre-norm decoder layer: its module, two norms, attention and MLP."""

    module: nn.Module
    norm: Op
    attention: Attention
    norm2: Op
    mlp: Op

    @staticmethod
    def of(module: nn.Module, norm: str, attention: str, norm2: str, mlp: str) -> Block:
        """Take the parts of a layer by their names."""
        return Block(
            module,
            cast(Op, getattr(module, norm)),
            cast(Attention, getattr(module, attention)),
            cast(Op, getattr(module, norm2)),
            cast(Op, getattr(module, mlp)),
        )


class LlamaLike:
    """Pre-norm decoder with rotary positions: Llama, Mistral, Qwen2, Qwen3, SmolLM."""

    def __init__(self, model: PreTrainedModel) -> None:
        body = cast(nn.Module, model.model)
        layers = list(cast(nn.ModuleList, body.layers))
        names = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
        self._blocks = [Block.of(layer, *names) for layer in layers]
        self._devices = [next(layer.parameters()).device for layer in layers]
        kinds = cast("list[str] | None", getattr(model.config, "layer_types", None))
        self._kinds = kinds or ["sliding_attention"] * len(layers)
        self._last = next(cast(nn.Module, body.norm).parameters()).device
        self._embed = cast(Op, body.embed_tokens)
        self._rotary = cast(Callable[[Tensor, Tensor], Rotary], body.rotary_emb)
        self._norm = cast(Op, body.norm)
        self._head = cast(Op, model.lm_head)

    @property
    def num_layers(self) -> int:
        return len(self._blocks)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._embed(ids)

    def prepare(self, hidden: Tensor, shared: Pass) -> Pass:
        return replace(shared, rotary=self._rotary(hidden, shared.positions))

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor:
        block, device = self._blocks[layer], self._devices[layer]
        hidden = hidden.to(device)
        cos, sin = cast(Rotary, shared.rotary)
        mask = shared.mask if shared.masks is None else shared.masks[self._kinds[layer]]
        mixed, _ = block.attention(
            block.norm(hidden),
            position_embeddings=(cos.to(device), sin.to(device)),
            attention_mask=None if mask is None else mask.to(device),
            cache=shared.cache,
        )
        return hidden + mixed

    def transform(self, layer: int, hidden: Tensor) -> Tensor:
        block = self._blocks[layer]
        hidden = hidden.to(self._devices[layer])
        return hidden + block.mlp(block.norm2(hidden))

    def norm(self, hidden: Tensor) -> Tensor:
        return self._norm(hidden.to(self._last))

    def head(self, hidden: Tensor) -> Tensor:
        return self._head(hidden)


class GPT2Like:
    """Pre-norm decoder with learned absolute positions: GPT-2 and its relatives."""

    def __init__(self, model: PreTrainedModel) -> None:
        body = cast(nn.Module, model.transformer)
        layers = cast(nn.ModuleList, body.h)
        self._blocks = [Block.of(layer, "ln_1", "attn", "ln_2", "mlp") for layer in layers]
        self._tokens, self._positions = cast(Op, body.wte), cast(Op, body.wpe)
        self._norm = cast(Op, body.ln_f)
        self._head = cast(Op, model.lm_head)

    @property
    def num_layers(self) -> int:
        return len(self._blocks)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._tokens(ids) + self._positions(positions)

    def prepare(self, hidden: Tensor, shared: Pass) -> Pass:
        return shared

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor:
        block = self._blocks[layer]
        mixed, _ = block.attention(
            block.norm(hidden), cache=shared.cache, attention_mask=shared.mask
        )
        return hidden + mixed

    def transform(self, layer: int, hidden: Tensor) -> Tensor:
        block = self._blocks[layer]
        return hidden + block.mlp(block.norm2(hidden))

    def norm(self, hidden: Tensor) -> Tensor:
        return self._norm(hidden)

    def head(self, hidden: Tensor) -> Tensor:
        return self._head(hidden)


def attention_of(model: PreTrainedModel) -> str:
    """Return the name of the attention code that the model uses: sdpa, eager ..."""
    return str(getattr(model.config, "_attn_implementation", "eager"))


def run_whole(model: PreTrainedModel, ids: Tensor, shared: Pass, rows: int) -> Tensor:
    """Run a model of any family in one call; return the last `rows` rows of logits (rows, V)."""
    several = shared.masks is not None and len(shared.masks) > 1
    mask = shared.mask if shared.masks is None else next(iter(shared.masks.values()))
    out = model(
        input_ids=ids,
        position_ids=shared.positions,
        attention_mask=shared.masks if several else mask,
        cache=shared.cache,
        use_cache=True,
    )
    return cast(torch.Tensor, out.logits)[0, -rows:]
