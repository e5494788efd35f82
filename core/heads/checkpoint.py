"""A published checkpoint of a trained head: its settings and its tensors, read strictly.

Which names there are is the business of each reader (`medusa.py`, `hydra.py` ...); here is what
they share. A reader takes every tensor by name and shape; what is missing, left over or of another
shape than the target asks for is one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import msgspec
from torch import Tensor, nn

from core.heads.files import Wanted, any_tensor, read_tensors, read_zipped

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
MOST_BYTES = 8 * 2**30  # of the wanted tensors; five heads of 128,000 x 4,096 fit

_MOST_JSON = 2**20
_ZIPPED = (".bin", ".pt", ".pth")
_NO_WEIGHTS = {"training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt"}
_NAMED = 4  # names in a sentence


class Checkpoint:
    """`name`: the folder's; `target`: the model that the head is to follow, for sentences."""

    def __init__(
        self, name: str, target: str, config: Mapping[str, object], tensors: Mapping[str, Tensor]
    ) -> None:
        self.name = name
        self.target = target
        self._config = config
        self._tensors = dict(tensors)
        self._taken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """Return the names of all tensors, in order."""
        return sorted(self._tensors)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the sizes of a tensor; raise ValueError where it is missing."""
        self.require([name])
        return tuple(self._tensors[name].shape)

    def take(self, name: str, *shape: int | None) -> Tensor:
        """Return a tensor of weights; None in `shape` stands for any size.

        Raises ValueError where it is missing, has another shape, or holds anything but finite
        floating-point numbers.
        """
        tensor = self._take(name, shape)
        if not tensor.is_floating_point() or not bool(tensor.isfinite().all()):
            raise ValueError(f"{self.name} is damaged: {name} does not hold finite numbers.")
        return tensor

    def take_ids(self, name: str, *shape: int | None) -> Tensor:
        """Return a tensor of whole numbers, or of marks (bool); errors as `take`."""
        tensor = self._take(name, shape)
        if tensor.is_floating_point() or tensor.is_complex():
            raise ValueError(f"{self.name} is damaged: {name} does not hold whole numbers.")
        return tensor

    def fill(self, module: nn.Module, names: Mapping[str, str] | str = "") -> None:
        """Copy tensors into the parameters of `module`, in its own type of numbers.

        `names`: what stands before each of the module's own names, or a table from these to those
        of the checkpoint. Raises ValueError as `take`; all that is missing is named at once.
        """
        own = cast("dict[str, Tensor]", module.state_dict())
        named = {key: names + key for key in own} if isinstance(names, str) else names
        self.require(named[key] for key in own)
        for key, parameter in own.items():
            parameter.copy_(self.take(named[key], *parameter.shape))

    def ignore(self, *names: str) -> None:
        """Let tensors stand unused that publishers are known to leave there."""
        self._taken.update(names)

    def require(self, names: Iterable[str]) -> None:
        """Raise ValueError with the names that are missing, if any are."""
        missing = [name for name in names if name not in self._tensors]
        if missing:
            raise ValueError(f"{self.name} is incomplete: it has no {_listed(missing)}.")

    def finish(self) -> None:
        """Raise ValueError with the names of tensors that nobody took, if there are any."""
        left = [name for name in self.names if name not in self._taken]
        if left:
            raise ValueError(
                f"{self.name} holds tensors that its layout does not know: {_listed(left)}."
            )

    def whole(self, key: str, default: int, least: int = 0, most: int = 2**31) -> int:
        """Return a whole number of config.json, or `default` where it is not set."""
        value = self._config.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._odd(key, value, f"a whole number from {least} to {most:,}")
        return value

    def number(self, key: str, default: float) -> float:
        """Return a number of config.json, or `default` where it is not set."""
        value = self._config.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._odd(key, value, "a number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return a yes or no of config.json, or `default` where it is not set."""
        value = self._config.get(key)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise self._odd(key, value, "true or false")
        return value

    def text(self, key: str, default: str) -> str:
        """Return a word of config.json, or `default` where it is not set."""
        value = self._config.get(key)
        value = default if value is None else value
        if not isinstance(value, str):
            raise self._odd(key, value, "a word")
        return value

    def part(self, key: str) -> object:
        """Return what config.json holds under `key`, unchecked; None where it is not set."""
        return self._config.get(key)

    def _odd(self, key: str, value: object, allowed: str) -> ValueError:
        told = repr(value)[:40]
        return ValueError(f"{CONFIG} of {self.name} has {key} {told}; it should be {allowed}.")

    def _take(self, name: str, shape: tuple[int | None, ...]) -> Tensor:
        self.require([name])
        tensor = self._tensors[name]
        fits = tensor.dim() == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, tensor.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"{self.name} does not fit {self.target}: {name} has {_sizes(tuple(tensor.shape))},"
                f" and {_sizes(shape)} are needed."
            )
        self._taken.add(name)
        return tensor


def read_checkpoint(
    folder: Path, target: str, wanted: Wanted = any_tensor, most_bytes: int = MOST_BYTES
) -> Checkpoint:
    """Return what a folder holds: config.json, and the wanted tensors of its safetensors files or,
    where there are none, of its PyTorch files.

    Raises ValueError with one sentence where that is missing, damaged, or more than `most_bytes`.
    """
    if not folder.is_dir():
        raise ValueError(f"There is no folder {str(folder)!r}: name the folder of a checkpoint.")
    config = read_config(folder)
    tensors: dict[str, Tensor] = {}
    for file in _weight_files(folder):
        read = read_zipped if file.suffix in _ZIPPED else read_tensors
        found = read(file, most_bytes, wanted)
        if twice := sorted(found.keys() & tensors.keys()):
            raise ValueError(f"{folder.name} is damaged: {twice[0]} stands in two of its files.")
        tensors |= found
        most_bytes -= sum(tensor.numel() * tensor.element_size() for tensor in found.values())
    return Checkpoint(folder.name, target, config, tensors)


def read_config(folder: Path) -> dict[str, object]:
    """Return the settings in a folder's config.json; errors as above."""
    file = folder / CONFIG
    if not file.is_file():
        raise ValueError(f"{folder.name} holds no {CONFIG}: name the folder of a checkpoint.")
    if file.stat().st_size > _MOST_JSON:
        raise ValueError(f"{CONFIG} of {folder.name} is larger than 1 MB, so it is not read.")
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"{CONFIG} of {folder.name} is damaged: {error}.") from error


def _weight_files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.is_file())
    safe = [file for file in files if file.suffix == ".safetensors"]
    zipped = [f for f in files if f.suffix in _ZIPPED and f.name not in _NO_WEIGHTS]
    if not safe and not zipped:
        raise ValueError(f"{folder.name} holds no weights: a .safetensors or .pt file is needed.")
    return safe or zipped


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _sizes(shape: tuple[int | None, ...]) -> str:
    return " x ".join("any" if size is None else str(size) for size in shape) or "one number"
