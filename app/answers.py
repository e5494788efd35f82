"""What plain routes have in common: packed JSON, downloads, refusals, bodies."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from core.validate import TraceError

T = TypeVar("T")

_READ_AT_ONCE = 2  # files


def packed_json(data: bytes) -> Response:
    """Return compressed JSON."""
    headers = {"Cache-Control": "no-cache", "Content-Encoding": "gzip"}
    return Response(data, media_type="application/json", headers=headers)


def download(data: bytes, media: str, name: str) -> Response:
    """Return a file to be saved as `name`."""
    return Response(
        data, media_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def refused(status: int, sentence: str) -> Response:
    """Return one sentence on why there is no answer."""
    return Response(
        msgspec.json.encode({"error": sentence}), status_code=status, media_type="application/json"
    )


@dataclass(frozen=True, slots=True)
class Uploads(Generic[T]):
    """Reads files that browsers send, of at most `most` bytes, a few at once: a large one takes
    seconds of a core.
    """

    most: int
    loads: Callable[[bytes], T]
    _turns: Semaphore = field(default_factory=lambda: Semaphore(_READ_AT_ONCE), init=False)

    async def read(self, request: Request) -> T | Response:
        """Return what the file holds, or why it is refused."""
        data = await body(request, self.most)
        if data is None:
            sentence = f"The file is too large; {self.most // 2**20} MiB are allowed here."
            return refused(413, sentence)
        try:
            async with self._turns:
                return await run_in_threadpool(self.loads, data)
        except TraceError as error:
            return refused(400, str(error))


async def body(request: Request, most: int) -> bytes | None:
    """Return the request's body, or None as soon as it is longer than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


def number(request: Request, name: str, otherwise: int) -> int:
    """Return a whole number of the query."""
    text = request.query_params.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise
