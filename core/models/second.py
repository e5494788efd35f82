"""The second model beside a target: one that is named, or the project's own for that target.

The project's own is FastDraft (`core.train.fastdraft`), in `assets/weights/`: it speaks its
target's tokens. Any other must share the target's vocabulary, and brings a tokenizer to show it.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import PreTrainedModel

from core.heads.checkpoint import WEIGHTS, read_config
from core.heads.shelf import FOLDER, shipped, slug
from core.models.default import HUB
from core.models.devices import choose_device, choose_dtype
from core.models.errors import ModelError
from core.models.folders import sha256
from core.models.loading import Loaded, LoadOptions, check_same_vocabulary, load
from core.models.sources import Default, Folder, Gguf, Hub, Progress, parse_source, silent
from core.models.trimmed import is_trimmed, read_trimmed
from core.trace import ModelCard

KIND = "fastdraft"


def load_second(
    name: str, target: Loaded, options: LoadOptions, progress: Progress = silent
) -> Loaded:
    """Return the model called `name`, to draft for `target`. Raises ModelError with one sentence:
    not found, damaged, or of another vocabulary.
    """
    source = parse_source(name)
    if isinstance(source, Folder) and is_trimmed(source.path):
        return _trimmed(source.path.resolve(), target, options)
    second = load(name, options, progress)
    check_same_vocabulary(target, second)
    return second


def own_second(target: Loaded, options: LoadOptions, folder: Path = FOLDER) -> Loaded | None:
    """Return the project's own second model for `target`, None where there is none.

    Raises ModelError where it is damaged.
    """
    place = shipped(KIND, target.card, folder)
    if not is_trimmed(place) or read_config(place).get("vocab_size") != target.vocabulary.size:
        return None  # another model of the same name
    return _trimmed(place, target, options)


def comes_along(target: str, folder: Path = FOLDER) -> bool:
    """Tell whether the project has a second model for a target, by the name that a person typed.

    Raises ModelError for what is no model's name.
    """
    source = parse_source(target)
    if isinstance(source, Default):
        source = HUB
    name = source.repo if isinstance(source, Hub) else _stem(source)
    return is_trimmed(folder / f"{KIND}-{slug(name)}")


def _stem(source: Folder | Gguf) -> str:
    path = source.path.resolve()
    return path.stem if isinstance(source, Gguf) else path.name


def _trimmed(folder: Path, target: Loaded, options: LoadOptions) -> Loaded:
    device = choose_device(options.device)
    dtype = choose_dtype(options.dtype, device)
    try:
        model = read_trimmed(folder, target.card.id, target.vocabulary.size, dtype, device)
    except ValueError as error:
        raise ModelError(str(error)) from error
    card = _card(folder, model, dtype, device)
    return Loaded(model, target.tokenizer, card, target.vocabulary, target.eos)


def _card(
    folder: Path, model: PreTrainedModel, dtype: torch.dtype, device: torch.device
) -> ModelCard:
    config = model.config
    return ModelCard(
        id=folder.name,
        revision=f"sha256:{sha256(folder / WEIGHTS)}",
        dtype=str(dtype).removeprefix("torch."),
        device=str(device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=config.num_hidden_layers,
        vocabulary_size=config.vocab_size,
        context=config.max_position_embeddings,
    )
