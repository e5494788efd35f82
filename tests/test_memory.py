"""Freed memory stays at hand where the C library can be told so, and nowhere else is anything
touched.
"""

from __future__ import annotations

import platform

import pytest

from core.models.memory import keep_freed_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has these settings")
def test_glibc_takes_the_advice() -> None:
    assert keep_freed_memory()


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_to_load(name: None) -> None:
        raise AssertionError("no library may be asked")

    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr("core.models.memory.ctypes.CDLL", none_to_load)
    assert not keep_freed_memory()
