"""The recorded examples on disk: what they are called and how each was run.

Opens a trace when it is asked for. Knows no method and no model, so that a server lists them at
once.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from core.trace import Message, Sampling, Trace
from core.trace_io import read

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "examples"


class _Prompt(msgspec.Struct):
    text: str
    messages: list[Message] | None = None


class RunHead(msgspec.Struct):
    """The part of a trace that says what was asked; the rounds are skipped, not read."""

    method: str
    config: dict[str, str | int | float | bool | list[int | float | str] | None]
    sampling: Sampling
    prompt: _Prompt
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """One example: `key` is its name in links, `order` what would make it again."""

    key: str
    title: str
    path: Path
    order: Mapping[str, object]


class Recordings:
    """The examples of one folder, by file name: `1-sky.json.gz` is first and has the key `sky`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.all: Mapping[str, Recording] = {
            r.key: r for r in map(_recording, sorted(folder.glob("*.json.gz")))
        }
        self._read = lru_cache(maxsize=16)(read)

    def trace(self, key: str) -> Trace:
        """Return one example's trace; raise KeyError where there is none of that key."""
        return self._read(self.all[key].path)


def _recording(path: Path) -> Recording:
    head = msgspec.json.decode(gzip.decompress(path.read_bytes()), type=RunHead)
    key = path.name.removesuffix(".json.gz").split("-", 1)[-1]
    return Recording(key, head.title or key.capitalize(), path, order_of(head))


def order_of(made: RunHead | Trace) -> Mapping[str, object]:
    """Return the order that would make a trace again, with the models of the page."""
    return {
        "prompt": made.prompt.text,
        "chat": made.prompt.messages is not None,
        "method": made.method,
        "config": made.config,
        "sampling": msgspec.to_builtins(made.sampling),
    }
