"""The palette, and how a figure that names colours by key (`@accepted`) is painted with it.

The page replaces the keys by its own variables; a file or an image is painted here.
"""

from __future__ import annotations

from typing import cast

from viz.payload import Figure

LIGHT: dict[str, str] = {
    "paper": "#FBFAF7",
    "panel": "#F3F1EB",
    "ink": "#1B1E22",
    "mute": "#5C636B",
    "hair": "#DAD7CF",
    "faint": "#A9A69C",
    "law": "#1B1E22",
    "accepted": "#0A4DA8",
    "rejected": "#B23C06",
    "correction": "#6A2160",
    "bonus": "#2A9A78",
    "bonus-text": "#00735A",
    "relaxed": "#F0A518",
    "relaxed-text": "#7A5600",
    "kept": "#CFDDF1",
    "cut": "#F5DCCB",
    "sel": "#EAEFF7",
}
DARK: dict[str, str] = {
    "paper": "#14171A",
    "panel": "#1C2125",
    "ink": "#ECEAE4",
    "mute": "#A0A8B0",
    "hair": "#30373D",
    "faint": "#545D65",
    "law": "#C6CAC9",
    "accepted": "#5A94FF",
    "rejected": "#F09A35",
    "correction": "#DC52AA",
    "bonus": "#8CE3B9",
    "bonus-text": "#8CE3B9",
    "relaxed": "#EEEA92",
    "relaxed-text": "#EEEA92",
    "kept": "#233E70",
    "cut": "#4A2E1B",
    "sel": "#1D2736",
}


def painted(figure: Figure, palette: dict[str, str]) -> Figure:
    """Return a copy of the figure with colours in place of keys; raise KeyError at others."""
    return cast(Figure, _painted(figure, {f"@{key}": colour for key, colour in palette.items()}))


def _painted(value: object, colours: dict[str, str]) -> object:
    if isinstance(value, dict):
        return {
            key: _painted(item, colours) for key, item in cast(dict[str, object], value).items()
        }
    if isinstance(value, list):
        return [_painted(item, colours) for item in cast(list[object], value)]
    if isinstance(value, str) and value.startswith("@"):
        return colours[value]
    return value
