"""A model's files as they lie on disk, looked at before any library reads them. Loads no tensor.

Only safetensors and GGUF are read, never pickles. A truncated file or an index that points out of
its folder is found here, where the sentence can still be clear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from core.models.errors import ModelError
from core.models.sources import shown

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".distcp")
_MOST_JSON = 64 * 2**20  # bytes; the largest published index has 12 MB
_MOST_HEADER = 100 * 10**6  # bytes, the format's own limit
_PREFIX = 8  # bytes that hold the header's length
_T = TypeVar("_T")


class _Tensor(msgspec.Struct):
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


class _Config(msgspec.Struct):
    model_type: str = ""
    auto_map: dict[str, object] | None = None
    num_hidden_layers: object = None
    n_layer: object = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a folder holds; `brings_code`: the author's own classes, which are never run."""

    model_type: str
    brings_code: bool
    parameters: int
    files: tuple[Path, ...]


def inspect_folder(folder: Path) -> Contents:
    """Return what `folder` holds; raises ModelError if it is no complete model in safetensors."""
    if not folder.is_dir():
        raise ModelError(f"There is no folder {shown(str(folder))}.")
    if (folder / "adapter_config.json").exists():
        raise ModelError(f"{folder.name} is an adapter: merge it into its model and save that.")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder.name} holds no config.json: name the folder of a saved model.")
    config = _decode(folder / "config.json", _Config)
    files = tuple(folder / name for name in _weight_files(folder))
    tensors = [tensor for file in files for tensor in _tensors(file)]
    for layers in (config.num_hidden_layers, config.n_layer):
        if isinstance(layers, int) and layers > len(tensors):  # building them could fill the memory
            raise ModelError(f"{folder.name} is damaged: it states more layers than it holds.")
    parameters = sum(math.prod(tensor.shape) for tensor in tensors)
    return Contents(config.model_type, bool(config.auto_map), parameters, files)


def check_gguf(file: Path) -> None:
    """Raise ModelError if `file` is not there or is not GGUF."""
    if not file.is_file():
        raise ModelError(f"There is no file {shown(str(file))}.")
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError(f"{file.name} is not a GGUF file.")


def _weight_files(folder: Path) -> list[str]:
    if (folder / ".metadata").exists():
        raise ModelError(f"{folder.name} holds pickles: only safetensors and GGUF files are read.")
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    if not (folder / INDEX).is_file():
        raise ModelError(_why_no_weights(folder))
    names = sorted(set(_decode(folder / INDEX, _Index).weight_map.values()))
    for name in names:
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ModelError(f"{INDEX} of {folder.name} names {shown(name)}, not a file beside it.")
        if not (folder / name).is_file():
            raise ModelError(f"{folder.name} is incomplete: {name} is missing.")
    return names


def _why_no_weights(folder: Path) -> str:
    pickles = sorted(f.name for f in folder.iterdir() if f.suffix in _PICKLES)
    if pickles:
        return (
            f"{folder.name} holds {pickles[0]}, a pickle that could run code: "
            "only safetensors and GGUF files are read."
        )
    return f"{folder.name} holds no {WEIGHTS}: name the folder of a saved model."


def _tensors(file: Path) -> list[_Tensor]:
    """Return what a safetensors file says it holds; raises ModelError where it is cut."""
    tensors, start = _read_header(file)
    end = max((tensor.data_offsets[1] for tensor in tensors), default=0)
    if file.stat().st_size != start + end:
        raise ModelError(f"{file.name} is damaged: its length is not the one it states.")
    return tensors


def _read_header(file: Path) -> tuple[list[_Tensor], int]:
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(_PREFIX), "little")
        if length > min(_MOST_HEADER, file.stat().st_size):
            raise ModelError(f"{file.name} is damaged or is not in the safetensors format.")
        header = stream.read(length)
    try:
        entries = msgspec.json.decode(header, type=dict[str, object])
        entries.pop("__metadata__", None)
        return [msgspec.convert(entry, _Tensor) for entry in entries.values()], _PREFIX + length
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(f"{file.name} is damaged: its header cannot be read.") from error


def _decode(file: Path, kind: type[_T]) -> _T:
    if file.stat().st_size > _MOST_JSON:
        raise ModelError(f"{file.name} is larger than {_MOST_JSON // 2**20} MB, so it is not read.")
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(f"{file.name} of {file.parent.name} is damaged: {error}.") from error
