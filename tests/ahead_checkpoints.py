"""Random checkpoints of Medusa and Hydra as they are published, and what their heads say, in plain
formulas over the raw tensors: nothing of the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

Tensors = dict[str, Tensor]
Say = Callable[[Tensor, Tensor], Tensor]  # states (T, D) of the text, embeddings (d + 1, D) -> (V,)

HEADS = 3


@dataclass(frozen=True)
class Checkpoint:
    """`says[d]`: what head d says after a path, given all states of the text."""

    config: Mapping[str, object]
    tensors: Tensors
    says: Sequence[Say]
    file: str = "model.safetensors"

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config))
        if self.file.endswith(".safetensors"):
            save_file(self.tensors, folder / self.file)
        else:
            torch.save(self.tensors, folder / self.file)
        return folder


class Made:
    """Random tensors by name."""

    def __init__(self, seed: int) -> None:
        self.chance = torch.Generator().manual_seed(seed)
        self.tensors: Tensors = {}

    def __call__(self, name: str, *shape: int, scale: float = 0.5) -> Tensor:
        self.tensors[name] = scale * torch.randn(shape, generator=self.chance)
        return self.tensors[name]


def _block(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return hidden + F.silu(F.linear(hidden, weight, bias))


def _outside(logits: Tensor, ids: Tensor, size: int) -> Tensor:
    whole = torch.full((size,), -torch.inf)
    for place, token in enumerate(ids.tolist()):
        whole[token] = logits[place]
    return whole


def medusa_heads(
    model: PreTrainedModel,
    own: bool = True,
    blocks: int = 1,
    before: str = "",
    file: str = "medusa_lm_head.pt",
    ids: Tensor | None = None,
) -> Checkpoint:
    """Heads only, with or without readers of their own; the blocks of a head are copies of one."""
    make, width, size = Made(1), model.config.hidden_size, model.config.vocab_size
    says: list[Say] = []
    for head in range(HEADS):
        weight = make(f"{before}{head}.0.linear.weight", width, width)
        bias = make(f"{before}{head}.0.linear.bias", width)
        for block in range(1, blocks):
            make.tensors[f"{before}{head}.{block}.linear.weight"] = weight.clone()
            make.tensors[f"{before}{head}.{block}.linear.bias"] = bias.clone()
        rows = model.lm_head.weight.detach()
        if own:
            rows = make(f"{before}{head}.{blocks}.weight", size, width)

        def say(
            states: Tensor, path: Tensor, w: Tensor = weight, b: Tensor = bias, r: Tensor = rows
        ) -> Tensor:
            hidden = states[-1]
            for _ in range(blocks):
                hidden = _block(hidden, w, b)
            return r @ hidden if ids is None else _outside(r[ids] @ hidden, ids, size)

        says.append(say)
    if ids is not None:
        make.tensors["token_map"] = ids
    if before:  # the rest of the model, which is not read
        make("model.embed_tokens.weight", size, width)
        make("model.norm.weight", width)
    config = {"medusa_num_heads": 2, "medusa_num_layers": blocks, "version": "2"}
    return Checkpoint(config, make.tensors, says, file)


def medusa_vllm(
    model: PreTrainedModel,
    ids: Tensor | None = None,
    one: bool = False,
    bias: bool = False,
    whole: bool = False,
    before: str = "",
) -> Checkpoint:
    """vLLM's layout. `ids`: its token map; `whole`: rows of all tokens all the same; `one`: reader
    for all heads.
    """
    make, width, size = Made(2), model.config.hidden_size, model.config.vocab_size
    count = size if ids is None or whole else len(ids)
    says: list[Say] = []
    rows = torch.empty(0)
    for head in range(HEADS):
        weight = make(f"{before}blocks.{head}.layers.0.weight", width, width)
        shift = make(f"{before}blocks.{head}.layers.0.bias", width) if bias else None
        if not one or head == 0:
            rows = make(f"{before}lm_heads.{head}.weight", count, width)

        def say(
            states: Tensor,
            path: Tensor,
            w: Tensor = weight,
            b: Tensor | None = shift,
            r: Tensor = rows,
        ) -> Tensor:
            hidden = _block(states[-1], w, b)
            named = r[ids] if ids is not None and whole else r
            logits = 0.5 * (named @ hidden)
            return logits if ids is None else _outside(logits, ids, size)

        says.append(say)
    if ids is not None:
        make.tensors[f"{before}token_map"] = ids
    config = {
        "model_type": "medusa",
        "hidden_size": width,
        "vocab_size": size,
        "num_heads": HEADS,
        "num_hidden_layers": 1,
        "truncated_vocab_size": size if ids is None else len(ids),
        "medusa_fc_bias": bias,
        "original_lm_head": one,
        "logit_scale": 0.5,
    }
    return Checkpoint(config, make.tensors, says)


def hydra_heads(
    model: PreTrainedModel,
    prefix: bool = False,
    own: bool = True,
    blocks: int = 2,
    ids: Tensor | None = None,
    file: str = "hydra_lm_head.pt",
    offset: int = 0,
) -> Checkpoint:
    """Hydra, or Hydra++ with dropouts that shift the places of blocks and readers."""
    make, width, size = Made(3), model.config.hidden_size, model.config.vocab_size
    layer = _prefix(make, model) if prefix else None
    says: list[Say] = []
    for head in range(HEADS):
        places = [2 * block + 1 if prefix else block for block in range(blocks)]
        first = f"hydra_mlp.{head}.{places[0]}"
        inputs = (head + 2) * width
        parts = [
            make(f"{first}.linear.weight", width, inputs),
            make(f"{first}.linear.bias", width),
            make(f"{first}.res_connection.weight", width, inputs),
            make(f"{first}.res_connection.bias", width),
        ]
        later = [
            (
                make(f"hydra_mlp.{head}.{place}.linear.weight", width, width),
                make(f"hydra_mlp.{head}.{place}.linear.bias", width),
            )
            for place in places[1:]
        ]
        rows, shift = model.lm_head.weight.detach(), torch.zeros(size)
        if own:
            name = f"hydra_lm_head.{head}" + (".1" if prefix else "")
            rows, shift = make(f"{name}.weight", size, width), make(f"{name}.bias", size)
        says.append(_hydra_say(parts, later, rows, shift, ids, layer))
    if ids is not None:
        make.tensors["token_map"] = ids
    make("input_embed_fn.weight", size, width)
    config = {
        "hydra_num_heads": HEADS,
        "hydra_num_layers": blocks,
        "hydra_head_arch": "prefix-mlp" if prefix else "mlp",
        "grounded_heads": True,
        "hidden_state_offset": offset,
    }
    return Checkpoint(config, make.tensors, says, file)


def _hydra_say(
    parts: Sequence[Tensor],
    later: Sequence[tuple[Tensor, Tensor]],
    rows: Tensor,
    shift: Tensor,
    ids: Tensor | None,
    layer: Callable[[Tensor], Tensor] | None,
) -> Say:
    weight, bias, passing, passed = parts

    def say(states: Tensor, path: Tensor) -> Tensor:
        state = states[-1] if layer is None else layer(states)
        joined = torch.cat([state, *path])
        hidden = F.silu(F.linear(joined, weight, bias)) + F.linear(joined, passing, passed)
        for w, b in later:
            hidden = _block(hidden, w, b)
        logits = rows @ hidden + shift
        return logits if ids is None else _outside(logits[ids], ids, len(rows))

    return say


def _prefix(make: Made, model: PreTrainedModel) -> Callable[[Tensor], Tensor]:
    """Make a decoder layer as published; return its last output, by a copy of the model's own."""
    base = "prefix_embeding_layer."
    own = model.model.layers[0].state_dict()
    tensors = {
        name: make(f"{base}layers.0.{name}", *tensor.shape, scale=0.3)
        for name, tensor in own.items()
    }
    norm = make(f"{base}norm.weight", model.config.hidden_size)
    make(f"{base}embed_tokens.weight", 4, 4)

    @torch.no_grad()
    def last(states: Tensor) -> Tensor:
        layer, body = model.model.layers[0], model.model
        before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
        layer.load_state_dict(tensors)
        try:
            places = torch.arange(len(states))[None]
            turns = body.rotary_emb(states[None], places)
            mask = torch.full((len(states), len(states)), -torch.inf).triu(1)[None, None]
            out = layer(states[None], attention_mask=mask, position_embeddings=turns)
            out = out[0] if isinstance(out, tuple) else out
        finally:
            layer.load_state_dict(before)
        return F.rms_norm(out[0, -1], norm.shape, norm, model.config.rms_norm_eps)

    return last
