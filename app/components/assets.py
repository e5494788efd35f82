"""What custom components share: JavaScript from the file beside them, tags that load the page's."""

from __future__ import annotations

from pathlib import Path

from app.routes import assets

FOLDER = Path(__file__).resolve().parent


def script(name: str) -> str:
    """Return the JavaScript that a component runs when it is on the page."""
    return (FOLDER / name).read_text("utf-8")


def tags(*names: str) -> str:
    """Return the script tags of served assets, in order; a page loads each of them once."""
    return "".join(f'<script src="{assets()[name].url}"></script>' for name in names)


def style(name: str) -> str:
    """Return the tag of a served style sheet that only one page has."""
    return f'<link rel="stylesheet" href="{assets()[name].url}">'
