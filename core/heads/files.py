"""Weights in files: safetensors, and PyTorch's zip files where they hold nothing but tensors.

Bounded before reading; no pickle is run beyond PyTorch's list of plain types. What is written is
safetensors, whole or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, cast
from zipfile import ZipFile

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

Wanted = Callable[[str], bool]  # name of a tensor -> whether it is to be read

_WIDEST = 8  # bytes of a number, where a type is not known here
_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I8": 1, "U8": 1, "BOOL": 1}


class _Slice(Protocol):
    def get_shape(self) -> Sequence[int]: ...

    def get_dtype(self) -> str: ...


class _File(Protocol):
    def keys(self) -> Sequence[str]: ...

    def get_slice(self, name: str) -> _Slice: ...

    def get_tensor(self, name: str) -> Tensor: ...


def any_tensor(name: str) -> bool:
    """Want every tensor."""
    return True


def read_tensors(file: Path, most_bytes: int, wanted: Wanted = any_tensor) -> dict[str, Tensor]:
    """Return the wanted tensors of a safetensors file by name; raise ValueError with one sentence
    where they are too large, or the file is no such file.
    """
    with _opened(file) as tensors:
        names = [name for name in tensors.keys() if wanted(name)]  # noqa: SIM118 (no mapping)
        _bound(file, sum(_size(tensors.get_slice(name)) for name in names), most_bytes)
        return {name: tensors.get_tensor(name) for name in names}


def read_zipped(file: Path, most_bytes: int, wanted: Wanted = any_tensor) -> dict[str, Tensor]:
    """Return the wanted tensors of a file that `torch.save` wrote, by name; errors as above."""
    try:
        with ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
    except Exception as error:  # zipfile refuses in many ways what it does not know
        raise ValueError(f"{file.name} is damaged, or older than PyTorch's zip files.") from error
    _bound(file, size, most_bytes)
    try:
        found = cast(object, torch.load(file, "cpu", weights_only=True, mmap=True))
    except Exception as error:  # a file of strangers can make it raise anything
        raise ValueError(
            f"{file.name} is damaged, or holds more than tensors, which could run code: it is not "
            "read."
        ) from error
    if not isinstance(found, dict):
        raise ValueError(f"{file.name} holds no tensors by name.")
    tensors = cast("dict[object, object]", found)
    kept = {n: t for n, t in tensors.items() if isinstance(n, str) and isinstance(t, Tensor)}
    if len(kept) != len(tensors):
        raise ValueError(f"{file.name} holds more than tensors by name.")
    kept = {name: tensor for name, tensor in kept.items() if wanted(name)}
    _bound(
        file, sum(tensor.numel() * tensor.element_size() for tensor in kept.values()), most_bytes
    )
    return kept


def write_tensors(tensors: Mapping[str, Tensor], file: Path) -> None:
    """Write a file, whole or not at all; its folder is made where it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    new.replace(file)


def _bound(file: Path, size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"{file.name} has {size:,} bytes; {most:,} are allowed here.")


def _size(tensor: _Slice) -> int:
    return math.prod(tensor.get_shape()) * _BYTES.get(tensor.get_dtype(), _WIDEST)


@contextmanager
def _opened(file: Path) -> Generator[_File]:
    try:
        with cast(AbstractContextManager[_File], safe_open(str(file), "pt")) as tensors:
            yield tensors
    except SafetensorError as error:
        raise ValueError(f"{file.name} is damaged: it is no safetensors file.") from error
