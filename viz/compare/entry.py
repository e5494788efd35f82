"""One method of a comparison as the views read it, finished or not."""

from __future__ import annotations

from dataclasses import dataclass

from core.trace import Trace
from viz.compare.payload import Status


@dataclass(frozen=True, slots=True)
class Entry:
    """`run`: name of its trace on the server; `trace` None before its first round. The first entry
    of a comparison is plain decoding.
    """

    key: str
    name: str
    lossless: bool
    status: Status = "done"
    run: str = ""
    words: str = ""
    trace: Trace | None = None
