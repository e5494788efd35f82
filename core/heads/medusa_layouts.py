"""The files of Medusa's heads, in the layouts in which they are published.

* Heads only (FasterDecoding): `0.0.linear.weight` is block 0 of head 0, `0.1.weight` what reads
  tokens off it, absent where the target's own head does (the layout before 1.0, and ours).
* A whole model (Medusa-2): the same behind `medusa_head.`, beside the tensors of the model.
* vLLM: `blocks.0.layers.0.weight` and `lm_heads.0.weight`, `token_map` where the vocabulary is cut,
  one `lm_heads.0` for all with `original_lm_head`.

Heads and blocks are counted from the names: published settings are known to state others. With
several blocks per head published files hold the same block several times, since its code shares it;
every copy is read as it is. A `token_map` beside the first layout is ours: the tokens, ascending,
that the rows kept of the target's head stand for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from torch import Tensor

from core.heads.accuracy import read_accuracy
from core.heads.checkpoint import CONFIG, WEIGHTS, Checkpoint, read_checkpoint
from core.heads.files import write_tensors
from core.heads.medusa import KIND, MedusaBlocks, MedusaHead, medusa
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.hf import HFModel
from core.parts import head

TOKEN_MAP = "token_map"
MOST_HEADS, MOST_BLOCKS = 16, 16
_OWN = re.compile(
    r"(?:medusa_heads?\.)?(?:\d+\.\d+\.(?:linear\.(?:weight|bias)|weight)|"
    r"blocks\.\d+\.layers\.\d+\.(?:weight|bias)|lm_heads\.\d+\.weight|token_map)"
)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Names of a layout: a block's weight and bias, and what reads tokens off a head."""

    weight: str
    bias: str
    rows: str

    def counted(self, names: Sequence[str]) -> tuple[int, int]:
        """Return how many heads and blocks there are, (0, 0) where the layout is another one."""
        pattern = re.escape(self.weight).replace(r"\{head\}", r"(\d+)")
        found = [
            match
            for name in names
            if (match := re.fullmatch(pattern.replace(r"\{block\}", r"(\d+)"), name))
        ]
        if not found:
            return 0, 0
        return 1 + max(int(m[1]) for m in found), 1 + max(int(m[2]) for m in found)


def _layouts() -> list[_Layout]:
    plain = "{head}.{block}.linear.weight", "{head}.{block}.linear.bias", "{head}.{block}.weight"
    served = "blocks.{head}.layers.{block}.weight", "blocks.{head}.layers.{block}.bias"
    return [
        *(_Layout(*(before + name for name in plain)) for before in ("", "medusa_head.")),
        *(
            _Layout(*(before + name for name in (*served, "lm_heads.{head}.weight")))
            for before in ("", "medusa_heads.")
        ),
    ]


def read_medusa(folder: Path, target: TargetWeights) -> MedusaHead:
    """Read a checkpoint; raise ValueError with one sentence where it is none or does not fit."""
    checkpoint = read_checkpoint(folder, target.name, lambda name: _OWN.fullmatch(name) is not None)
    layout, heads, blocks = _recognised(checkpoint)
    width = target.shape.hidden
    bias = layout.bias.format(head=0, block=0) in checkpoint
    names = {
        f"heads.{head}.{block}.linear.{part}": name.format(head=head, block=block)
        for head in range(heads)
        for block in range(blocks)
        for part, name in (("weight", layout.weight), ("bias", layout.bias))
        if bias or part == "weight"
    }
    checkpoint.require(names.values())
    checkpoint.take(layout.weight.format(head=0, block=0), width, width)  # before any is made
    module = MedusaBlocks(width, heads, blocks, bias)
    checkpoint.fill(module, names)
    own = [layout.rows.format(head=head, block=blocks) for head in range(heads)]
    rows, vocabulary = _rows(checkpoint, own, target)
    checkpoint.finish()
    scale = checkpoint.number("logit_scale", 1.0)
    return medusa(module, rows, vocabulary, scale, read_accuracy(folder, heads))


def write_medusa(
    folder: Path, module: MedusaBlocks, vocabulary: DraftVocabulary, target: str
) -> None:
    """Write heads that share the target's head, in bfloat16 and the first layout."""
    heads = len(module)
    tensors = {
        name.removeprefix("heads."): tensor.bfloat16() for name, tensor in _state(module).items()
    }
    blocks = 1 + max(int(name.split(".")[1]) for name in tensors)
    if not vocabulary.is_whole:
        tensors[TOKEN_MAP] = vocabulary.ids
    config: dict[str, str | int] = {
        "medusa_num_heads": heads,
        "medusa_num_layers": blocks,
        "base_model_name_or_path": target,
        "version": "2",
    }
    write_tensors(tensors, folder / WEIGHTS)
    (folder / CONFIG).write_bytes(msgspec.json.format(msgspec.json.encode(config)) + b"\n")


def _state(module: MedusaBlocks) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in module.named_parameters()}


def _recognised(checkpoint: Checkpoint) -> tuple[_Layout, int, int]:
    """Return the layout with the number of heads and blocks."""
    for layout in _layouts():
        heads, blocks = layout.counted(checkpoint.names)
        if heads > MOST_HEADS or blocks > MOST_BLOCKS:
            raise ValueError(
                f"{checkpoint.name} names {heads} heads of {blocks} blocks; {MOST_HEADS} of "
                f"{MOST_BLOCKS} are allowed."
            )
        if heads:
            return layout, heads, blocks
    raise ValueError(f"{checkpoint.name} holds no Medusa heads: no 0.0.linear.weight is there.")


def _rows(
    checkpoint: Checkpoint, own: Sequence[str], target: TargetWeights
) -> tuple[list[Tensor], DraftVocabulary]:
    """Return what reads tokens off the heads: theirs, one for all, or the target's."""
    ids = _token_map(checkpoint, target)
    size = target.vocabulary_size
    if ids is None:
        order, vocabulary = None, DraftVocabulary.whole(size)
    else:
        order = ids.argsort()
        vocabulary = DraftVocabulary.of(ids[order], size)
    if not any(name in checkpoint for name in own):
        return [vocabulary.rows(target.head)], vocabulary
    found: list[Tensor] = []
    for name in own[:1] if checkpoint.flag("original_lm_head", False) else own:
        whole = order is None or checkpoint.shape(name)[0] > len(order)
        rows = checkpoint.take(name, size if whole else len(vocabulary), target.shape.hidden)
        rows = rows.to(target.head)
        if order is None:
            found.append(rows)
        else:  # a file can hold all rows although it names only some tokens
            found.append(vocabulary.rows(rows) if whole else rows[order.to(rows.device)])
    return found, vocabulary


def _token_map(checkpoint: Checkpoint, target: TargetWeights) -> Tensor | None:
    """Return the tokens that can be named, in the order of the file; None: all."""
    name = next((name for name in checkpoint.names if name.endswith(TOKEN_MAP)), None)
    if name is not None:
        return checkpoint.take_ids(name, None).long()
    size = target.vocabulary_size
    cut = checkpoint.whole("truncated_vocab_size", size, 1)
    if cut < size:
        raise ValueError(
            f"{checkpoint.name} is incomplete: it names {cut:,} of {size:,} tokens, and has no "
            f"{TOKEN_MAP} to tell which."
        )
    return None


def _make(folder: Path, target: HFModel) -> MedusaHead:
    return read_medusa(folder, TargetWeights.of(target))


PARTS = (
    head(
        KIND,
        "Medusa heads",
        "Guesses several places ahead at once, each from the target's last state alone.",
        "Cai et al. 2024 (Medusa)",
        _make,
    ),
)
