"""What commands need from outside: models and clocks. Tests bring their own."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from core.models.sources import Progress
    from core.run import Engine


class LoadEngine(Protocol):
    """Loads the target, and a second model where one is named; raises ModelError."""

    def __call__(
        self,
        target: str,
        draft: str | None,
        *,
        dtype: str,
        device: str,
        threads: str,
        progress: Progress,
    ) -> Engine: ...


def load_engine(
    target: str, draft: str | None, *, dtype: str, device: str, threads: str, progress: Progress
) -> Engine:
    """Load real models. Transformers is imported here, so that a wrong option is told before."""
    load = cast(LoadEngine, importlib.import_module("core.engine").load_engine)
    return load(target, draft, dtype=dtype, device=device, threads=threads, progress=progress)


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`clock` gives seconds, `now` the time of day in UTC as ISO 8601."""

    load_engine: LoadEngine = load_engine
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], str] = utc_now
