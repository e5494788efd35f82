"""Models in GGUF files, unpacked to plain weights. Knows no cache and no device.

transformers reads the weights; of the tokenizer it keeps merges and special tokens but not the rule that cuts a text
into words where the file's `tokenizer.ggml.pre` names one, so that one is put back here.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from tokenizers import pre_tokenizers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.tokenization_utils_tokenizers import TokenizersBackend
