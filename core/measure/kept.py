"""What was counted so far: a small file per prompt in the user's cache, so that a measurement that
was stopped goes on, and one of more prompts begins with those that were counted before.

The folder belongs to one set of settings. A file that is damaged counts as missing: its prompt is
run again. Knows no model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.measured import write_whole
from core.models.folders import cache_root

_MOST_BYTES = 64 * 1024
_VERSION = 1  # of what is counted, and how

Place = Annotated[int, Meta(ge=0, lt=64)]


class Counted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Per drafted round the place of the child that stayed, None where none did."""

    places: Annotated[list[Place | None], Meta(max_length=4096)]


def folder_of(settings: Sequence[str | int | float | None]) -> Path:
    """Return the folder for a measurement with these settings."""
    key = msgspec.json.encode([_VERSION, *settings])
    name = hashlib.sha256(key).hexdigest()[:16]
    return cache_root() / "measuring" / f"acceptance-{name}"


def kept(folder: Path, number: int, children: int) -> list[int | None] | None:
    """Return what was counted for prompt `number`, None where nothing usable is there."""
    try:
        with _file(folder, number).open("rb") as file:
            found = msgspec.json.decode(file.read(_MOST_BYTES), type=Counted)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if any(place is not None and place >= children for place in found.places):
        return None
    return list(found.places)


def keep(folder: Path, number: int, places: Sequence[int | None]) -> None:
    """Write what was counted for prompt `number`; raises MeasuredError where the disk refuses."""
    write_whole(msgspec.json.encode(Counted(list(places))), _file(folder, number))


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:04}.json"
