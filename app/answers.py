"""What plain routes have in common: packed JSON, downloads, refusals, bodies."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response


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
