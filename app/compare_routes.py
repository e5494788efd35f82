"""Comparisons over plain HTTP: the page's payload, positions as they are needed, downloads, one
upload. Knows no Gradio.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import lru_cache

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.answers import Uploads, download, number, packed_json, refused
from app.comparisons import Compared, comparison_order, packed, put
from app.session import stranger
from app.studio import Studio
from core.compare.comparison import refusal
from core.compare.files import dumps, loads
from viz.compare.export import comparison_html, entries_of
from viz.compare.positions import Positions
from viz.compare.table import csv

_MOST = 16  # positions with one answer

Answer = Callable[[Compared, Request], Response]


def compare_routes(studio: Studio) -> list[Route]:
    """Return the routes of one server's comparisons."""

    def found(answer: Answer) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            try:
                return answer(studio.find_comparison(request.path_params["name"]), request)
            except KeyError as error:
                return refused(404, str(error.args[0]))

        return endpoint

    @lru_cache(maxsize=8)
    def recorded(name: str) -> bytes:
        return packed(studio.comparisons.compared(name))

    def whole(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            is_recorded = name in studio.comparisons.all
            data = recorded(name) if is_recorded else studio.find_stored_comparison(name).packed()
        except KeyError as error:
            return refused(404, str(error.args[0]))
        return packed_json(data)

    uploads = Uploads(studio.limits.file_bytes, loads)

    async def open_file(request: Request) -> Response:
        comparison = await uploads.read(request)
        if isinstance(comparison, Response):
            return comparison
        user = request.query_params.get("user") or stranger()
        entries = entries_of(comparison)
        made = put(studio.shelf, user, "From a file", comparison.title or "", entries)
        studio.shelf.tidy()
        payload = await run_in_threadpool(made.compared().payload)
        opened = {"comparison": payload, "order": comparison_order(comparison.runs)}
        return packed_json(gzip.compress(msgspec.json.encode(opened), 4, mtime=0))

    one = "/comparisons/{name:str}"
    return [
        Route("/comparisons", open_file, methods=["POST"]),
        Route(one, whole),
        Route(f"{one}/positions", found(_positions)),
        Route(f"{one}/comparison.json.gz", found(_file)),
        Route(f"{one}/comparison.html", found(_page)),
        Route(f"{one}/table.csv", found(_table)),
    ]


def _positions(found: Compared, request: Request) -> Response:
    """Return positions by their numbers in the payload's `places`, `to` without the last."""
    start = number(request, "from", 0)
    positions = Positions(found.entries)
    count = max(positions.numbers, default=-1) + 1
    stop = min(number(request, "to", start + 1), start + _MOST, count)
    views = [positions.at(index) for index in range(start, stop)]
    return packed_json(gzip.compress(msgspec.json.encode(views), 4, mtime=0))


def _file(found: Compared, request: Request) -> Response:
    comparison = found.file()
    if (sentence := refusal(comparison.runs)) is not None:  # only plain decoding is there yet
        return refused(409, sentence)
    return download(dumps(comparison), "application/gzip", f"draftscope-{found.name}.json.gz")


def _page(found: Compared, request: Request) -> Response:
    comparison = found.file()
    if (sentence := refusal(comparison.runs)) is not None:
        return refused(409, sentence)
    html = comparison_html(comparison, found.origin)
    return download(html.encode(), "text/html; charset=utf-8", f"draftscope-{found.name}.html")


def _table(found: Compared, request: Request) -> Response:
    text = csv(found.entries)
    return download(text.encode(), "text/csv; charset=utf-8", f"draftscope-{found.name}.csv")
