"""Weights in files: safetensors only, bounded before reading, written whole or not at all."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, cast

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor


class _File(Protocol):
    def keys(self) -> Sequence[str]: ...

    def get_tensor(self, name: str) -> Tensor: ...


def read_tensors(file: Path, most_bytes: int) -> dict[str, Tensor]:
    """Return all tensors of a file by name; raise ValueError with one sentence for a file that is
    too large or no safetensors file.
    """
    if file.stat().st_size > most_bytes:
        raise ValueError(
            f"{file.name} has {file.stat().st_size:,} bytes; {most_bytes:,} are allowed here."
        )
    with _opened(file) as tensors:
        names = list(tensors.keys())
        return {name: tensors.get_tensor(name) for name in names}


def write_tensors(tensors: Mapping[str, Tensor], file: Path) -> None:
    """Write a file, whole or not at all; its folder is made where it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    new.replace(file)


@contextmanager
def _opened(file: Path) -> Generator[_File]:
    try:
        with cast(AbstractContextManager[_File], safe_open(str(file), "pt")) as tensors:
            yield tensors
    except SafetensorError as error:
        raise ValueError(f"{file.name} is damaged: it is no safetensors file.") from error
