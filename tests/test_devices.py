"""What this machine offers: wishes are met or refused, idle cores are counted."""

from __future__ import annotations

import pytest
import torch

from core.models import devices
from core.models.devices import choose_device, choose_dtype, choose_threads
from core.models.errors import ModelError

CPU = torch.device("cpu")


def test_auto_takes_the_best_device() -> None:
    best = "cuda" if torch.cuda.is_available() else "mps" if devices.has_mps() else "cpu"
    assert choose_device("auto").type == best
    assert choose_device("cpu") == CPU


@pytest.mark.parametrize("wish", ["cuda:99", "tpu", "", "CPU", "cuda:-1"])
def test_a_device_that_is_not_here_is_refused_with_those_that_are(wish: str) -> None:
    with pytest.raises(ModelError, match=r"choose auto or .*cpu\.$"):
        choose_device(wish)


@pytest.mark.parametrize(
    ("features", "dtype"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
        ({"bf16": True}, torch.bfloat16),
        ({"avx512_f": True, "avx512_bf16": False}, torch.float32),
    ],
)
def test_a_cpu_computes_in_what_it_can_multiply(
    monkeypatch: pytest.MonkeyPatch, features: dict[str, bool], dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features)
    assert choose_dtype("auto", CPU) == dtype


def test_a_gpu_without_bfloat16_computes_in_float16(monkeypatch: pytest.MonkeyPatch) -> None:
    def supported(*, including_emulation: bool) -> bool:
        return including_emulation

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert choose_dtype("auto", torch.device("cuda")) == torch.float16


def test_a_wish_for_a_format_is_met_or_refused() -> None:
    assert choose_dtype("float32", CPU) == torch.float32
    with pytest.raises(ModelError, match="choose auto or bfloat16, float16, float32"):
        choose_dtype("int8", CPU)


@pytest.mark.parametrize(("busy", "threads"), [(0.0, 4), (0.2, 4), (0.9, 3), (2.1, 2), (9.0, 1)])
def test_threads_are_the_idle_cores(
    monkeypatch: pytest.MonkeyPatch, busy: float, threads: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(devices, "count_cores", lambda: 4)
    assert choose_threads("auto", lambda: busy) == threads


@pytest.mark.parametrize(("stated", "threads"), [("1", 1), ("2", 2), ("9", 3), ("", 3), ("x", 3)])
def test_a_stated_number_of_threads_is_the_most_that_auto_takes(
    monkeypatch: pytest.MonkeyPatch, stated: str, threads: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", stated)
    monkeypatch.setattr(devices, "count_cores", lambda: 4)
    assert choose_threads("auto", lambda: 0.9) == threads


def test_threads_can_be_chosen_within_the_machine() -> None:
    assert choose_threads(1) == choose_threads("1") == 1
    for wish in (0, -1, 10**6, "many"):
        with pytest.raises(ModelError, match="auto or a number from 1"):
            choose_threads(wish)


def test_the_look_at_the_machine_is_short_and_plausible() -> None:
    assert 0 <= devices.busy_cores() <= 1024
    assert devices.free_memory(CPU) > 0


def test_the_record_names_what_computed() -> None:
    found = devices.environment(CPU, threads=3)
    assert found.torch == torch.__version__
    assert found.processor
    assert found.threads == 3
