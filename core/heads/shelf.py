"""Finds the trained heads of one target: those that come with the program, or a checkpoint that is
named. Each is read once.
"""

from __future__ import annotations

import re
from pathlib import Path

from core.heads.base import Head
from core.models.errors import ModelError
from core.models.hf import HFModel
from core.models.sources import Folder, parse_source
from core.parts import heads
from core.trace import ModelCard

FOLDER = Path(__file__).parents[2] / "assets" / "weights"


def shipped(kind: str, target: ModelCard, folder: Path = FOLDER) -> Path:
    """Return where the project's own head of a kind lies for a target."""
    return folder / f"{kind}-{slug(target.id)}"


def slug(model: str) -> str:
    """Return the part of a file's name that stands for a model, from its id."""
    name = re.sub(r"[^a-z0-9]+", "-", model.rsplit("/", 1)[-1].split(" ")[0].lower())
    return name.strip("-")


class Shelf:
    """The heads of one target (`core.heads.base.Heads`)."""

    def __init__(self, target: HFModel, folder: Path = FOLDER) -> None:
        self._target = target
        self._folder = folder
        self._read: dict[tuple[str, str], Head] = {}

    def __call__(self, kind: str, weights: str = "") -> Head:
        key = kind, weights
        if key not in self._read:
            self._read[key] = heads()[kind].make(self._place(kind, weights), self._target)
        return self._read[key]

    def _place(self, kind: str, weights: str) -> Path:
        if not weights:
            place = shipped(kind, self._target.card, self._folder)
            if not place.is_dir():
                name = heads()[kind].name
                were = "were" if name.endswith("s") else "was"
                raise ValueError(
                    f"No {name} {were} trained for {self._target.card.id}: name a checkpoint, "
                    f"train one with python -m core.train {kind}, or choose another drafter."
                )
            return place
        try:
            source = parse_source(weights)
        except ModelError as error:
            raise ValueError(str(error)) from error
        if not isinstance(source, Folder) or not source.path.is_dir():
            raise ValueError(f"There is no folder {weights!r}: name the folder of a checkpoint.")
        return source.path
