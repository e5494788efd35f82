"""Plain HTTP beside the page: scripts and styles, traces and their rounds, downloads, one upload.

Scripts are served by the app itself under their content's hash, so that a browser keeps them. Knows
no Gradio.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from plotly.offline import get_plotlyjs
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from app.answers import Uploads, download, number, packed_json, refused
from app.card_rounds import card_routes
from app.cards import methods_json
from app.compare_routes import compare_routes
from app.lab.routes import lab_routes
from app.recordings import order_of
from app.session import stranger
from app.studio import PAGE, Found, Studio, overview_of, rounds_of
from core.trace_io import dumps, loads
from viz.compare.scripts import compare_script, compare_style
from viz.export import to_csv
from viz.replay import page_script, page_style, replay_html

PREFIX = "draftscope"  # of all paths below
APP = Path(__file__).resolve().parent
_FOREVER = "public, max-age=31536000, immutable"
_SCRIPTS = (
    "server",
    "fields",
    "controls",
    "link",
    "live",
    "lab_ladder",
    "lab_rounds",
    "lab",
    "xray_tree",
    "xray",
)  # ours, after the page's own
_COMPARE_SCRIPTS = (
    "compare_link",
    "compare_words",
    "compare_over",
    "compare_form",
    "compare_progress",
    "compare_positions",
    "compare_live",
    "compare_shell",
)  # those of the Compare page, after its own
_METHODS_SCRIPTS = ("catalogue_state", "catalogue_numbers", "catalogue_entry", "catalogue")


@dataclass(frozen=True, slots=True)
class Asset:
    """One file for the browser, compressed; its path `url` changes with the content."""

    url: str
    media: str
    packed: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return the pages' script, their style, the chart library and the catalogue, by name."""
    return {
        "page.js": _asset("page.js", "text/javascript", f"{page_script()}\n{_own(_SCRIPTS)}"),
        "page.css": _asset("page.css", "text/css", f"{page_style()}\n{_own_style('app')}"),
        "compare.js": _asset(
            "compare.js", "text/javascript", f"{compare_script()}\n{_own(_COMPARE_SCRIPTS)}"
        ),
        "compare.css": _asset(
            "compare.css", "text/css", f"{compare_style()}\n{_own_style('compare')}"
        ),
        "plotly.js": _asset("plotly.js", "text/javascript", get_plotlyjs()),
        "methods.js": _asset("methods.js", "text/javascript", _own(_METHODS_SCRIPTS)),
        "methods.css": _asset("methods.css", "text/css", _own_style("methods")),
        "methods.json": _asset("methods.json", "application/json", methods_json()),
    }


def _own(names: Sequence[str]) -> str:
    return "\n".join((APP / "components" / f"{name}.js").read_text("utf-8") for name in names)


def _own_style(name: str) -> str:
    return (APP / f"{name}.css").read_text("utf-8")


def _asset(name: str, media: str, text: str) -> Asset:
    data = text.encode()
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return Asset(
        f"{PREFIX}/assets/{digest}/{name}",
        f"{media}; charset=utf-8",
        gzip.compress(data, 6, mtime=0),
    )


def mount(studio: Studio) -> Mount:
    """Return the routes of one server."""

    def found(answer: Callable[[Found, Request], Response]) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            try:
                return answer(studio.find(request.path_params["name"]), request)
            except KeyError as error:
                return refused(404, str(error.args[0]))

        return endpoint

    @lru_cache(maxsize=32)
    def recorded(name: str, first: int) -> bytes:
        return _opened(studio.find(name), first)

    def opened(found: Found, request: Request) -> bytes:
        first = _page_of(found, request)
        return (
            recorded(found.name, first)
            if found.name in studio.recordings.all
            else _opened(found, first)
        )

    uploads = Uploads(studio.limits.file_bytes, loads)

    async def open_file(request: Request) -> Response:
        trace = await uploads.read(request)
        if isinstance(trace, Response):
            return trace
        user = request.query_params.get("user") or stranger()
        stored = studio.shelf.add(user, "From a file", trace)
        studio.shelf.tidy()
        opened = Found(stored.name, stored.origin, trace)
        return packed_json(await run_in_threadpool(_opened, opened, 0, order_of(trace)))

    one = "/traces/{name:str}"
    return Mount(
        f"/{PREFIX}",
        routes=[
            Route("/assets/{digest:str}/{name:str}", _serve_asset),
            Route("/alive", _alive),
            *lab_routes(studio),
            *compare_routes(studio),
            *card_routes(studio.recordings),
            Route("/traces", open_file, methods=["POST"]),
            Route(one, found(lambda found, request: packed_json(opened(found, request)))),
            Route(f"{one}/rounds", found(_rounds)),
            Route(f"{one}/trace.json.gz", found(_file)),
            Route(f"{one}/replay.html", found(_replay)),
            Route(f"{one}/{{table:str}}.csv", found(_table)),
        ],
    )


def _alive(request: Request) -> Response:
    return Response(b"{}", media_type="application/json", headers={"Cache-Control": "no-store"})


def _serve_asset(request: Request) -> Response:
    asset = assets().get(request.path_params["name"])
    if asset is None:
        return refused(404, "There is no such file.")
    headers = {"Cache-Control": _FOREVER, "Content-Encoding": "gzip"}
    return Response(asset.packed, media_type=asset.media, headers=headers)


def _opened(found: Found, first: int, order: Mapping[str, object] | None = None) -> bytes:
    """Return the overview and the page of rounds that begins with `first`, as compressed JSON;
    with `order`, what would make the trace again.
    """
    page: dict[str, object] = {
        "overview": overview_of(found),
        "rounds": rounds_of(found, first, first + PAGE),
    }
    if order is not None:
        page["order"] = order
    return gzip.compress(msgspec.json.encode(page), 4, mtime=0)


def _page_of(found: Found, request: Request) -> int:
    """Return the first round of the page that holds the round asked for."""
    wanted = min(number(request, "round", 0), max(0, len(found.trace.rounds) - 1))
    return wanted // PAGE * PAGE


def _rounds(found: Found, request: Request) -> Response:
    start = number(request, "from", 0)
    views = rounds_of(found, start, number(request, "to", start + PAGE))
    return packed_json(gzip.compress(msgspec.json.encode(views), 4, mtime=0))


def _file(found: Found, request: Request) -> Response:
    return download(dumps(found.trace), "application/gzip", f"draftscope-{found.name}.json.gz")


def _replay(found: Found, request: Request) -> Response:
    html = replay_html(found.trace, found.origin)
    return download(html.encode(), "text/html; charset=utf-8", f"draftscope-{found.name}.html")


def _table(found: Found, request: Request) -> Response:
    table = request.path_params["table"]
    if table not in ("rounds", "nodes", "darts"):
        return refused(404, "There are the tables rounds, nodes and darts.")
    return download(
        to_csv(found.trace, table).encode(),
        "text/csv; charset=utf-8",
        f"draftscope-{found.name}-{table}.csv",
    )
