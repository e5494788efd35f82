"""Folders that are costly to make and kept between runs. Knows nothing of models.

A folder appears whole or not at all: it is built beside its place, described by a manifest, flushed
and renamed. Two processes that want the same folder meet at a lock; the second finds the work done.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout
from platformdirs import user_cache_path

MANIFEST = "manifest.json"
_PATIENCE = 900  # seconds to wait for another process


class Entry(msgspec.Struct, frozen=True):
    size: int
    mtime_ns: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    files: dict[str, Entry]


def cache_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for all kept folders: `DRAFTSCOPE_CACHE`, or the user's cache."""
    chosen = environ.get("DRAFTSCOPE_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("draftscope", appauthor=False)


def cached_folder(
    root: Path, name: str, build: Callable[[Path], None], waiting: Callable[[], None]
) -> Path:
    """Return `root/name`; if it is missing or damaged, `build` fills a folder that takes its place.

    `waiting` is called once if another process is building it. Raises OSError if `root` cannot be
    written or the other process does not end; whatever `build` raises leaves the old state.
    """
    folder = root / name
    if is_intact(folder):
        return folder
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting()
        lock.acquire(timeout=_PATIENCE)
    with lock:
        lock.release()  # `with` counts one more
        if not is_intact(folder):
            _rebuild(folder, build)
    return folder


def is_intact(folder: Path) -> bool:
    """Tell whether `folder` holds exactly the files of its manifest, unchanged.

    Size and time of change decide; a file whose time differs is hashed: copies stay valid.
    """
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        names = {entry.name for entry in folder.iterdir()} - {MANIFEST}
        return names == manifest.files.keys() and all(
            _is_unchanged(folder / file, entry) for file, entry in manifest.files.items()
        )
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False


def sha256(file: Path) -> str:
    """Return the hash of `file` in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_unchanged(file: Path, entry: Entry) -> bool:
    found = file.stat()
    if found.st_size != entry.size:
        return False
    return found.st_mtime_ns == entry.mtime_ns or sha256(file) == entry.sha256


def _rebuild(folder: Path, build: Callable[[Path], None]) -> None:
    for leftover in folder.parent.glob(f"{folder.name}.part-*"):  # of processes that were killed
        shutil.rmtree(leftover)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        build(part)
        _seal(part)
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
        _flush(folder.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _seal(folder: Path) -> None:
    files: dict[str, Entry] = {}
    for file in sorted(folder.iterdir()):
        _flush(file)
        state = file.stat()
        files[file.name] = Entry(state.st_size, state.st_mtime_ns, sha256(file))
    (folder / MANIFEST).write_bytes(msgspec.json.encode(Manifest(files)))
    _flush(folder / MANIFEST)
    _flush(folder)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
