"""How often the target writes each token: what a trimmed draft vocabulary is cut from.

Counted over the target's own answers; the file is small and comes with the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.heads.files import read_tensors, write_tensors
from core.heads.shelf import FOLDER, slug
from core.heads.vocabulary import DraftVocabulary
from core.host import int_rows

_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Frequencies:
    """`counts` (V,) int64; `always`: end and special tokens, which every draft vocabulary holds."""

    counts: Tensor
    always: frozenset[int]

    def vocabulary(self, count: int) -> DraftVocabulary:
        """Return the `count` most frequent tokens; raise ValueError for a count that cannot be."""
        return DraftVocabulary.frequent(self.counts, count, self.always)

    def write(self, file: Path) -> None:
        always = torch.tensor(sorted(self.always), dtype=torch.int32)
        write_tensors({"counts": self.counts.int(), "always": always}, file)


Counts = Callable[[], Frequencies]  # what was counted for a target


def no_counts() -> Frequencies:
    """Stand in where nothing can have been counted."""
    raise ValueError(
        "Nothing was counted for this target, so that its draft vocabulary cannot be cut: let the "
        "drafter name all that it knows."
    )


def frequencies_file(target: str, folder: Path = FOLDER) -> Path:
    """Return where the counts for a target lie, by its id."""
    return folder / f"frequencies-{slug(target)}.safetensors"


def read_frequencies(target: str, size: int, folder: Path = FOLDER) -> Frequencies:
    """Return the counts for a target with `size` tokens. Raises ValueError with one sentence where
    there are none, or they are another vocabulary's.
    """
    file = frequencies_file(target, folder)
    if not file.is_file():
        raise ValueError(
            f"Nothing was counted for {target}, so that its draft vocabulary cannot be cut: let "
            "the drafter name all that it knows, or count with python -m core.train corpus."
        )
    tensors = read_tensors(file, _MOST_BYTES)
    counts, always = tensors.get("counts"), tensors.get("always")
    if counts is None or always is None or counts.shape != (size,) or always.dim() != 1:
        raise ValueError(f"{file.name} holds no counts of {size:,} tokens.")
    return Frequencies(counts.long(), frozenset(int_rows(always[None])[0]))
