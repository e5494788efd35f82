"""Whether and where a model fits, decided before its weights are read. Knows only its size."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.models.devices import AUTO, free_memory
from core.models.errors import ModelError

_SPARE = 1.1  # memory for the cache and the numbers in between, as a multiple of the weights
_SHARE = 0.9  # of each GPU, when a model is spread over several


@dataclass(frozen=True, slots=True)
class Placement:
    """In the words of transformers; `max_memory` in bytes per GPU."""

    device_map: str | dict[str, torch.device] | None = None
    max_memory: dict[int, int] | None = None


def place(name: str, need: int, device: torch.device, can_spread: bool = False) -> Placement:
    """Return where `need` bytes of weights go: `device`, or all GPUs where one is too small.

    Nothing is left to the disk or to the CPU beside a GPU: such a model is too slow to look at.
    Raises ModelError with both sizes where it does not fit.
    """
    free = free_memory(device)
    if need * _SPARE <= free:
        return Placement(None if device.type == "cpu" else {"": device})
    if can_spread and device.type == "cuda":
        shares = {
            i: int(free_memory(torch.device("cuda", i)) * _SHARE)
            for i in range(torch.cuda.device_count())
        }
        free = sum(shares.values())
        if need * _SPARE <= free:
            return Placement(AUTO, shares)
    raise ModelError(
        f"{name} needs {need * _SPARE / 1e9:.1f} GB and {free / 1e9:.1f} GB are free on {device}: "
        "choose a smaller model or a shorter number format."
    )
