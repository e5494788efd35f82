"""The decision model of DynaSD: will the token that came from this law be kept?

An MLP on the drafter's last hidden state (after the last norm), ReLU, sigmoid; its value estimates
min(1, p(x) / q(x)). One file per pair of target and drafter.

Lu et al., arXiv 2409.10644; the sizes are those of the released code, which has one for a draft
model of width 768 and one for width 2,048: the larger is taken from there on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from core.heads.files import read_tensors
from core.trace import ModelCard

FOLDER = Path(__file__).parents[2] / "assets" / "weights"
_WIDE = 2048
_MOST_BYTES = 64 * 2**20


class DecisionModel(nn.Module):
    """Maps hidden states (..., D) to scores (...,) between 0 and 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        first, second = (1024, 512) if width >= _WIDE else (512, 256)
        self.layers = nn.Sequential(
            nn.Linear(width, first),
            nn.ReLU(),
            nn.Linear(first, second),
            nn.ReLU(),
            nn.Linear(second, 1),
        )

    def forward(self, hidden: Tensor) -> Tensor:
        return cast(Tensor, self.layers(hidden))[..., 0].sigmoid()


def file_of(target: ModelCard, drafter: str, folder: Path = FOLDER) -> Path:
    """Return where the model for a target and a drafter (`skip-12-18`, `exit-28` ...) lies."""
    name = re.sub(r"[^a-z0-9]+", "-", target.id.rsplit("/", 1)[-1].split(" ")[0].lower())
    return folder / f"dynasd-{name.strip('-')}-{drafter}.safetensors"


def find_decision(target: ModelCard, drafter: str, folder: Path = FOLDER) -> DecisionModel:
    """Return the trained model; raise ValueError with what to do where there is none."""
    file = file_of(target, drafter, folder)
    if not file.is_file():
        raise ValueError(
            f"No decision model was trained for the drafter {drafter} of {target.id}: "
            "train one with python -m core.train decision, or set stop to never."
        )
    return read_decision(file)


def read_decision(file: Path) -> DecisionModel:
    """Read a file; raise ValueError where it holds anything but a decision model."""
    weights = read_tensors(file, _MOST_BYTES)
    first = weights.get("layers.0.weight")
    if first is None or first.dim() != 2:
        raise ValueError(f"{file.name} holds no decision model: layers.0.weight is missing.")
    model = DecisionModel(first.shape[1])
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if {name: tensor.shape for name, tensor in weights.items()} != expected:
        raise ValueError(f"{file.name} holds no decision model: its tensors have other shapes.")
    model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return model.eval().requires_grad_(False)


def score(model: DecisionModel, hidden: Tensor) -> Tensor:
    """Return scores (R,) of hidden states (R, D), in float32."""
    with torch.inference_mode():
        return model(hidden.float())
