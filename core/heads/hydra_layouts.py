"""The files of Hydra's heads as they are published (zankner/Hydra), and ours in the same layout.

`hydra_mlp.0.0.linear.weight` is the first block of head 0, with `res_connection` beside it;
`hydra_lm_head.0.weight` and `.bias` read tokens off it. In Hydra++ (`prefix-mlp`) dropouts take
places among the blocks, so that these count 1, 3, 5 and the reader is `hydra_lm_head.0.1`; its
decoder layer stands behind `prefix_embeding_layer.`, spelled so. Copies of the target's embedding
are left alone. `hidden_state_offset` says how many layers before the last one the heads read.

Ours have no readers of their own: the target's head, cut to the tokens of `token_map`, reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from core.heads.accuracy import read_accuracy
from core.heads.checkpoint import CONFIG, WEIGHTS, Checkpoint, read_checkpoint
from core.heads.files import write_tensors
from core.heads.hydra import KIND, HydraBlocks, HydraHead, PrefixLayer, Reader, hydra
from core.heads.medusa_layouts import MOST_BLOCKS, MOST_HEADS, TOKEN_MAP
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.base import FINAL
from core.models.hf import HFModel
from core.parts import head

PREFIX = "prefix_embeding_layer."
_BLOCK = re.compile(r"hydra_mlp\.(\d+)\.(\d+)\.linear\.weight")
_COPIES = re.compile(r"(?:input_embed_fn\.weight|.*embed_tokens\.weight|.*rotary_emb\.inv_freq)")
_ARCHITECTURES = ("mlp", "prefix-mlp")


def read_hydra(folder: Path, target: TargetWeights) -> HydraHead:
    """Read a checkpoint; raise ValueError with one sentence where it is none or does not fit."""
    checkpoint = read_checkpoint(folder, target.name, lambda name: not _COPIES.fullmatch(name))
    kind = checkpoint.text("hydra_head_arch", "mlp")
    if kind not in _ARCHITECTURES:
        raise ValueError(
            f"{checkpoint.name} has heads of the kind {kind}; those that are read are "
            f"{' and '.join(_ARCHITECTURES)}."
        )
    blocks = _blocks(checkpoint)
    names = _names(checkpoint, blocks)
    checkpoint.require(names.values())
    width = target.shape.hidden
    checkpoint.take(names["heads.0.0.linear.weight"], width, 2 * width)  # before any is made
    module = HydraBlocks(width, len(blocks), len(blocks[0]))
    checkpoint.fill(module, names)
    prefix = _prefix(checkpoint, target) if kind == "prefix-mlp" else None
    vocabulary, readers = _readers(checkpoint, target, len(blocks))
    checkpoint.finish()
    accuracy = read_accuracy(folder, len(blocks))
    tap = _tap(checkpoint, target)
    return hydra(module, readers, vocabulary, target.embedding, prefix, accuracy, tap)


def write_hydra(
    folder: Path, module: HydraBlocks, vocabulary: DraftVocabulary, target: str
) -> None:
    """Write heads that share the target's head, in bfloat16 and the published layout."""
    tensors = {
        name.replace("heads.", "hydra_mlp.", 1): tensor.detach().bfloat16()
        for name, tensor in module.named_parameters()
    }
    if not vocabulary.is_whole:
        tensors[TOKEN_MAP] = vocabulary.ids
    config: dict[str, str | int | bool] = {
        "hydra_num_heads": len(module),
        "hydra_num_layers": module.blocks,
        "hydra_head_arch": "mlp",
        "grounded_heads": True,
        "hidden_state_offset": 0,
        "base_model_name_or_path": target,
    }
    write_tensors(tensors, folder / WEIGHTS)
    (folder / CONFIG).write_bytes(msgspec.json.format(msgspec.json.encode(config)) + b"\n")


