"""EAGLE's head, of EAGLE-1 and 2: the next feature from a feature and the token that was drawn
after it.

A feature is the target's state after its last norm. Which token comes next is chance, so that a
feature alone leaves open what the next one is; the pair does not. `fc` joins embedding and feature,
one layer without a norm before its attention follows, and its output is the next feature itself:
the target's own head reads it.

Li, Wei, Zhang, Zhang: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty, ICML
2024, arXiv 2401.15077. Reads the published layout. `token_map`, the tokens that a trimmed head can
name, is ours: the published heads name all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from core.heads.checkpoint import Checkpoint, read_checkpoint
from core.heads.llama_config import layer_shape
from core.heads.pairs import PairHead, PairLayer, Pairs
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.base import FINAL
from core.models.hf import HFModel
from core.parts import head

KIND = "eagle"
TAPS = (FINAL,)
TOKEN_MAP = "token_map"
NEXT_TOKEN = "next_token"  # in config.json: false in a head trained without it, to show why not
_LAYER = "layers.0."
_TARGET_S = ("embed_tokens.weight", "lm_head.weight")  # copies of the target's


class EagleHead(PairHead):
    """Parameters are named as published. `bias`: of `fc`; `qkv_bias`: of the attention."""

    def __init__(self, shape: Shape, bias: bool = True, qkv_bias: bool = False) -> None:
        super().__init__(shape)
        self.fc = nn.Linear(2 * shape.hidden, shape.hidden, bias=bias)
        self.layers = nn.ModuleList([PairLayer(shape, shape.hidden, qkv_bias)])

    @property
    def layer(self) -> PairLayer:
        return cast(PairLayer, self.layers[0])

    def fuse(self, states: Sequence[Tensor]) -> Tensor:
        (final,) = states
        return final

    def enter(self, features: Tensor, embedded: Tensor) -> tuple[Tensor, Tensor]:
        joined = cast(Tensor, self.fc(torch.cat([embedded, features], dim=-1)))
        return joined, joined


def eagle(
    module: EagleHead, target: TargetWeights, vocabulary: DraftVocabulary | None = None
) -> Pairs:
    """Return the head, ready for its target; without a vocabulary it can name every token."""
    vocabulary = vocabulary or DraftVocabulary.whole(target.vocabulary_size)
    return Pairs.of(KIND, module, TAPS, target, vocabulary.rows(target.head), vocabulary)


def read_eagle(folder: Path, target: TargetWeights) -> Pairs:
    """Read a checkpoint; raise ValueError with one sentence where it is none or does not fit."""
    checkpoint = read_checkpoint(folder, target.name, _is_own)
    if not checkpoint.flag(NEXT_TOKEN, True):
        raise ValueError(
            f"{checkpoint.name} was trained without the next token, for comparison: it cannot "
            "draft."
        )
    shape = layer_shape(checkpoint, target)
    check_sizes(checkpoint, _LAYER, shape, shape.hidden)
    bias = "fc.bias" in checkpoint
    if bias != checkpoint.flag("bias", bias):
        raise ValueError(f"{checkpoint.name} is damaged: config.json and fc.bias disagree.")
    module = EagleHead(shape, bias, f"{_LAYER}self_attn.q_proj.bias" in checkpoint)
    checkpoint.fill(module)
    vocabulary = None
    if TOKEN_MAP in checkpoint:
        ids = checkpoint.take_ids(TOKEN_MAP, None)
        vocabulary = DraftVocabulary.of(ids, target.vocabulary_size)
    checkpoint.finish()
    return eagle(module, target, vocabulary)


def check_sizes(checkpoint: Checkpoint, prefix: str, shape: Shape, width: int) -> None:
    """Raise ValueError unless the tensors are as large as config.json says: only then is a module
    of that size made.
    """
    attended = shape.heads * shape.head_dim
    checkpoint.take(f"{prefix}self_attn.q_proj.weight", attended, width)
    checkpoint.take(f"{prefix}self_attn.k_proj.weight", shape.groups * shape.head_dim, width)
    checkpoint.take(f"{prefix}mlp.gate_proj.weight", shape.inner, shape.hidden)


def _is_own(name: str) -> bool:
    return name not in _TARGET_S and not name.endswith("rotary_emb.inv_freq")


def _make(folder: Path, target: HFModel) -> Pairs:
    return read_eagle(folder, TargetWeights.of(target))


PARTS = (
    head(
        KIND,
        "EAGLE head",
        "Drafts the target's next state from its last one and the token that was drawn.",
        "Li et al. 2024 (EAGLE)",
        _make,
    ),
)
