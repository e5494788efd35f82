"""Models in folders as transformers saves them. Reads safetensors only, runs no code from there."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import torch
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING as CAUSAL_MODELS,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import logging

from core.models.checkpoint import Contents
from core.models.errors import ModelError
from core.models.library import Configs, SafetensorsModels, Tokenizer, Tokenizers
from core.models.placement import Placement
from core.models.sources import shown


def read_model(
    folder: Path, name: str, dtype: torch.dtype, attention: str, placement: Placement
) -> PreTrainedModel:
    """Return the model; raises ModelError if it is no causal language model or lacks weights.

    Whether it needs code of its own is for `check_known` to say first.
    """
    config = cast(Configs, AutoConfig).from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    _check_causal(config, name)
    if attention == "sdpa" and not _knows_sdpa(config):
        attention = "eager"
    model, report = cast(SafetensorsModels, AutoModelForCausalLM).from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        attn_implementation=attention,
        device_map=placement.device_map,
        max_memory=placement.max_memory,
        use_safetensors=True,
        local_files_only=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    # transformers would go on with random numbers in their place
    if report["missing_keys"] or report["mismatched_keys"]:
        raise ModelError(f"{name} is damaged: its files do not hold all of its weights.")
    return model


def read_tokenizer(folder: Path, name: str) -> Tokenizer:
    """Return the tokenizer; raises ModelError where there is none that can be read."""
    try:
        return cast(Tokenizers, AutoTokenizer).from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(
            f"{name} has no tokenizer that can be read without running its own code."
        ) from error


@contextmanager
def without_bars() -> Generator[None]:
    """Keep transformers from drawing progress bars on the terminal: progress is told otherwise."""
    were_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if were_on:
            logging.enable_progress_bar()


def check_known(contents: Contents, name: str) -> None:
    """Raise ModelError if only code that comes with the model could build it."""
    if contents.model_type not in CONFIG_MAPPING:
        why = " without running the code that it brings" if contents.brings_code else ""
        raise ModelError(
            f"{name} is of type {shown(contents.model_type)}, which cannot be built here{why}: "
            "choose a model of a type that transformers knows."
        )


def _knows_sdpa(config: PreTrainedConfig) -> bool:
    """Return whether the model has the fused attention kernel; the oldest families do not."""
    classes = cast(Mapping[type[PreTrainedConfig], type[PreTrainedModel]], CAUSAL_MODELS)
    return bool(getattr(classes[type(config)], "_supports_sdpa", False))


def _check_causal(config: PreTrainedConfig, name: str) -> None:
    expected = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)
    stated = config.architectures or [expected]
    if expected is None or expected not in stated:
        raise ModelError(
            f"{name} is a {stated[0] or config.model_type}, not a causal language model "
            "such as LlamaForCausalLM."
        )
