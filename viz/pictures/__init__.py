"""The method's own pictures of a round. Every module here draws one; to add one, add a file.

`draw` returns None for rounds that it has nothing to say about. `ORDER` sorts them, low first:
those made for one family of methods stand before those that fit many.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import cast

from viz.payload import Picture
from viz.reading import Reading

Draw = Callable[[Reading], Picture | None]


def pictures(reading: Reading) -> list[Picture]:
    """Return the pictures that have something to say about a round, the most particular first."""
    return [found for draw in _drawers() if (found := draw(reading)) is not None]


@cache
def _drawers() -> tuple[Draw, ...]:
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    modules.sort(key=lambda module: cast(int, module.ORDER))
    return tuple(cast(Draw, module.draw) for module in modules)
