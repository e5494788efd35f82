"""How often each candidate of each head is right: what a tree that is planned ahead is made from.

Counted on greedy texts over topics that no training saw, and kept beside the weights as
`accuracy.json`. Candidate k of head d is the token that the head likes k-th best for the place d
tokens behind the root's child; Hydra's heads have the text's own tokens before it as their path.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from core.fields import Index

FILE = "accuracy.json"
RANKS = 10  # candidates of a head that are counted; the deepest list of the published trees
_MOST_BYTES = 2**20
_MOST_HEADS, _MOST_RANKS = 64, 64


class Accuracy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`hits[d][k]`: of the `tried[d]` places, those where candidate k of head d was the token."""

    tried: list[Index]
    hits: list[list[Index]]

    @property
    def table(self) -> list[list[float]]:
        """Return the shares by head and candidate."""
        return [
            [hit / tried for hit in row] for row, tried in zip(self.hits, self.tried, strict=True)
        ]


@runtime_checkable
class Ahead(Protocol):
    """A trained head that sees `ahead` tokens far; `accuracy` where it was measured."""

    @property
    def ahead(self) -> int: ...

    @property
    def accuracy(self) -> Accuracy | None: ...


def read_accuracy(folder: Path, heads: int) -> Accuracy | None:
    """Return what was measured of a checkpoint with so many heads, None where nothing was.

    Raises ValueError with one sentence for a file that is damaged or of other heads.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{FILE} of {folder.name} is larger than 1 MB, so it is not read.")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Accuracy)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"{FILE} of {folder.name} is damaged: {error}.") from error
    if not len(found.tried) == len(found.hits) == heads <= _MOST_HEADS:
        raise ValueError(f"{FILE} of {folder.name} does not speak of its {heads} heads.")
    if not all(map(_is_possible, found.hits, found.tried)):
        raise ValueError(f"{FILE} of {folder.name} is damaged: a head was right too often.")
    return found


def write_accuracy(accuracy: Accuracy, folder: Path) -> None:
    (folder / FILE).write_bytes(msgspec.json.encode(accuracy) + b"\n")


def _is_possible(hits: Sequence[int], tried: int) -> bool:
    return 0 < len(hits) <= _MOST_RANKS and tried > 0 and sum(hits) <= tried
