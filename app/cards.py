"""The methods as the catalogue is given them: read from the registry into a file, so that the page
stands without torch (`python -m app.readme` writes it), and the last measurement beside it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from app.commands.parameters import Parameter, allowed, parameters, written
from viz.catalogue import catalogue
from viz.method_entry import Entries, Entry, Measurement, Piece, PlannedEntry, Reported, Setting

if TYPE_CHECKING:
    from core.registry import Method

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "assets" / "methods.json"
MEASURED = ROOT / "benchmarks" / "methods.json"


@cache
def entries() -> Entries:
    """Return the methods of the file."""
    return msgspec.json.decode(FILE.read_bytes(), type=Entries)


@cache
def measurement() -> Measurement | None:
    """Return the last measurement that came along, None where there is none."""
    if not MEASURED.exists():
        return None
    return msgspec.json.decode(MEASURED.read_bytes(), type=Measurement)


def methods_json() -> str:
    """Return what the page shows."""
    return msgspec.json.encode(catalogue(entries(), measurement())).decode()


def described() -> Entries:
    """Return the methods of the registry. The first call imports torch."""
    from core.planned import PLANNED  # late: see above
    from core.registry import Family, methods

    return Entries(
        families=list(get_args(Family)),
        methods=[entry(method) for method in methods().values()],
        planned=[
            PlannedEntry(each.key, each.name, each.paper, each.url, each.family, each.idea)
            for each in PLANNED
        ],
    )


def entry(method: Method) -> Entry:
    """Return what the catalogue tells of one method."""
    from core.catalogue import Kind, named  # late: as above

    keys: dict[Kind, str] = {kind: getattr(method.parts, kind) for kind in get_args(Kind)}
    parts = {kind: named(kind, key) for kind, key in keys.items() if key}
    return Entry(
        key=method.key,
        name=method.name,
        idea=method.idea,
        citation=method.citation,
        about=_about(method),
        paper=method.paper,
        url=method.url,
        year=method.year,
        family=method.family,
        lossless=method.lossless,
        trained=method.trained,
        parts={kind: Piece(part.key, part.name, part.idea) for kind, part in parts.items()},
        any_drafter="drafter" in method.config.model_fields,
        reported=[Reported(each.number, each.counts, each.on) for each in method.reported],
        settings=[_setting(parameter) for parameter in parameters(method.config)],
    )


def in_json(found: Entries) -> str:
    """Return the file's text."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n"


def _about(method: Method) -> str:
    """Return what the method's file says beside idea and citation."""
    blocks = method.about.split("\n\n")
    return "\n\n".join(block for block in blocks if " ".join(block.split()) != method.citation)


def _setting(parameter: Parameter) -> Setting:
    told = (allowed(parameter), parameter.description.rstrip("."))
    words = ". ".join(filter(None, told))
    return Setting(f"{parameter.name}={written(parameter.default)}", words)
