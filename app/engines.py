"""Where a run gets its models: loaded when first wanted, kept for the next, the oldest dropped.

Knows how models are named, not how they are read. Tests bring an `Engines` of their own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import msgspec

from app.orders import ModelsOrder

if TYPE_CHECKING:
    from core.run import Engine

Progress = Callable[[int, int, str], None]  # bytes done, bytes in all (0 while unknown), sentence


class Engines(Protocol):
    """A source of loaded models."""

    def has(self, wanted: ModelsOrder) -> bool:
        """Tell whether `engine` would answer at once."""
        ...

    def engine(self, wanted: ModelsOrder, progress: Progress) -> Engine:
        """Return the models; what `progress` raises passes through.

        Raises ValueError or ModelError with one sentence.
        """
        ...


Key = tuple[str, str, str, str]


class LoadedEngines:
    """The models of this machine; at most `keep` sets of them stay in memory."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._loaded: OrderedDict[Key, Engine] = OrderedDict()
        self._lock = Lock()

    def has(self, wanted: ModelsOrder) -> bool:
        return _key(wanted) in self._loaded

    def engine(self, wanted: ModelsOrder, progress: Progress) -> Engine:
        with self._lock:
            key = _key(wanted)
            found = self._loaded.get(key)
            if found is not None:
                self._loaded.move_to_end(key)
                return _with_threads(found, wanted.threads)
            from core.engine import load_engine  # late: it brings torch and transformers

            while len(self._loaded) >= self._keep:
                self._loaded.popitem(last=False)
            self._loaded[key] = load_engine(
                wanted.target,
                wanted.draft or None,
                dtype=wanted.dtype,
                device=wanted.device,
                threads=wanted.threads,
                progress=progress,
            )
            return self._loaded[key]


def _key(wanted: ModelsOrder) -> Key:
    return (wanted.target.strip() or "default", wanted.draft.strip(), wanted.dtype, wanted.device)


def _with_threads(engine: Engine, threads: str) -> Engine:
    """Return the engine computing with `threads`; `auto`: as many as it was loaded with."""
    import torch

    from core.models.devices import choose_threads

    count = engine.environment.threads if threads == "auto" else choose_threads(threads)
    torch.set_num_threads(count)
    return replace(engine, environment=msgspec.structs.replace(engine.environment, threads=count))
