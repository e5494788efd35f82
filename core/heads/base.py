"""What a trained head is to the drafters: something that opens sessions which follow the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from core.heads.vocabulary import DraftVocabulary
from core.models.base import Session
from core.models.hf import HFModel


class Head(Protocol):
    """Trained weights that are ready for one target."""

    @property
    def taps(self) -> tuple[int, ...]:
        """Return the layers of the target whose states its sessions want to learn."""
        ...

    @property
    def vocabulary(self) -> DraftVocabulary:
        """Return the tokens that it can name."""
        ...

    @property
    def parameters(self) -> int:
        """Return how many numbers it is made of, beside the rows that read tokens off."""
        ...

    def trimmed(self, vocabulary: DraftVocabulary) -> Head:
        """Return the same head, to name tokens of `vocabulary` only. Raises ValueError where it
        can name none of them.
        """
        ...

    def open(self, text: Sequence[int], target: Session) -> Session:
        """Return a session that follows `target` (see `core.drafters.source.Follower`)."""
        ...


HeadMaker = Callable[[Path, HFModel], Head]  # a checkpoint's folder, the target


class Heads(Protocol):
    """Finds the trained heads of a target."""

    def __call__(self, kind: str, weights: str = "") -> Head:
        """Return a head. `weights`: folder or hub id of a published checkpoint; empty: those that
        come with the program. Raises ValueError with one sentence where there is none that fits.
        """
        ...


def no_heads(kind: str, weights: str = "") -> Head:
    """Stand in where no heads can be had."""
    raise ValueError("This target has no trained heads: choose another drafter.")
