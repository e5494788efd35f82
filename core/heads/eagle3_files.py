"""Published checkpoints of EAGLE-3 heads: the first layout, its kin, and the `speculators` format.

What goes wrong silently elsewhere is refused or told apart here. Without `d2t` every draft names a
wrong token. And lists of the layers to read count in two ways: `k` is the input of layer k, or its
output, which is the input of k + 1. `speculators` lists inputs; under `eagle_config` both occur.
The published heads begin with the input of layer 2, so that a list there that begins with 1 is one
of outputs; and so is, anywhere, the published list less 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from core.heads.checkpoint import CONFIG, Checkpoint, read_checkpoint, read_config
from core.heads.eagle import check_sizes
from core.heads.eagle3 import KIND, Eagle3Head, NormBefore, Variant, default_taps, eagle3
from core.heads.files import Wanted
from core.heads.llama_config import layer_shape
from core.heads.pairs import Pairs
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.hf import HFModel
from core.parts import head

LISTED = "eagle_aux_hidden_state_layer_ids"
EMBEDDING = "embed_tokens.weight"
_TRAINED = "embed_requires_grad"
_MIDDLE = "midlayer."
_PREFIXES = (_MIDDLE, "layers.0.")
_MOST_TAPS = 16


def read_eagle3(folder: Path, target: TargetWeights) -> Pairs:
    """Read a checkpoint; raise ValueError with one sentence where it is none or does not fit."""
    checkpoint = read_checkpoint(folder, target.name, _wanted(read_config(folder)))
    settings = _layer_settings(checkpoint)
    shape = layer_shape(settings, target)
    prefix = next((p for p in _PREFIXES if f"{p}hidden_norm.weight" in checkpoint), _MIDDLE)
    check_sizes(checkpoint, prefix, shape, 2 * shape.hidden)
    taps = _taps(checkpoint, target.layers)
    module = Eagle3Head(shape, _variant(checkpoint, prefix, len(taps)))
    names = {name: name.replace(_MIDDLE, prefix, 1) for name in module.state_dict()}
    checkpoint.fill(module, names)
    rows, vocabulary = _output_head(checkpoint, settings, target)
    embedding = _embedding(checkpoint, target)
    checkpoint.finish()
    return eagle3(module, rows, taps, target, vocabulary, embedding)


def _wanted(config: Mapping[str, object]) -> Wanted:
    """Return which tensors are read: copies of the target's own are not."""
    trained = config.get(_TRAINED) is True

    def is_wanted(name: str) -> bool:
        if name == EMBEDDING:
            return trained
        return not name.startswith("verifier_") and not name.endswith("rotary_emb.inv_freq")

    return is_wanted


def _layer_settings(checkpoint: Checkpoint) -> Checkpoint:
    """Return the settings of the head's layer: a part of the `speculators` format, or all."""
    kind = checkpoint.text("speculators_model_type", KIND)
    if kind != KIND:
        raise ValueError(f"{checkpoint.name} is a checkpoint of {kind}, not of EAGLE-3.")
    inner = checkpoint.part("transformer_layer_config")
    if not isinstance(inner, dict):
        return checkpoint
    return Checkpoint(checkpoint.name, checkpoint.target, cast("dict[str, object]", inner), {})


def _variant(checkpoint: Checkpoint, prefix: str, taps: int) -> Variant:
    before: NormBefore = "none"
    if checkpoint.flag("norm_before_fc", False):
        before = "all"
    if checkpoint.flag("fc_norm", False):
        if before == "all":
            raise ValueError(
                f"{CONFIG} of {checkpoint.name} sets norm_before_fc and fc_norm; one is allowed."
            )
        before = "each"
    return Variant(
        taps,
        before,
        checkpoint.flag("norm_before_residual", False),
        checkpoint.flag("norm_output", False),
        "fc.bias" in checkpoint,
        f"{prefix}self_attn.q_proj.bias" in checkpoint,
        f"{prefix}self_attn.q_norm.weight" in checkpoint,
    )


