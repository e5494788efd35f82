"""Random transformers models of a few thousand weights, one per shape, and their law computed the
slow way.

The slow way is one plain forward per path: no cache, no mask, nothing of the code under test.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, PreTrainedModel

from core.models.hf import HFModel, Plan
from core.trace import ModelCard
from core.tree import DraftTree

VOCABULARY = 23
CONTEXT = 48

_ROTARY: Mapping[str, object] = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
}
SHAPES: Mapping[str, Mapping[str, object]] = {
    "llama": _ROTARY,
    "qwen2": {k: v for k, v in _ROTARY.items() if k != "head_dim"},
    "qwen3": {**_ROTARY, "head_dim": 8},
    "mistral": {**_ROTARY, "sliding_window": None},
    "gpt2": {"n_embd": 16, "n_head": 4},
    "opt": {"hidden_size": 16, "ffn_dim": 24, "num_attention_heads": 4, "word_embed_proj_dim": 16},
    "gpt_neox": {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 4},
}
LAYERED = ("llama", "qwen2", "qwen3", "mistral", "gpt2")
WHOLE = ("opt", "gpt_neox")


@cache
def tiny(
    shape: str,
    attention: str = "sdpa",
    layers: int = 3,
    vocabulary: int = VOCABULARY,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    context: int = CONTEXT,
) -> PreTrainedModel:
    """Return a random model; its weights are large enough for its laws to be far from flat."""
    length = {"n_positions" if shape == "gpt2" else "max_position_embeddings": context}
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    config = AutoConfig.for_model(
        shape,
        **(SHAPES[shape] | length | special),
        num_hidden_layers=layers,
        vocab_size=vocabulary,
        initializer_range=0.2,
        tie_word_embeddings=False,
    )
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention, dtype=dtype)
    return model.eval()


def wrapped(model: PreTrainedModel, context: int = CONTEXT) -> HFModel:
    """Return the model under test, with a card that states its vocabulary and context."""
    card = ModelCard(
        id="tiny",
        dtype=str(model.dtype).removeprefix("torch."),
        device="cpu",
        parameters=sum(p.numel() for p in model.parameters()),
        layers=model.config.num_hidden_layers,
        vocabulary_size=model.config.vocab_size,
        context=context,
    )
    return HFModel(model, card)


@torch.inference_mode()
def slow_logits(model: PreTrainedModel, tokens: Sequence[int]) -> Tensor:
    """Return logits (T, V) of one plain pass over `tokens`."""
    return model(torch.tensor([list(tokens)]), use_cache=False).logits[0]


def slow_rows(model: PreTrainedModel, text: Sequence[int], tree: DraftTree) -> Tensor:
    """Return logits (N, V): what follows each node of `tree` after `text`, path by path."""
    paths = [[tree.tokens[n] for n in tree.path(node)] for node in range(len(tree))]
    return torch.stack([slow_logits(model, [*text, *path])[-1] for path in paths])


@contextmanager
def partial(model: PreTrainedModel, plan: Plan) -> Generator[None]:
    """Silence the sublayers that `plan` leaves out: they add nothing to the residual stream."""
    body = model.transformer if hasattr(model, "transformer") else model.model
    blocks = body.h if hasattr(body, "h") else body.layers

    def no_attention(hidden_states: Tensor, *_: object, **__: object) -> tuple[Tensor, None]:
        return torch.zeros_like(hidden_states), None

    silenced = []
    for block, attends, transforms in zip(blocks, plan.attention, plan.mlp, strict=True):
        attention = block.attn if hasattr(block, "attn") else block.self_attn
        silenced += [] if attends else [(attention, no_attention)]
        silenced += [] if transforms else [(block.mlp, torch.zeros_like)]
    for module, silence in silenced:
        module.forward = silence
    try:
        yield
    finally:
        for module, _ in silenced:
            del module.forward


@torch.inference_mode()
def slow_part(
    model: PreTrainedModel, text: Sequence[int], path: Sequence[int], plan: Plan
) -> Tensor:
    """Return logits (V,) after `path`, run token by token by a part of the model.

    The text's keys and values are the whole model's, as for every view of a target.
    """
    cache = DynamicCache()
    if text:
        model(torch.tensor([list(text)]), cache=cache)
    logits = torch.empty(0)
    with partial(model, plan):
        for place, token in enumerate(path, start=len(text)):
            logits = model(
                torch.tensor([[token]]),
                cache=cache,
                position_ids=torch.tensor([[place]]),
                attention_mask=torch.zeros((1, 1, 1, place + 1), dtype=model.dtype),
            ).logits[0, -1]
    return logits
