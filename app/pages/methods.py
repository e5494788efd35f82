"""Methods: the catalogue. It needs no model and no torch: its entries are read from a file."""

from __future__ import annotations

from app.card_rounds import recorded_keys
from app.components.methods import MethodsCatalogue
from app.routes import PREFIX, assets
from app.studio import Studio

NAME = "Methods"
PATH = "methods"


def methods(studio: Studio, pages: list[dict[str, str]]) -> None:
    """Build the page inside the current Blocks. `pages` are the entries of the navigation."""
    MethodsCatalogue(
        settings={
            "prefix": PREFIX,
            "catalogue": assets()["methods.json"].url,
            "recorded": recorded_keys(studio.recordings),
            "plotly": assets()["plotly.js"].url,
            "pages": pages,
            "linkCharacters": studio.limits.link_characters,
            "examples": [
                {"key": recording.key, "prompt": recording.order["prompt"]}
                for recording in studio.recordings.all.values()
            ],
        },
        elem_id="methods",
    )
