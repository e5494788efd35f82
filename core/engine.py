"""Loaded models joined into an `Engine` that can run requests: the place where loading meets
decoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch

from core.heads.frequencies import read_frequencies
from core.heads.shelf import FOLDER, Shelf
from core.models.devices import AUTO, choose_device, choose_threads, environment
from core.models.errors import ModelError
from core.models.hf import HFModel
from core.models.loading import Loaded, LoadOptions, load
from core.models.memory import keep_freed_memory
from core.models.prompts import chat_ids, plain_ids
from core.models.second import load_second, own_second
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
    shelf: Path = FOLDER,
) -> Engine:
    """Load the target, and a second model: the one that is named, or else the project's own for
    this target where it has one. `shelf`: where the project's own weights lie.

    Raises ModelError with one sentence: not found, not allowed, too large, or the two do not share
    a vocabulary.
    """
    count = choose_threads(threads)
    torch.set_num_threads(count)
    keep_freed_memory()
    options = LoadOptions(device=device, dtype=dtype)
    loaded = load(target, options, progress)
    second = (
        load_second(draft, loaded, options, progress)
        if draft
        else own_second(loaded, options, shelf)
    )
    model, card = HFModel(loaded.model, loaded.card), loaded.card
    return Engine(
        text=TokenizerText(loaded),
        target=model,
        environment=environment(choose_device(device), count),
        draft=HFModel(second.model, second.card) if second is not None else None,
        heads=Shelf(model, shelf),
        counts=cache(partial(read_frequencies, card.id, card.vocabulary_size, shelf)),
    )
