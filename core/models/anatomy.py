"""Where embedding, layers, norm and head sit in a transformers model, so that passes can be partial.

Families listed here are run layer by layer. Any other causal model is run whole: it can be a target or a draft model,
but has no views (early exit, skipped sublayers) and no hidden states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.models.cache import TreeCache

Rotary = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Pass:
    """What all layers of one forward share: `mask` (1, 1, T, K) additive or None, `positions` (1, T)."""

    positions: Tensor
    mask: Tensor | None
    cache: TreeCache
    rotary: Rotary | None = None


class Anatomy(Protocol):
    """A model in pieces. Hidden states are (1, T, D)."""

    @property
    def num_layers(self) -> int: ...

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor: ...

    def rotate(self, hidden: Tensor, positions: Tensor) -> Rotary | None: ...

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor: ...

    def transform(self, layer: int, hidden: Tensor) -> Tensor: ...

    def norm(self, hidden: Tensor) -> Tensor: ...

    def head(self, hidden: Tensor) -> Tensor: ...


class LlamaLike:
    """Pre-norm decoder with rotary positions: Llama, Mistral, Qwen2, Qwen3, SmolLM."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._body = cast(nn.Module, model.model)
        self._layers = cast(Sequence[nn.Module], self._body.layers)
        self._lm_head = cast(nn.Module, model.lm_head)
        self._devices = [next(layer.parameters()).device for layer in self._layers]
        self._last = next(cast(nn.Module, self._body.norm).parameters()).device

    @property
    def num_layers(self) -> int:
        return len(self._layers)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._body.embed_tokens(ids)  # pyright: ignore[reportCallIssue]

    def rotate(self, hidden: Tensor, positions: Tensor) -> Rotary | None:
        return self._body.rotary_emb(hidden, positions)  # pyright: ignore[reportCallIssue]

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor:
        block, device = self._layers[layer], self._devices[layer]
        hidden = hidden.to(device)
        rotary = shared.rotary
        if rotary is not None and rotary[0].device != device:
            rotary = (rotary[0].to(device), rotary[1].to(device))
        mask = None if shared.mask is None else shared.mask.to(device)
        normed = block.input_layernorm(hidden)  # pyright: ignore[reportCallIssue]
        mixed, _ = block.self_attn(  # pyright: ignore[reportCallIssue]
            normed, position_embeddings=rotary, attention_mask=mask, cache=shared.cache
        )
        return hidden + mixed

    def transform(self, layer: int, hidden: Tensor) -> Tensor:
        block = self._layers[layer]
        hidden = hidden.to(self._devices[layer])
        return hidden + block.mlp(block.post_attention_layernorm(hidden))  # pyright: ignore[reportCallIssue]

    def norm(self, hidden: Tensor) -> Tensor:
        return self._body.norm(hidden.to(self._last))  # pyright: ignore[reportCallIssue]

    def head(self, hidden: Tensor) -> Tensor:
        return self._lm_head(hidden)


class GPT2Like:
    """Pre-norm decoder with learned absolute positions: GPT-2 and its relatives."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._body = cast(nn.Module, model.transformer)
        self._layers = cast(Sequence[nn.Module], self._body.h)
        self._lm_head = cast(nn.Module, model.lm_head)

    @property
    def num_layers(self) -> int:
        return len(self._layers)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._body.wte(ids) + self._body.wpe(positions)  # pyright: ignore[reportCallIssue]

    def rotate(self, hidden: Tensor, positions: Tensor) -> Rotary | None:
        return None

    def attend(self, layer: int, hidden: Tensor, shared: Pass) -> Tensor:
        block = self._layers[layer]
        normed = block.ln_1(hidden)  # pyright: ignore[reportCallIssue]
        mixed, _ = block.attn(  # pyright: ignore[reportCallIssue]
            normed, cache=shared.cache, attention_mask=shared.mask
        )
        return hidden + mixed

    def transform(self, layer: int, hidden: Tensor) -> Tensor:
        block = self._layers[layer]
        return hidden + block.mlp(block.ln_2(hidden))  # pyright: ignore[reportCallIssue]

    def norm(self, hidden: Tensor) -> Tensor:
        return self._body.ln_f(hidden)  # pyright: ignore[reportCallIssue]

    def head(self, hidden: Tensor) -> Tensor:
        return self._lm_head(hidden)


_FAMILIES = {
    "llama": LlamaLike,
    "mistral": LlamaLike,
    "qwen2": LlamaLike,
    "qwen3": LlamaLike,
    "gpt2": GPT2Like,
}


def anatomy(model: PreTrainedModel) -> Anatomy | None:
    """Return the model in pieces, or None when its family is only run whole."""
    family = _FAMILIES.get(str(model.config.model_type))
    offloaded = any(parameter.device.type == "meta" for parameter in model.parameters())
    return None if family is None or offloaded else family(model)


def run_whole(model: PreTrainedModel, ids: Tensor, shared: Pass, rows: int) -> Tensor:
    """Run a model of any family in one call; return the last `rows` rows of logits (rows, V)."""
    out = model(
        input_ids=ids,
        position_ids=shared.positions,
        attention_mask=shared.mask,
        cache=shared.cache,
        use_cache=True,
    )
    return cast(torch.Tensor, out.logits)[0, -rows:]
