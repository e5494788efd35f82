"""Tensors to plain numbers, with their types. Each call is a transfer: a round makes few."""

from __future__ import annotations

from typing import cast

from torch import Tensor


def floats(tensor: Tensor) -> list[float]:
    """Return a tensor (A,) as a list."""
    return cast(list[float], tensor.tolist())


def float_rows(tensor: Tensor) -> list[list[float]]:
    """Return a tensor (A, B) as rows."""
    return cast(list[list[float]], tensor.tolist())


def float_blocks(tensor: Tensor) -> list[list[list[float]]]:
    """Return a tensor (A, B, C) as rows of rows."""
    return cast(list[list[list[float]]], tensor.tolist())


def int_rows(tensor: Tensor) -> list[list[int]]:
    """Return whole numbers (A, B) as rows, whatever the dtype."""
    return cast(list[list[int]], tensor.long().tolist())
