"""How much one visitor, and all together, may ask of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server; those on runs hold per run, `stored_*` for all users together."""

    prompt_characters: int = 40_000
    prompt_tokens: int = 8_192
    new_tokens: int = 2_048
    nodes: int = 512  # drafted per round
    stop_strings: int = 8
    stop_characters: int = 80
    link_characters: int = 1_500  # of a prompt that a link carries
    compared: int = 12  # methods beside plain decoding
    compared_tokens: int = 4_096  # of all methods of a comparison together
    runs_at_once: int = 1  # on one machine two runs slow each other more than a line does
    runs_waiting: int = 40
    runs_per_user: int = 8
    stored_traces: int = 512  # of all users
    stored_numbers: int = 16_000_000  # in all stored traces; about 32 bytes each
    file_bytes: int = 32 * MIB
    engines: int = 2  # kept loaded


def limits_of(environ: Mapping[str, str]) -> Limits:
    """Return the bounds of a hosted Space, which serves strangers, or those of a run at home."""
    if not environ.get("SPACE_ID"):
        return Limits()
    return Limits(
        prompt_characters=8_000,
        prompt_tokens=1_536,
        new_tokens=256,
        nodes=128,
        compared=4,
        compared_tokens=640,
        file_bytes=8 * MIB,
    )