def _taps(checkpoint: Checkpoint, layers: int) -> tuple[int, ...]:
    """Return the layers whose inputs are read, of `layers` of the target."""
    usual = default_taps(layers)
    nested = checkpoint.part("eagle_config")
    inside = cast("dict[str, object]", nested).get(LISTED) if isinstance(nested, dict) else None
    listed = checkpoint.part(LISTED) if inside is None else inside
    found = usual if listed is None else _listed(checkpoint, listed)
    counts_outputs = found == tuple(layer - 1 for layer in usual)
    if counts_outputs or (inside is not None and found[0] == 1):
        found = tuple(layer + 1 for layer in found)
    if min(found) < 0 or max(found) > layers:
        told = ", ".join(map(str, found))
        raise ValueError(
            f"{checkpoint.name} does not fit {checkpoint.target}: it reads the layers {told}, and "
            f"the target has {layers}."
        )
    return found


def _listed(checkpoint: Checkpoint, listed: object) -> tuple[int, ...]:
    layers = cast("list[object]", listed) if isinstance(listed, list) else []
    whole = tuple(each for each in layers if isinstance(each, int) and not isinstance(each, bool))
    if not 1 <= len(layers) <= _MOST_TAPS or len(whole) < len(layers):
        told = repr(cast(object, listed))[:40]
        raise ValueError(
            f"{CONFIG} of {checkpoint.name} has {LISTED} {told}; it should be a list of 1 to "
            f"{_MOST_TAPS} whole numbers."
        )
    return whole


def _output_head(
    checkpoint: Checkpoint, settings: Checkpoint, target: TargetWeights
) -> tuple[Tensor, DraftVocabulary]:
    """Return the rows (k, D) of the output head and the tokens that they stand for."""
    size = target.vocabulary_size
    rows = checkpoint.take("lm_head.weight", None, target.shape.hidden)
    count = checkpoint.whole("draft_vocab_size", len(rows), 1)
    if count != len(rows):
        raise ValueError(
            f"{checkpoint.name} is damaged: its head has {len(rows):,} rows, and config.json says "
            f"{count:,}."
        )
    if "d2t" in checkpoint:
        ids = torch.arange(count) + checkpoint.take_ids("d2t", count).long()
        order = ids.argsort()
        vocabulary = DraftVocabulary.of(ids[order], size)
        _check_marks(checkpoint, vocabulary)
        return rows[order], vocabulary
    if count < size or count != settings.whole("vocab_size", count, 1):
        raise ValueError(
            f"{checkpoint.name} is incomplete: it has no d2t, which tells for its {count:,} draft "
            f"tokens which of the target's {size:,} they are."
        )
    if "t2d" in checkpoint:
        checkpoint.take_ids("t2d", None)
    return rows[:size], DraftVocabulary.whole(size)


def _check_marks(checkpoint: Checkpoint, vocabulary: DraftVocabulary) -> None:
    """Raise ValueError where t2d marks other tokens than those that d2t leads to."""
    if "t2d" not in checkpoint:
        return
    marks = checkpoint.take_ids("t2d", None).bool()
    named = torch.zeros_like(marks)
    inside = vocabulary.ids[vocabulary.ids < len(marks)]
    named[inside] = True
    if len(inside) < len(vocabulary) or not torch.equal(marks, named):
        raise ValueError(f"{checkpoint.name} is damaged: d2t and t2d name different tokens.")


def _embedding(checkpoint: Checkpoint, target: TargetWeights) -> Tensor | None:
    """Return the head's own embedding where it was trained; else it is the target's."""
    if not checkpoint.flag(_TRAINED, False):
        return None
    table = checkpoint.take(EMBEDDING, None, target.shape.hidden)
    if len(table) < target.vocabulary_size:
        raise ValueError(
            f"{checkpoint.name} does not fit {checkpoint.target}: it embeds {len(table):,} tokens, "
            f"and the target has {target.vocabulary_size:,}."
        )
    return table


def _make(folder: Path, target: HFModel) -> Pairs:
    return read_eagle3(folder, TargetWeights.of(target))


PARTS = (
    head(
        KIND,
        "EAGLE-3 head",
        "Drafts tokens from low, middle and high states of the target, and from its own outputs.",
        "Li et al. 2025 (EAGLE-3)",
        _make,
    ),
)
