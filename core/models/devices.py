"""How a model can run on this machine: device, number format, threads, memory. Knows no model."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

from core.models.errors import ModelError
from core.trace import Environment

AUTO = "auto"
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
_LOOK = 0.2  # seconds to watch the cores
_CGROUP = Path("/sys/fs/cgroup")


def choose_device(wish: str = AUTO) -> torch.device:
    """Return the device named `wish` (cpu, cuda, cuda:1, mps), or with "auto" the best one.

    CUDA comes before MPS, MPS before the CPU. Raises ModelError for a device that is not here.
    """
    available = ["cpu"]
    if has_mps():
        available.insert(0, "mps")
    if torch.cuda.is_available():
        available[:0] = ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if wish == AUTO:
        return torch.device(available[0])
    if wish not in available:
        raise ModelError(
            f"There is no device {wish!r} here: choose auto or {', '.join(available)}."
        )
    return torch.device(wish)


def choose_dtype(wish: str, device: torch.device) -> torch.dtype:
    """Return the number format named `wish`; "auto" is bfloat16 where the hardware computes in it.

    Elsewhere it is float32 on a CPU and float16 on a GPU. Raises ModelError for an unknown name.
    """
    if wish == AUTO:
        if has_bfloat16(device):
            return torch.bfloat16
        return torch.float32 if device.type == "cpu" else torch.float16
    if wish not in DTYPES:
        raise ModelError(f"{wish!r} is no number format: choose auto or {', '.join(DTYPES)}.")
    return DTYPES[wish]


def has_mps() -> bool:
    """Tell whether this is a Mac whose GPU torch can use."""
    return torch.backends.mps.is_available()


def has_bfloat16(device: torch.device) -> bool:
    """Tell whether `device` multiplies bfloat16 in hardware; emulation is slower than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "mps":
        return torch.backends.mps.is_macos_or_newer(14, 0)
    features = torch.cpu.get_capabilities()
    return any(features.get(name) is True for name in ("avx512_bf16", "amx_bf16", "bf16"))


def busy_cores() -> float:
    """Watch the machine for a moment; return how many cores' worth of work it does."""
    return psutil.cpu_percent(interval=_LOOK) / 100 * (psutil.cpu_count() or 1)


def choose_threads(wish: str | int = AUTO, busy: Callable[[], float] = busy_cores) -> int:
    """Return the number of threads to compute with: `wish`, or as many as cores are idle now, and
    at most OMP_NUM_THREADS where that is set.

    At least one. One too many costs more than one too few: a thread without a core of its own holds
    up all others at every barrier. Raises ModelError for a number that is not 1 to all cores.
    """
    if wish == AUTO:
        idle = max(1, count_cores() - math.ceil(busy() - 0.25))
        stated = os.environ.get("OMP_NUM_THREADS", "")
        return min(idle, int(stated)) if stated.isdecimal() and int(stated) else idle
    most = os.cpu_count() or 1
    if not str(wish).isdecimal() or not 1 <= int(wish) <= most:
        raise ModelError(f"Threads are auto or a number from 1 to {most}, not {wish!r}.")
    return int(wish)


def free_memory(device: torch.device) -> int:
    """Return the bytes that a model may still take on `device`."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    free = psutil.virtual_memory().available
    limit, used = _limit("memory.max"), _limit("memory.current")
    return free if limit is None or used is None else max(0, min(free, limit - used))


def environment(device: torch.device, threads: int) -> Environment:
    """Return what a trace records of the machine."""
    import transformers  # late: it takes a second, and this module is wanted before

    is_cuda = device.type == "cuda"
    return Environment(
        torch=str(torch.__version__),
        transformers=transformers.__version__,
        python=platform.python_version(),
        processor=torch.cuda.get_device_name(device) if is_cuda else _processor(),
        threads=threads,
    )


def _processor() -> str:
    name = torch.cpu.get_capabilities().get("cpu_name")
    return str(name or platform.processor() or platform.machine())


def count_cores() -> int:
    """Return the physical cores that this process may use, by its affinity and its container."""
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    quota = _read("cpu.max").split()
    if len(quota) == 2 and quota[0].isdecimal():
        cores = min(cores, int(quota[0]) // int(quota[1]))
    return max(1, cores)


def _limit(name: str) -> int | None:
    text = _read(name).strip()
    return int(text) if text.isdecimal() else None  # "max" where there is none


def _read(name: str) -> str:
    """Return a file of the control group that this process runs in, empty where there is none."""
    file = _CGROUP / name
    return file.read_text() if file.is_file() else ""
