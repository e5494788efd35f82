"""A trace as one HTML file that works offline: the Explore page with all that it needs inside.

Knows how the parts are packed, not what they show. The file names no host, and its policy forbids
the browser to ask one.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import cast

from core.trace import Trace
from viz.packing import Json, packed
from viz.replay_data import ExplorePayload, explore_payload

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SCRIPTS = (
    "dom",
    "pages",
    "bus",
    "theme",
    "measure",
    "cue",
    "label",
    "glyphs",
    "strip_text",
    "card",
    "strip",
    "scrubber",
    "fold",
    "tree_layout",
    "tree_edges",
    "tree_words",
    "tree",
    "tree_panel",
    "ledger",
    "board",
    "laws",
    "inspector",
    "outline",
    "chart_fit",
    "chart",
    "draft_size",
    "pictures",
    "player",
    "keyboard",
    "share",
    "export",
    "states",
    "header",
    "side",
    "dock",
    "explore",
)  # in the order in which they need each other
_CARRIED = "carried"
_FRAME_HEIGHT = 900  # px of the notebook's frame


def page_script() -> str:
    """Return the page's scripts as one classic script."""
    return _scripts(SCRIPTS)


def page_style() -> str:
    """Return the page's style sheet; all of it is scoped under the class `ds`."""
    return (ASSETS / "style.css").read_text("utf-8")


@cache
def chart_library() -> str:
    """Return plotly.js as it comes with the plotly package."""
    return resources.files("plotly").joinpath("package_data/plotly.min.js").read_text("utf-8")


def replay_html(trace: Trace, origin: str = "") -> str:
    """Return the trace as one HTML document of about 2 MB that opens from disk and asks no host.

    `origin` opens the source line, `Recorded example` say.
    """
    return replay_page(explore_payload(trace, origin))


def notebook_html(trace: Trace, height: int = _FRAME_HEIGHT) -> str:
    """Return the replay in a frame `height` px high, for the output of a notebook cell."""
    page = html.escape(replay_html(trace), quote=True)
    title = html.escape(trace.title or "Draftscope replay", quote=True)
    style = f"width:100%;height:{height}px;border:0"
    return f'<iframe title="{title}" style="{style}" srcdoc="{page}"></iframe>'


def replay_page(payload: ExplorePayload) -> str:
    """Return the document around a payload."""
    title = payload["overview"]["title"]
    return document(title, cast(Json, payload), "replay")


def document(
    title: str, payload: Json, opener: str, more_script: str = "", more_style: str = ""
) -> str:
    """Return an HTML document that carries scripts, chart library and `payload`; the script
    `opener` mounts what it finds. `more_script`, `more_style`: what the page needs beside those of
    every page.
    """
    script = f"{page_script()}\n{more_script}\n{_scripts((_CARRIED, opener))}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy([script, chart_library()])}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{html.escape(title)} · Draftscope</title>
<style>{page_style()}
{more_style}</style>
</head>
<body style="margin:0">
<div id="ds-page"><noscript>This page needs JavaScript.</noscript></div>
<script type="text/plain" id="ds-payload">{_packed(_columns(payload))}</script>
<script type="text/plain" id="ds-plotly">{_packed_library()}</script>
<script>{script}</script>
</body>
</html>
"""


def _scripts(names: Sequence[str]) -> str:
    return "\n".join((ASSETS / "js" / f"{name}.js").read_text("utf-8") for name in names)


def _policy(scripts: Sequence[str]) -> str:
    """Return a policy under which only these scripts run and nothing is fetched."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _packed_library() -> str:
    return _packed(chart_library())


def _columns(payload: Json) -> str:
    return json.dumps(packed(payload), allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    """Return the text compressed, in an alphabet in which no markup can be written."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
