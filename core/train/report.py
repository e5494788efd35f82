"""What a training was told, what it wrote down on the way, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

Accepted = tuple[int, int]  # drafted tokens that were right, that were drafted


class Plan(msgspec.Struct, frozen=True):
    """How to train. `warmup`: share of the run; `clip`: most norm of a gradient; `mixed`: products
    in bfloat16, on weights in float32.

    The run ends after `epochs` or `minutes`, whichever comes first; the learning rate is 0 then.
    """

    epochs: int = 10
    minutes: float = 100.0
    rate: float = 1e-3
    warmup: float = 0.05
    clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.95)
    decay: float = 0.0
    seed: int = 0
    mixed: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a plan that cannot be carried out."""
        if self.epochs < 1 or self.minutes <= 0 or self.rate <= 0 or self.clip <= 0:
            raise ValueError("A training has at least 1 epoch, and time, rate and clip above 0.")
        if not 0 <= self.warmup < 1 or self.decay < 0:
            raise ValueError("The warm-up is a share from 0 up to 1, the decay 0 or more.")


class Epoch(msgspec.Struct, frozen=True):
    """An epoch's mean loss, that on held-out topics, and acceptance there by depth.

    `step` and `seconds`: of the whole run, when the epoch ended.
    """

    training: float
    held_out: float
    accepted: tuple[Accepted, ...]
    step: int
    seconds: float


class Report(msgspec.Struct, frozen=True):
    """A finished training. `held_out` and `accepted`: of the weights that are saved."""

    kind: str
    plan: Plan
    parameters: int
    steps: int
    seconds: float
    epochs: tuple[Epoch, ...]
    best: int  # index of the epoch that is kept
    held_out: float
    accepted: tuple[Accepted, ...]


class StepLine(msgspec.Struct, frozen=True, tag="step", tag_field="line"):
    """One step: its loss, the learning rate, the gradient's norm before clipping."""

    step: int
    loss: float
    rate: float
    norm: float
    seconds: float


class EpochLine(msgspec.Struct, frozen=True, tag="epoch", tag_field="line"):
    number: int
    made: Epoch


Line = StepLine | EpochLine


class Log:
    """A file of JSON lines; what goes beyond the checkpoint that a run goes on from is cut off."""

    def __init__(self, file: Path, steps: int, epochs: int) -> None:
        self._file = file
        kept = [line for line in read_log(file) if _is_before(line, steps, epochs)]
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
        new.replace(file)

    def write(self, line: Line) -> None:
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


def read_log(file: Path) -> list[Line]:
    """Return the lines of a log, without one that was not written to its end."""
    if not file.is_file():
        return []
    whole, _, _ = file.read_bytes().rpartition(b"\n")
    try:
        return [msgspec.json.decode(line, type=Line) for line in whole.splitlines()]
    except msgspec.MsgspecError as error:
        raise ValueError(f"{file.name} is damaged: {error}.") from error


def _is_before(line: Line, steps: int, epochs: int) -> bool:
    return line.step <= steps if isinstance(line, StepLine) else line.number < epochs


def per_pass(accepted: Sequence[Accepted]) -> float:
    """Return the tokens that a pass of the target yields on average with a chain of this depth: its
    own, and one for each depth that is reached and right.
    """
    tokens = reached = 1.0
    for right, tried in accepted:
        reached *= right / tried if tried else 0.0
        tokens += reached
    return tokens
