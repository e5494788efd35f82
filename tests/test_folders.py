"""Kept folders: whole or absent, built once, rebuilt when damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.models.folders import MANIFEST, cache_root, cached_folder, is_intact


def never() -> None:
    raise AssertionError("nobody else builds")


def build(folder: Path) -> None:
    (folder / "a").write_bytes(b"aaaa")
    (folder / "b").write_bytes(b"bb")


def refuse(folder: Path) -> None:
    raise AssertionError("an intact folder is not built again")


def alter(file: Path) -> None:
    file.write_bytes(b"aaxa")
    os.utime(file, ns=(0, 0))


def test_a_folder_is_built_once(tmp_path: Path) -> None:
    folder = cached_folder(tmp_path / "new" / "root", "it", build, never)
    assert (folder / "a").read_bytes() == b"aaaa"
    assert cached_folder(tmp_path / "new" / "root", "it", refuse, never) == folder


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda folder: (folder / "a").unlink(),
    "truncated": lambda folder: os.truncate(folder / "a", 2),
    "altered": lambda folder: alter(folder / "a"),
    "added": lambda folder: (folder / "adapter_config.json").write_text("{}"),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "empty manifest": lambda folder: (folder / MANIFEST).write_bytes(b""),
    "other manifest": lambda folder: (folder / MANIFEST).write_bytes(b'{"files":{"a":1}}'),
    "no text": lambda folder: (folder / MANIFEST).write_bytes(b'{"files":{"\xff":1}}'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_folder_is_rebuilt(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    folder = cached_folder(tmp_path, "it", build, never)
    damage(folder)
    assert not is_intact(folder)
    cached_folder(tmp_path, "it", build, never)
    assert is_intact(folder)
    assert sorted(file.name for file in folder.iterdir()) == ["a", "b", MANIFEST]


def test_a_copy_is_intact(tmp_path: Path) -> None:
    folder = cached_folder(tmp_path, "it", build, never)
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    assert is_intact(tmp_path / "copy")


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        build(folder)
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        cached_folder(tmp_path, "it", fail, never)
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == []
    assert is_intact(cached_folder(tmp_path, "it", build, never))


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "it.part-dead").mkdir()
    (tmp_path / "other.part-alive").mkdir()
    cached_folder(tmp_path, "it", build, never)
    assert sorted(e.name for e in tmp_path.iterdir() if e.is_dir()) == ["it", "other.part-alive"]


def test_processes_that_start_together_build_once(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from core.models.folders import cached_folder
def build(folder):
    with open({str(tmp_path / "built")!r}, "a") as log: log.write("x")
    time.sleep(0.5)
    (folder / "a").write_bytes(b"aaaa")
def waiting():
    with open({str(tmp_path / "waited")!r}, "a") as log: log.write("x")
assert (cached_folder(Path({str(tmp_path)!r}), "it", build, waiting) / "a").exists()
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(timeout=30) for process in running] == [0, 0, 0]
    assert (tmp_path / "built").read_text() == "x"
    assert (tmp_path / "waited").read_text() in ("x", "xx")


def test_the_environment_chooses_the_place() -> None:
    assert cache_root({"DRAFTSCOPE_CACHE": "/srv/kept"}) == Path("/srv/kept")
    assert cache_root({}).name == "draftscope"