def _blocks(checkpoint: Checkpoint) -> list[list[int]]:
    """Return the places of every head's blocks, in order."""
    found: dict[int, list[int]] = {}
    for name in checkpoint.names:
        if match := _BLOCK.fullmatch(name):
            found.setdefault(int(match[1]), []).append(int(match[2]))
    if not found:
        raise ValueError(
            f"{checkpoint.name} holds no Hydra heads: no hydra_mlp.0.0.linear.weight is there."
        )
    blocks = [sorted(found.get(head, [])) for head in range(min(MOST_HEADS, 1 + max(found)))]
    counts = {len(places) for places in blocks}
    if max(found) >= MOST_HEADS or len(counts) > 1 or max(counts) > MOST_BLOCKS:
        raise ValueError(
            f"{checkpoint.name} has heads of {', '.join(map(str, sorted(counts)))} blocks; up to "
            f"{MOST_HEADS} heads of one number of blocks, {MOST_BLOCKS} at most, are read."
        )
    return blocks


def _names(checkpoint: Checkpoint, blocks: Sequence[Sequence[int]]) -> Mapping[str, str]:
    """Return the names of the file by those of the module."""
    found: dict[str, str] = {}
    for number, places in enumerate(blocks):
        for block, place in enumerate(places):
            parts = ("linear", "res_connection") if block == 0 else ("linear",)
            for part in (f"{part}.{kind}" for part in parts for kind in ("weight", "bias")):
                found[f"heads.{number}.{block}.{part}"] = f"hydra_mlp.{number}.{place}.{part}"
    return found


def _prefix(checkpoint: Checkpoint, target: TargetWeights) -> PrefixLayer:
    layer, shape = f"{PREFIX}layers.0.", target.shape
    checkpoint.take(f"{layer}self_attn.q_proj.weight", shape.heads * shape.head_dim, shape.hidden)
    module = PrefixLayer(shape, f"{layer}self_attn.q_proj.bias" in checkpoint)

    def name(own: str) -> str:
        if own.startswith("layer."):
            return layer + own.removeprefix("layer.")
        return layer + own if own.startswith("input_") else PREFIX + own

    checkpoint.fill(module, {own: name(own) for own in module.state_dict()})
    return module


def _readers(
    checkpoint: Checkpoint, target: TargetWeights, heads: int
) -> tuple[DraftVocabulary, list[Reader]]:
    """Return what reads tokens off the heads, and the tokens that they can name."""
    size, width = target.vocabulary_size, target.shape.hidden
    if not any(name.startswith("hydra_lm_head.") for name in checkpoint.names):
        vocabulary = DraftVocabulary.whole(size)
        if TOKEN_MAP in checkpoint:
            vocabulary = DraftVocabulary.of(checkpoint.take_ids(TOKEN_MAP, None), size)
        return vocabulary, [Reader(vocabulary.rows(target.head))]
    shift = "1." if "hydra_lm_head.0.1.weight" in checkpoint else ""
    names = [f"hydra_lm_head.{head}.{shift}" for head in range(heads)]
    checkpoint.require(name + part for name in names for part in ("weight", "bias"))
    readers = [
        Reader(
            checkpoint.take(f"{name}weight", size, width).to(target.head),
            checkpoint.take(f"{name}bias", size).to(target.head),
        )
        for name in names
    ]
    return DraftVocabulary.whole(size), readers


def _tap(checkpoint: Checkpoint, target: TargetWeights) -> int:
    """Return which of the target's states the heads read."""
    offset = checkpoint.whole("hidden_state_offset", 0, 0, target.layers)
    return target.layers - offset if offset else FINAL


def _make(folder: Path, target: HFModel) -> HydraHead:
    return read_hydra(folder, TargetWeights.of(target))


PARTS = (
    head(
        KIND,
        "Hydra heads",
        "Guesses several places ahead, each from the target's last state and the path before it.",
        "Ankner et al. 2024 (Hydra)",
        _make,
    ),
)
