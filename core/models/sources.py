"""What a person typed as a model, read as one of four sources. Opens no file and no connection.

A hosted Space serves strangers: there, only ids of an allow-list pass. A local run may name any hub
id, folder or GGUF file. Paths are told from hub ids by their form, never by what happens to lie in
the working directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.models.errors import ModelError

DEFAULT = "default"
ALLOWED_FORMS = (
    "a hub id such as 'HuggingFaceTB/SmolLM2-135M-Instruct', a folder such as './my-model' "
    "or a .gguf file"
)
SMOLLM2 = tuple(
    f"HuggingFaceTB/SmolLM2-{size}{kind}"
    for size in ("135M", "360M", "1.7B")
    for kind in ("", "-Instruct")
)
_LONGEST = 1024
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?"
_HUB_ID = re.compile(rf"({_PART}/{_PART})(?:@([A-Za-z0-9][A-Za-z0-9._/-]{{0,94}}))?")
_PATH = re.compile(r"[/~\\]|\.{1,2}(?:[/\\]|$)|[A-Za-z]:[/\\]")

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all (0 while unknown) and a sentence; what it raises cancels."""


def silent(done: int, total: int, sentence: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Default:
    """The small model that comes with the program."""


@dataclass(frozen=True, slots=True)
class Hub:
    repo: str
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path


@dataclass(frozen=True, slots=True)
class Gguf:
    path: Path


Source = Default | Hub | Folder | Gguf


@dataclass(frozen=True, slots=True)
class Weights:
    """Files on this disk that hold a model: a folder, or one GGUF in it. `id` shows no path."""

    id: str
    folder: Path
    gguf: str | None = None
    revision: str | None = None  # hub commit, or hash of the file


def parse_source(text: str, environ: Mapping[str, str] = os.environ) -> Source:
    """Return the source that `text` names.

    Raises ModelError if it has none of the allowed forms, or if the program runs as a Space
    (`SPACE_ID` is set) and the id is not in `DRAFTSCOPE_MODELS` (comma separated; the SmolLM2
    family where it is not set).
    """
    text = text.strip()
    if text in ("", DEFAULT):
        return Default()
    source = _parse(text)
    allowed = allowed_models(environ)
    if allowed is not None and text not in allowed:  # nor another revision: strangers open those
        raise ModelError(f"This hosted demo runs {', '.join(allowed)}: run it at home for others.")
    return source


def allowed_models(environ: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """Return the only hub ids that may be loaded here, or None where all may."""
    if not environ.get("SPACE_ID"):
        return None
    listed = environ.get("DRAFTSCOPE_MODELS", "").split(",")
    return tuple(name.strip() for name in listed if name.strip()) or SMOLLM2


def _parse(text: str) -> Source:
    if len(text) > _LONGEST or not text.isprintable():
        raise ModelError(
            f"A model's name has at most {_LONGEST} printable characters: write {ALLOWED_FORMS}."
        )
    if text.lower().endswith(".gguf"):
        return Gguf(_local(text))
    if _PATH.match(text):
        return Folder(_local(text))
    match = _HUB_ID.fullmatch(text)
    if match is None or ".." in text or "--" in match[1] or match[1].endswith(".git"):
        raise ModelError(f"{shown(text)} is not a model's name: write {ALLOWED_FORMS}.")
    return Hub(match[1], match[2])


def _local(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ModelError(f"{shown(text)} starts with an unknown user's folder.") from error


def shown(text: str) -> str:
    """Return `text` quoted for a sentence, cut after 80 characters."""
    return repr(text if len(text) <= 80 else text[:79] + "…")
