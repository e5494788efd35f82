"""Loaded models joined into an `Engine` that can run requests: the place where loading meets
decoding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.models.devices import AUTO, choose_device, choose_threads, environment
from core.models.errors import ModelError
from core.models.hf import HFModel
from core.models.loading import Loaded, LoadOptions, check_same_vocabulary, load
from core.models.memory import keep_freed_memory
from core.models.prompts import chat_ids, plain_ids
from core.models.sources import DEFAULT, Progress, silent
from core.run import Engine
from core.trace import Message


@dataclass(frozen=True, slots=True)
class TokenizerText:
    """The text side of a loaded model (`core.run.Text`)."""

    loaded: Loaded

    @property
    def special(self) -> frozenset[int]:
        return self.loaded.vocabulary.special

    @property
    def ends(self) -> frozenset[int]:
        return self.loaded.eos

    def spell(self, token: int) -> bytes:
        return self.loaded.vocabulary.bytes(token)

    def encode(self, prompt: str, chat: bool) -> list[int]:
        tokenizer = self.loaded.tokenizer
        try:
            if chat:
                return chat_ids(tokenizer, [Message(role="user", content=prompt)])
            return plain_ids(tokenizer, prompt)
        except ModelError as error:
            raise ValueError(str(error)) from error


def load_engine(
    target: str = DEFAULT,
    draft: str | None = None,
    *,
    dtype: str = AUTO,
    device: str = AUTO,
    threads: str | int = AUTO,
    progress: Progress = silent,
) -> Engine:
    """Load the target, and a second model where one is named.

    Raises ModelError with one sentence: not found, not allowed, too large, or the two do not share
    a vocabulary.
    """
    count = choose_threads(threads)
    torch.set_num_threads(count)
    keep_freed_memory()
    options = LoadOptions(device=device, dtype=dtype)
    loaded = load(target, options, progress)
    second = load(draft, options, progress) if draft else None
    if second is not None:
        check_same_vocabulary(loaded, second)
    return Engine(
        text=TokenizerText(loaded),
        target=HFModel(loaded.model, loaded.card),
        environment=environment(choose_device(device), count),
        draft=HFModel(second.model, second.card) if second is not None else None,
    )
