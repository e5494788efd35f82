"""From a model's name to a model that is ready to score: found, checked, loaded, frozen.

No code that comes with a model is ever run, and no pickle is read. Whatever goes wrong becomes a
`ModelError`. Knows no session and no prompt.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import torch
from transformers import PreTrainedModel

from core.models import gguf, hub, pretrained
from core.models.checkpoint import check_gguf, inspect_folder
from core.models.default import default_weights
from core.models.devices import AUTO, choose_device, choose_dtype
from core.models.errors import ModelError
from core.models.folders import sha256
from core.models.library import Config, Generation, TextConfig, Tokenizer
from core.models.placement import place
from core.models.sources import (
    DEFAULT,
    Default,
    Folder,
    Gguf,
    Hub,
    Progress,
    Source,
    Weights,
    parse_source,
    silent,
)
from core.models.vocabulary import Vocabulary, shared_size
from core.trace import ModelCard

Attention = Literal["sdpa", "eager"]
_HASHED = 2**30  # bytes; hashing more than this takes longer than the hash is worth
_ENDLESS = 10**9  # tokenizers without a limit state a number beyond this


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to load. Devices: auto, cpu, cuda, cuda:0, mps. Formats: see `core.models.devices`."""

    device: str = AUTO
    dtype: str = AUTO
    attention: Attention = "sdpa"
    local_files_only: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """A causal language model in evaluation mode, without gradients."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    card: ModelCard  # its vocabulary_size counts real tokens, not padding rows
    vocabulary: Vocabulary
    eos: frozenset[int]  # ids that end a text


def load(
    name: str = DEFAULT, options: LoadOptions | None = None, progress: Progress = silent
) -> Loaded:
    """Return the model called `name`: "default", a hub id (`org/name@revision`), a folder, a GGUF.

    Raises ModelError. What `progress` raises passes through: that is how to cancel a download.
    """
    options = options or LoadOptions()
    device = choose_device(options.device)
    dtype = choose_dtype(options.dtype, device)
    weights = find_weights(parse_source(name), options.local_files_only, progress)
    progress(0, 0, f"Loading {weights.id}")
    with _in_words(weights.id, weights.folder), pretrained.without_bars():
        model, tokenizer = _read(weights, options, device, dtype)
        return _finished(model.requires_grad_(False).eval(), tokenizer, weights)


def find_weights(source: Source, local_files_only: bool, progress: Progress) -> Weights:
    """Return the files of `source`, downloaded or prepared if need be."""
    if isinstance(source, Default):
        return default_weights(progress, local_files_only)
    if isinstance(source, Hub):
        found = hub.find_downloaded(source)
        if found is None and local_files_only:
            raise ModelError(f"{source.repo} is not on this disk, and the network may not be used.")
        return found or hub.download(source, progress)
    with _in_words(source.path.name, source.path.parent):
        return _local_weights(source)


def _local_weights(source: Folder | Gguf) -> Weights:
    path = source.path.resolve()
    if isinstance(source, Gguf):
        check_gguf(path)
        return Weights(path.stem, path.parent, path.name, _hash((path,)))
    return Weights(path.name, path, revision=_hash(inspect_folder(path).files))


def check_same_vocabulary(target: Loaded, draft: Loaded) -> int:
    """Return how many logits of both models are those of real tokens; padding rows may differ.

    Raises ModelError that names the first token that differs.
    """
    return shared_size(target.vocabulary, draft.vocabulary)


def _read(
    weights: Weights, options: LoadOptions, device: torch.device, dtype: torch.dtype
) -> tuple[PreTrainedModel, Tokenizer]:
    name, folder = weights.id, weights.folder
    if weights.gguf is None:
        contents = inspect_folder(folder)
        pretrained.check_known(contents, name)
        need = contents.parameters * dtype.itemsize
        placement = place(name, need, device, can_spread=options.device == AUTO)
        model = pretrained.read_model(folder, name, dtype, options.attention, placement)
        return model, pretrained.read_tokenizer(folder, name)
    file = folder / weights.gguf
    header = gguf.read_header(file)
    # every weight is unpacked to float32 on the CPU before it takes its format
    place(name, header.parameters * torch.float32.itemsize, torch.device("cpu"))
    place(name, header.parameters * dtype.itemsize, device)
    model = gguf.read_model(file, dtype, options.attention)
    cast(torch.nn.Module, model).to(device)
    return model, gguf.read_tokenizer(file, header)


def _finished(model: PreTrainedModel, tokenizer: Tokenizer, weights: Weights) -> Loaded:
    config = cast(Config, model.config).get_text_config()
    vocabulary = Vocabulary(tokenizer, config.vocab_size)
    devices = sorted({str(parameter.device) for parameter in model.parameters()})
    card = ModelCard(
        id=weights.id,
        revision=weights.revision,
        dtype=str(model.dtype).removeprefix("torch."),
        device=", ".join(devices),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=config.num_hidden_layers,
        vocabulary_size=vocabulary.size,
        context=_context(config, tokenizer),
    )
    return Loaded(model, tokenizer, card, vocabulary, _eos(model, tokenizer))


def _context(config: TextConfig, tokenizer: Tokenizer) -> int:
    """Return the most tokens that the model was made for."""
    stated = getattr(config, "max_position_embeddings", None)
    if isinstance(stated, int):
        return stated
    if tokenizer.model_max_length < _ENDLESS:
        return int(tokenizer.model_max_length)
    raise ModelError("This model does not say how many tokens it can hold, so it cannot be used.")


def _eos(model: PreTrainedModel, tokenizer: Tokenizer) -> frozenset[int]:
    """Return what ends a text for the model; chat models state several ids."""
    generation = cast(Generation | None, model.generation_config)
    stated = None if generation is None else generation.eos_token_id
    ids = {stated} if isinstance(stated, int) else set(stated or ())
    own = tokenizer.eos_token_id
    return frozenset(ids if own is None else ids | {own})


def _hash(files: tuple[Path, ...]) -> str | None:
    """Return the hash of a model in one small file."""
    if len(files) != 1 or files[0].stat().st_size > _HASHED:
        return None
    return f"sha256:{sha256(files[0])}"


@contextmanager
def _in_words(name: str, folder: Path) -> Generator[None]:
    """Turn what libraries raise over a model's files into a ModelError that shows no path.

    Files from strangers can make them raise anything, so every Exception counts here.
    """
    try:
        yield
    except ModelError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise ModelError(f"The memory is too small for {name}: choose a smaller model.") from error
    except Exception as error:
        told = str(error).replace(str(folder), name).strip() or type(error).__name__
        raise ModelError(f"{name} cannot be loaded: {told.splitlines()[0][:200]}") from error
