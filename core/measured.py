"""What was measured for one target, drafter and temperature, kept as small JSON files.

Those of the default model come with the program (`assets/measured/`); what a user measures lies in
the user's cache and goes first. `python -m core.measure` makes them. A file may be old, cut short
or from a stranger: it is read within bounds, and what is wrong with it is told in one sentence.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from core.fields import Index
from core.models.folders import cache_root
from core.trace import ModelCard

SHIPPED = Path(__file__).parents[1] / "assets" / "measured"
AGAIN = "python -m core.measure acceptance"
_MOST_BYTES = 64 * 1024
_DECIMALS = 3  # of a temperature
_LONGEST = 80  # characters of a model's name in a file's

Count = Annotated[int, Meta(ge=0, le=10**9)]
Time = Annotated[float, Meta(gt=0, le=1e9)]
Name = Annotated[str, Meta(max_length=1024)]


class MeasuredError(ValueError):
    """A file of measured numbers cannot be used; one sentence says why and what to do."""


class Times(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Median times in milliseconds: of the target for `widths` tokens at once, 1 first, and of one
    forward of the drafter.
    """

    widths: Annotated[list[Annotated[int, Meta(ge=1, le=4096)]], Meta(min_length=2, max_length=64)]
    verify_ms: list[Time]
    draft_ms: Time
    processor: Name
    threads: Index

    @property
    def relative(self) -> dict[int, float]:
        """Time for n tokens over the time for one."""
        return {
            n: ms / self.verify_ms[0] for n, ms in zip(self.widths, self.verify_ms, strict=True)
        }

    @property
    def step(self) -> float:
        """Time of a forward of the drafter over the target's for one token."""
        return self.draft_ms / self.verify_ms[0]


class Acceptance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often child number 1, 2 ... of a node was the one that stayed.

    `rejected` counts the nodes where none did. Without `times`, none were measured.
    """

    version: Literal[1] = 1
    target: Name
    revision: Name | None
    drafter: Name
    temperature: Annotated[float, Meta(ge=0, le=2)]
    accepted: Annotated[list[Count], Meta(min_length=1, max_length=64)]
    rejected: Count
    prompts: Index
    seed: int
    created: Name
    times: Times | None = None

    @property
    def counted(self) -> int:
        return sum(self.accepted) + self.rejected

    @property
    def vector(self) -> tuple[float, ...]:
        """Chance of child number 1, 2 ... to be the one that stays."""
        return tuple(count / self.counted for count in self.accepted)


@dataclass(frozen=True, slots=True)
class Found:
    """`is_shipped`: came with the program. `is_same`: measured with these very weights. `times`:
    those of the pair, measured with this acceptance or else at another temperature.
    """

    acceptance: Acceptance
    is_shipped: bool
    is_same: bool
    times: Times | None


def folders() -> tuple[Path, Path]:
    """Return where files are looked for: the user's own folder first."""
    return cache_root() / "measured", SHIPPED


def drafter_key(name: str, draft: ModelCard | None) -> str:
    """Return the drafter as files name it: `skip-12-18`, `exit-28`, or the second model's name."""
    return f"model-{_slug(draft.id)}" if name == "model" and draft is not None else name


def find(
    target: ModelCard, drafter: str, temperature: float, where: Sequence[Path] | None = None
) -> Found | None:
    """Return what was measured for the pair at this temperature, or at the nearest to it.

    Greedy numbers fit no sampling and the other way round; times fit any temperature. Raises
    MeasuredError where a file that is looked into is damaged.
    """
    own, shipped = where or folders()
    known = [*_files(own, target.id, drafter), *_files(shipped, target.id, drafter)]
    known.sort(key=lambda entry: abs(entry[0] - temperature))
    best = next((file for t, file in known if (t == 0) == (temperature == 0)), None)
    if best is None:
        return None
    found = read(best)
    same = (found.target, found.revision) == (target.id, target.revision)
    others = (read(file).times for _, file in known if file.parent == own and file != best)
    times = found.times or next((each for each in others if each is not None), None)
    return Found(found, best.parent == shipped, same, times)


def file_name(target: str, drafter: str, temperature: float) -> str:
    """Return the name of the file for one target, drafter and temperature."""
    decimals = f"{temperature:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return f"{_stem(target, drafter)}{decimals}.json"


def read(path: Path) -> Acceptance:
    """Return the numbers in a file; raise MeasuredError with one sentence where it holds none."""
    if not path.is_file():
        raise _unfit(path, "it is no file")
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise _unfit(path, f"it cannot be read ({error.strerror})") from error
    if len(data) > _MOST_BYTES:
        raise _unfit(path, f"it has more than {_MOST_BYTES // 1024} KiB")
    try:
        found = msgspec.json.decode(data, type=Acceptance)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _unfit(path, str(error)[:200].rstrip(".")) from error
    for problem in _problems(found, path.name):
        raise _unfit(path, problem)
    return found


def write(found: Acceptance, path: Path) -> None:
    """Write a file, whole or not at all; its folder is made where it is missing.

    Raises MeasuredError where the numbers do not fit together or the disk refuses.
    """
    for problem in _problems(found, path.name):
        raise MeasuredError(f"{path.name} is not written: {problem}.")
    write_whole(msgspec.json.encode(found) + b"\n", path)


def write_whole(data: bytes, path: Path) -> None:
    """Write a small file, whole or not at all; its folder is made where it is missing. Raises
    MeasuredError where the disk refuses.
    """
    unfinished = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(path)
    except OSError as error:
        raise MeasuredError(f"{path.name} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            Path(unfinished).unlink()


def _files(folder: Path, target: str, drafter: str) -> Iterator[tuple[float, Path]]:
    """Yield temperature and path of the files for one pair."""
    pattern = re.compile(re.escape(_stem(target, drafter)) + r"([0-9](?:\.[0-9]{1,3})?)\.json")
    try:
        names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise MeasuredError(
            f"The folder {folder.name} cannot be read: {error.strerror}."
        ) from error
    for name in names:
        if match := pattern.fullmatch(name):
            yield float(match[1]), folder / name


def _problems(found: Acceptance, name: str) -> Iterator[str]:
    if found.counted == 0:
        yield "it counts no node"
    if round(found.temperature, _DECIMALS) != found.temperature:
        yield f"its temperature has more than {_DECIMALS} decimals"
    if name != file_name(found.target, found.drafter, found.temperature):
        yield "its numbers are for another target, drafter or temperature than its name says"
    if found.times is not None:
        widths = found.times.widths
        if widths != sorted(set(widths)) or widths[0] != 1:
            yield "its widths must rise from 1"
        if len(found.times.verify_ms) != len(widths):
            yield f"it has {len(found.times.verify_ms)} times for {len(widths)} widths"


def _unfit(path: Path, problem: str) -> MeasuredError:
    return MeasuredError(
        f"{path.name} holds no usable measurement: {problem}; delete it, or measure again with "
        f"`{AGAIN}`."
    )


def _stem(target: str, drafter: str) -> str:
    return f"acceptance-{_slug(target)}-{_slug(drafter)}-t"


def _slug(name: str) -> str:
    """Return a model's name without its owner and its number format, as a file can carry it."""
    bare = name.rsplit("/", 1)[-1].split(" ")[0].lower()
    return re.sub(r"[^a-z0-9.]+", "-", bare)[:_LONGEST].strip("-.") or "unnamed"
