"""The widths of a level tree as a method's setting: bounded per level, in depth, and in all."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from core.shapes.levels import MAX_NODES, node_count

Width = Annotated[int, Field(ge=1, le=16)]


def _bounded(widths: tuple[int, ...]) -> tuple[int, ...]:
    if (nodes := node_count(widths)) > MAX_NODES:
        raise ValueError(f"it would have {nodes:,} nodes, and {MAX_NODES} are allowed")
    return widths


Widths = Annotated[tuple[Width, ...], Field(min_length=1, max_length=12), AfterValidator(_bounded)]
