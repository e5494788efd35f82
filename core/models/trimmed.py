"""Draft models that name only a part of the vocabulary: Llama folders with a short output layer.

Laid out as transformers saves a Llama, but for `lm_head.weight`, which has `draft_vocab_size` rows,
and `token_map`, the token that each row stands for. A folder holds no tokenizer: such a model was
made for one target and speaks its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from core.heads.checkpoint import CONFIG, WEIGHTS, Checkpoint, read_checkpoint, read_config
from core.heads.files import write_tensors
from core.heads.vocabulary import DraftVocabulary

ROWS = "draft_vocab_size"  # of config.json
TOKEN_MAP = "token_map"
MOST_BYTES = 2 * 2**30
_MOST_LAYERS = 128


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes of a small Llama whose every head has keys of its own. `context`: most tokens."""

    hidden: int
    layers: int
    heads: int
    inner: int
    context: int
    eps: float = 1e-5
    theta: float = 10000.0


class TrimmedHead(nn.Module):
    """An output layer with rows for a part of the vocabulary; all other tokens have the law 0."""

    def __init__(self, width: int, vocabulary: DraftVocabulary) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.weight = nn.Parameter(torch.empty(len(vocabulary), width))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return logits (..., V) of states (..., D)."""
        logits = self.rows(hidden)
        spread = self.vocabulary.spread(logits.flatten(0, -2))
        return spread.view(*logits.shape[:-1], -1)

    def rows(self, hidden: Tensor) -> Tensor:
        """Return logits (..., k) of states (..., D), of the part alone."""
        return F.linear(hidden, self.weight)


def built(size: Size, vocabulary: DraftVocabulary) -> PreTrainedModel:
    """Return a model of random layers, its embedding and its head not filled yet, in float32."""
    config = LlamaConfig.from_dict({**_config(size, vocabulary), "vocab_size": 1})
    model = cast(PreTrainedModel, LlamaForCausalLM(config))
    model.set_input_embeddings(nn.Embedding(vocabulary.size, size.hidden))
    model.set_output_embeddings(TrimmedHead(size.hidden, vocabulary))
    config.vocab_size = vocabulary.size
    return model


def head_of(model: PreTrainedModel) -> TrimmedHead:
    return cast(TrimmedHead, model.get_output_embeddings())


def is_trimmed(folder: Path) -> bool:
    """Return whether a folder holds such a model; a damaged one is for its reader to tell."""
    try:
        return ROWS in read_config(folder) and folder.is_dir()
    except ValueError:
        return False


def read_trimmed(
    folder: Path, target: str, tokens: int, dtype: torch.dtype, device: torch.device
) -> PreTrainedModel:
    """Return the model in a folder, for a target of that name with so many `tokens`.

    Raises ValueError with one sentence where it is damaged or speaks another vocabulary.
    """
    checkpoint = read_checkpoint(folder, target, most_bytes=MOST_BYTES)
    spoken = checkpoint.whole("vocab_size", 0)
    if spoken != tokens:
        raise ValueError(
            f"{checkpoint.name} cannot draft for {target}: it speaks {spoken:,} tokens and the "
            f"target {tokens:,}."
        )
    size = _size(checkpoint)
    rows = checkpoint.whole(ROWS, 0, 1, tokens)
    model = built(size, DraftVocabulary.of(checkpoint.take_ids(TOKEN_MAP, rows), tokens))
    checkpoint.fill(model.requires_grad_(False))
    checkpoint.finish()
    return cast(nn.Module, model).to(device, dtype).eval()  # pyright: ignore[reportReturnType]


def write_trimmed(folder: Path, model: PreTrainedModel, size: Size, target: str) -> None:
    """Write a model's folder, in bfloat16."""
    vocabulary = head_of(model).vocabulary
    state = cast("Mapping[str, Tensor]", model.state_dict())
    tensors = {name: tensor.detach().bfloat16() for name, tensor in state.items()}
    write_tensors({**tensors, TOKEN_MAP: vocabulary.ids.int()}, folder / WEIGHTS)
    config = {**_config(size, vocabulary), "base_model_name_or_path": target}
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _config(size: Size, vocabulary: DraftVocabulary) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocabulary.size,
        ROWS: len(vocabulary),
        "hidden_size": size.hidden,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.heads,
        "head_dim": size.hidden // size.heads,
        "hidden_act": "silu",
        "max_position_embeddings": size.context,
        "rms_norm_eps": size.eps,
        "rope_theta": size.theta,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        "torch_dtype": "bfloat16",
    }


def _size(checkpoint: Checkpoint) -> Size:
    """Return the sizes that a config states; raise ValueError for those that cannot be."""
    hidden = checkpoint.whole("hidden_size", 0, 2, 2**16)
    heads = checkpoint.whole("num_attention_heads", 1, 1, hidden)
    if hidden % heads or (hidden // heads) % 2:
        raise ValueError(
            f"{CONFIG} of {checkpoint.name} has {heads} heads for a width of {hidden:,}: heads "
            "share the width equally, an even number each."
        )
    for key, wanted in (("num_key_value_heads", heads), ("head_dim", hidden // heads)):
        if checkpoint.whole(key, wanted) != wanted:
            raise ValueError(f"{CONFIG} of {checkpoint.name} has another {key} than {wanted}.")
    layers = checkpoint.whole("num_hidden_layers", 1, 1, _MOST_LAYERS)
    checkpoint.require([f"model.layers.{layers - 1}.mlp.down_proj.weight"])
    return Size(
        hidden,
        layers,
        heads,
        checkpoint.whole("intermediate_size", 4 * hidden, 1, 2**20),
        checkpoint.whole("max_position_embeddings", 2048, 2),
        checkpoint.number("rms_norm_eps", 1e-5),
        checkpoint.number("rope_theta", 10000.0),
    )
