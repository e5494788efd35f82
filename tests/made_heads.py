"""Random checkpoints of heads over pairs, written in each published layout for a target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
from safetensors.torch import save_file
from torch import Tensor

from core.heads.eagle import EagleHead
from core.heads.eagle3 import Eagle3Head, Variant
from core.heads.target import Shape, TargetWeights
from tests.toy_heads import shaken, some_rows

PLAIN, FROM_NORMED = Variant(), Variant(from_normed=True)
FILE = "model.safetensors"
LISTED = "eagle_aux_hidden_state_layer_ids"
Config = dict[str, object]
Tensors = dict[str, Tensor]


def layer_settings(shape: Shape, target: TargetWeights) -> Config:
    return {
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.groups,
        "head_dim": shape.head_dim,
        "num_hidden_layers": 1,
        "rms_norm_eps": shape.eps,
        "rope_theta": shape.theta,
        "vocab_size": target.vocabulary_size,
    }


def state_of(module: torch.nn.Module) -> Tensors:
    return {n: t.clone() for n, t in cast("dict[str, Tensor]", module.state_dict()).items()}


def eagle_parts(
    target: TargetWeights, bias: bool = True, qkv_bias: bool = False
) -> tuple[Config, Tensors]:
    """Return a head of EAGLE-1/2 as published, with its copy of the target's embedding."""
    module = EagleHead(target.shape, bias, qkv_bias)
    shaken(module, 11, 0.3)
    config = layer_settings(target.shape, target) | {"architectures": ["LlamaForCausalLM"]}
    tensors = state_of(module) | {"embed_tokens.weight": target.embedding.clone()}
    return config if bias else config | {"bias": False}, tensors


def eagle3_parts(
    target: TargetWeights, variant: Variant = PLAIN, prefix: str = "midlayer.", count: int = 9
) -> tuple[Config, Tensors]:
    """Return a head of EAGLE-3 in the first layout; with `count` tokens, spread over all."""
    module = Eagle3Head(target.shape, variant)
    shaken(module, 12, 0.4)
    tensors = {n.replace("midlayer.", prefix, 1): t for n, t in state_of(module).items()}
    ids = draft_ids(target, count)
    tensors["lm_head.weight"] = some_rows(count, target.shape.hidden, 13).float()
    tensors["d2t"] = ids - torch.arange(count)
    tensors["t2d"] = torch.zeros(target.vocabulary_size, dtype=torch.bool).index_fill(0, ids, True)
    config = layer_settings(target.shape, target) | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": count,
    }
    return config, tensors


def draft_ids(target: TargetWeights, count: int) -> Tensor:
    return torch.linspace(0, target.vocabulary_size - 1, count).long()


def speculators_parts(
    target: TargetWeights, variant: Variant = FROM_NORMED
) -> tuple[Config, Tensors]:
    """Return a head of EAGLE-3 in the `speculators` format."""
    config, tensors = eagle3_parts(target, variant, "layers.0.")
    inner = {key: value for key, value in config.items() if key != "draft_vocab_size"}
    tensors["embed_tokens.weight"] = target.embedding.clone()
    return {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "speculators_version": "0.9.0",
        "speculators_config": {"algorithm": "eagle3", "proposal_methods": []},
        "transformer_layer_config": inner | {"model_type": "llama"},
        "draft_vocab_size": config["draft_vocab_size"],
        "norm_before_residual": variant.from_normed,
        "norm_before_fc": variant.before == "all",
        "fc_norm": variant.before == "each",
        "norm_output": variant.hands_on_normed,
        "embed_requires_grad": False,
    }, tensors


def written(folder: Path, config: Mapping[str, object], tensors: Mapping[str, Tensor]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / FILE)
    return folder
