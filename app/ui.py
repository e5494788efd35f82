"""The app: all pages in one Blocks, and how it is served. Building it loads no model, no torch."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.themes import Base

from app.address import address
from app.api import endpoints
from app.comparisons import FOLDER as COMPARISONS
from app.comparisons import RecordedComparisons
from app.engines import Engines
from app.limits import Limits, limits_of
from app.pages.compare import NAME as COMPARE
from app.pages.compare import PATH as COMPARE_PATH
from app.pages.compare import compare
from app.pages.explore import NAME as EXPLORE
from app.pages.explore import explore
from app.pages.methods import NAME as METHODS
from app.pages.methods import PATH as METHODS_PATH
from app.pages.methods import methods
from app.recordings import FOLDER, Recordings
from app.routes import APP, assets, mount
from app.studio import Studio
from app.tools import answer_in_json

_ABOUT = "Speculative decoding under the microscope: every drafting round, drawn and steppable."
_SANS = ("-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
PAGES = (
    (EXPLORE, "./"),
    (COMPARE, f"./{COMPARE_PATH}"),
    (METHODS, f"./{METHODS_PATH}"),
)  # name and address of each page that exists


class App(gr.Blocks):
    """Draftscope as Gradio Blocks; `launch` serves it with its own scripts, style and routes."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(
            title="Draftscope", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)
        )
        self.studio = studio

    def launch(self, *args: Any, **options: Any) -> Any:
        """Serve on GRADIO_SERVER_PORT (7860), on this machine only unless it is a Space.

        `options` are Gradio's and win over ours. Raises SystemExit with one sentence where the port
        is taken.
        """
        host, port = address(os.environ)
        given: dict[str, Any] = {"server_name": host, "server_port": port, **options}
        check_free(given["server_name"], given["server_port"])
        return super().launch(*args, **{**_served(self), **given})


def build(
    engines: Engines | None = None,
    limits: Limits | None = None,
    recordings: Path = FOLDER,
    comparisons: Path = COMPARISONS,
) -> App:
    """Return the app; `engines` gives models, else this machine's are loaded when first wanted."""
    studio = Studio(
        limits or limits_of(os.environ),
        engines,
        Recordings(recordings),
        RecordedComparisons(comparisons),
    )
    pages = [{"name": name, "href": href} for name, href in PAGES]
    with App(studio) as app:
        explore(studio, pages)
        endpoints(studio)
        app.unload(_forget(studio))
    with app.route(COMPARE, COMPARE_PATH, show_in_navbar=False):
        compare(studio, pages)
    with app.route(METHODS, METHODS_PATH, show_in_navbar=False):
        methods(studio, pages)
    app.queue(default_concurrency_limit=studio.limits.runs_at_once)
    return app


def check_free(host: str, port: int) -> None:
    """Raise SystemExit with one sentence if something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SystemExit(
                f"Port {port} cannot be used ({(error.strerror or str(error)).lower()}): "
                "stop what listens there, or set GRADIO_SERVER_PORT to another port."
            ) from None


def _forget(studio: Studio) -> Callable[[gr.Request], None]:
    def forget(request: gr.Request) -> None:
        studio.shelf.forget(request.session_hash or "")

    return forget


def _served(app: App) -> dict[str, Any]:
    """Return what `launch` needs of us: look, routes, and nothing of Gradio's own frame."""
    studio = app.studio

    @asynccontextmanager
    async def started(_: object) -> AsyncGenerator[None]:
        if app.mcp_server_obj is not None:
            answer_in_json(app.mcp_server_obj)
        yield

    style, page, chart = (assets()[name].url for name in ("page.css", "page.js", "plotly.js"))
    return {
        "head": f'<meta name="description" content="{_ABOUT}">'
        f'<meta property="og:description" content="{_ABOUT}">'
        f'<link rel="stylesheet" href="{style}">'
        f'<link rel="preload" as="script" href="{page}">'
        f'<link rel="preload" as="script" href="{chart}">',
        "theme": Base(font=list(_SANS), font_mono=["monospace"]),
        "app_kwargs": {"routes": [mount(studio)], "lifespan": started},
        "favicon_path": str(APP / "favicon.png"),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "share": False,
        "quiet": True,
        "pwa": False,
        "mcp_server": True,
        "max_file_size": studio.limits.file_bytes,
    }
