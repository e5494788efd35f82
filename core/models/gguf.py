"""Models in GGUF files, unpacked to plain weights. Knows no cache and no device.

transformers reads the weights. Of the tokenizer it keeps merges and special tokens, but cuts every
text into words as GPT-2 did, whatever the file's `tokenizer.ggml.pre` says; the rule of the SmolLM
family is put back here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from gguf import GGUFReader
from tokenizers import pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GgufConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from core.models.library import GgufModels, Tokenizer, Tokenizers


@dataclass(frozen=True, slots=True)
class Header:
    """What is read before the weights: their number, and the rule that cuts text into words."""

    parameters: int
    pre_tokenizer: str


def read_header(file: Path) -> Header:
    """Return the header of a GGUF file; a damaged file may raise anything."""
    reader = GGUFReader(file)
    field = reader.get_field("tokenizer.ggml.pre")
    rule = "" if field is None else cast(str, field.contents())
    return Header(sum(int(tensor.n_elements) for tensor in reader.tensors), rule)


def read_model(file: Path, dtype: torch.dtype, attention: str) -> PreTrainedModel:
    """Return the model with all weights unpacked to `dtype`, on the CPU."""
    return cast(GgufModels, AutoModelForCausalLM).from_pretrained(
        file.parent,
        gguf_file=file.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=dtype,
        attn_implementation=attention,
        local_files_only=True,
    )


def read_tokenizer(file: Path, header: Header) -> Tokenizer:
    """Return the tokenizer that the file describes."""
    tokenizer = cast(Tokenizers, AutoTokenizer).from_pretrained(
        file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False
    )
    if header.pre_tokenizer == "smollm" and isinstance(tokenizer, PreTrainedTokenizerFast):
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    return tokenizer
