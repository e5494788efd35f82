"""Where a training stands, on disk: weights and moments as safetensors, the rest as JSON.

The JSON file names the tensors' file and is replaced last: at every moment there is one whole
checkpoint, whenever the process is killed. No pickle.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import torch
from torch import Tensor, nn

from core.heads.files import read_tensors, write_tensors
from core.train.report import Epoch, Plan

_MOST_BYTES = 4 * 2**30


class Progress(msgspec.Struct):
    """How far a run has come. `batches`: of an epoch; `batch`, `total`: batches of this epoch that
    are done, and the sum of their losses.
    """

    kind: str
    plan: Plan
    batches: int
    step: int = 0
    batch: int = 0
    total: float = 0.0
    seconds: float = 0.0
    best: int | None = None
    epochs: list[Epoch] = msgspec.field(default_factory=lambda: list[Epoch]())


class Checkpoints:
    """The files of one run: `checkpoint.json`, the tensors it names, and the best epoch's."""

    def __init__(self, folder: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._folder, self._module, self._optimizer = folder, module, optimizer
        self._file = folder / "checkpoint.json"

    def read(self, kind: str, plan: Plan) -> Progress | None:
        """Restore module and optimiser, and return how far the run had come; None where there is
        none. Raises ValueError where the folder holds another run, or is damaged.
        """
        if not self._file.is_file():
            return None
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=Progress)
        except msgspec.MsgspecError as error:
            raise ValueError(f"{self._file} is damaged: {error}.") from error
        if (found.kind, found.plan) != (kind, plan):
            raise ValueError(f"{self._folder} holds a training with other settings: remove it.")
        self._restore(read_tensors(self._tensors(found.step), _MOST_BYTES))
        return found

    def write(self, progress: Progress) -> None:
        file = self._tensors(progress.step)
        write_tensors(self._state(), file)
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(progress))
        new.replace(self._file)
        self._forget("step-*.safetensors", file)
        if progress.best is not None:
            self._forget("best-*.safetensors", self._best(progress.best))

    def keep_best(self, epoch: int) -> None:
        """Set the weights aside as the best so far."""
        write_tensors(self._module.state_dict(), self._best(epoch))

    def restore_best(self, epoch: int) -> None:
        self._module.load_state_dict(read_tensors(self._best(epoch), _MOST_BYTES))

    def _state(self) -> dict[str, Tensor]:
        """Return weights and moments by name."""
        state = {f"weights.{name}": t for name, t in self._module.state_dict().items()}
        for name, parameter in self._module.named_parameters():
            moments = self._optimizer.state.get(parameter, {})
            state |= {f"{part}.{name}": tensor for part, tensor in moments.items()}
        return state

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        # copies, as what is read is mapped from a file that the next checkpoint removes
        parts = {name: tensor.clone() for name, tensor in tensors.items()}
        names = self._module.state_dict()
        self._module.load_state_dict({name: parts[f"weights.{name}"] for name in names})
        for name, parameter in self._module.named_parameters():
            found = {
                part: parts[f"{part}.{name}"]
                for part in ("step", "exp_avg", "exp_avg_sq")
                if f"{part}.{name}" in parts
            }
            if found:
                self._optimizer.state[parameter] = found

    def _tensors(self, step: int) -> Path:
        return self._folder / f"step-{step}.safetensors"

    def _best(self, epoch: int) -> Path:
        return self._folder / f"best-{epoch}.safetensors"

    def _forget(self, pattern: str, kept: Path) -> None:
        for file in self._folder.glob(pattern):
            if file != kept:
                file.unlink()
