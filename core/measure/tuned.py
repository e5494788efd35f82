"""What suits this machine: the settings that `python -m core.measure tune` found for each method.

One small JSON file per target, machine and temperature, in the user's cache. It may be old, cut
short or from a stranger: it is read within bounds, and one that cannot be used is left out. Imports
no torch, so that the page can offer it at once.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from core.fields import Index
from core.measured import write_whole
from core.models.folders import cache_root

_MOST_BYTES = 256 * 1024
_LONGEST = 64  # characters of a name in a file's

Name = Annotated[str, Meta(max_length=1024)]
Milliseconds = Annotated[float, Meta(gt=0, le=1e9)]
Number = Annotated[float, Meta(ge=0, le=1e9)]
Threads = Annotated[int, Meta(ge=1, le=4096)]
Setting = str | int | float | bool


class Plain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round of plain decoding with so many threads, recording included."""

    threads: Threads
    round_ms: Milliseconds


class Proposal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one method, and what they are expected to bring.

    `tokens` of a round, the target's own included; `speedup` over plain decoding with its own best
    number of threads. `counted` places were observed for the acceptance that this rests on.
    """

    method: Name
    drafter: Name
    settings: Annotated[dict[Name, Setting], Meta(max_length=32)]
    threads: Threads
    nodes: Index
    depth: Index
    tokens: Number
    round_ms: Milliseconds
    speedup: Number
    counted: Index


class Tuned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was found at once. `proposals`: the fastest first."""

    version: Literal[1] = 1
    target: Name
    revision: Name | None
    dtype: Name
    machine: Name
    processor: Name
    temperature: Annotated[float, Meta(ge=0, le=2)]
    created: Name
    plain: Annotated[list[Plain], Meta(min_length=1, max_length=4096)]
    proposals: Annotated[list[Proposal], Meta(max_length=256)]

    @property
    def best_plain(self) -> Plain:
        return min(self.plain, key=lambda each: each.round_ms)

    def of(self, method: str) -> Proposal | None:
        """Return the fastest settings of a method, None where nothing was found for it."""
        return next((each for each in self.proposals if each.method == method), None)


def this_machine() -> str:
    """Return the name of this machine, without its domain."""
    return platform.node().split(".")[0] or "unnamed"


def tuned_file(target: str, machine: str, temperature: float) -> Path:
    """Return where the settings for a target, by its id, lie on this disk."""
    heat = f"{temperature:.3f}".rstrip("0").rstrip(".")
    return cache_root() / "measured" / f"tuned-{_slug(target)}-{_slug(machine)}-t{heat}.json"


def find_tuned(target: str, temperature: float = 0.0, machine: str | None = None) -> Tuned | None:
    """Return what was found for a target on this machine; None where nothing usable is there."""
    file = tuned_file(target, machine or this_machine(), temperature)
    try:
        with file.open("rb") as stream:
            return msgspec.json.decode(stream.read(_MOST_BYTES), type=Tuned)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def write_tuned(found: Tuned) -> Path:
    """Write the file, whole or not at all, and return its place. Raises MeasuredError where the
    disk refuses.
    """
    path = tuned_file(found.target, found.machine, found.temperature)
    write_whole(msgspec.json.encode(found) + b"\n", path)
    return path


def command(proposal: Proposal) -> str:
    """Return the words of the command line that runs a proposal."""
    return f"--method {proposal.method}{_set(proposal.settings)} --threads {proposal.threads}"


def _set(settings: Mapping[str, Setting]) -> str:
    told = " ".join(f"{name}={_word(value)}" for name, value in settings.items())
    return f" --set {told}" if told else ""


def _word(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _slug(name: str) -> str:
    bare = name.rsplit("/", 1)[-1].split(" ")[0].lower()
    return re.sub(r"[^a-z0-9.]+", "-", bare)[:_LONGEST].strip("-.") or "unnamed"
