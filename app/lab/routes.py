"""The Lab over plain HTTP: a question goes in as JSON, lines of JSON come back, the answer last.

Whoever hangs up leaves the line. Knows no Gradio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app.lab.desk import Answer, Desk
from app.lab.orders import read_question
from app.lab.tools import TOOLS, Tool
from app.orders import OrderError
from app.studio import Studio

_LONGEST = 16_384  # bytes of a question
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

Endpoint = Callable[[Request], Awaitable[Response]]


def lab_routes(studio: Studio) -> list[Route]:
    """Return one route per tool, all at one desk."""
    desk = Desk(studio)
    return [
        Route(f"/lab/{tool.name}", _endpoint(studio, desk, tool), methods=["POST"])
        for tool in TOOLS
    ]


def _endpoint(studio: Studio, desk: Desk, tool: Tool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        try:
            order, models = read_question(tool.order, await _json(request))
            found = studio.find(order.trace)
        except OrderError as error:
            return _refused(400, str(error))
        except KeyError as error:
            return _refused(404, str(error.args[0]))
        lines = _lines(desk.answer(tool, found, order, models))
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=_HEADERS)

    return endpoint


async def _lines(answers: AsyncIterator[Answer]) -> AsyncIterator[bytes]:
    async for answer in answers:
        yield msgspec.json.encode(answer) + b"\n"


async def _json(request: Request) -> object:
    """Return the request's body. Raises OrderError where it is no JSON, or longer than allowed."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > _LONGEST:
            raise OrderError("", f"The question is too long; {_LONGEST:,} bytes are allowed.")
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        raise OrderError("", "The question is no JSON.") from None


def _refused(status: int, sentence: str) -> Response:
    return Response(
        msgspec.json.encode({"error": sentence}), status_code=status, media_type="application/json"
    )
