"""Placement by size: one device, several GPUs, or a refusal; decided without any GPU here."""

from __future__ import annotations

import pytest
import torch

from core.models import placement
from core.models.errors import ModelError
from core.models.placement import Placement, place

GPU = torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs of 1000 free bytes; the CPU has 500."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(placement, "free_memory", lambda d: 500 if d.type == "cpu" else 1000)


def test_what_fits_goes_to_the_device() -> None:
    assert place("m", 400, torch.device("cpu")) == Placement()
    assert place("m", 900, GPU, can_spread=True) == Placement({"": GPU})


def test_what_one_gpu_cannot_hold_is_spread() -> None:
    assert place("m", 1500, GPU, can_spread=True) == Placement("auto", {0: 900, 1: 900})


@pytest.mark.parametrize(
    ("need", "device", "can_spread"),
    [(1500, GPU, False), (1700, GPU, True), (480, torch.device("cpu"), True)],
)
def test_what_fits_nowhere_is_refused(need: int, device: torch.device, can_spread: bool) -> None:
    with pytest.raises(ModelError, match=r"^m needs .* GB and .* GB are free"):
        place("m", need, device, can_spread)
