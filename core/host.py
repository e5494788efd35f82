"""Tensors to plain numbers, with their types. Each call is a transfer: a round makes few."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Numbers = Tensor | NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]


def floats(numbers: Numbers) -> list[float]:
    """Return a tensor (A,) as a list."""
    return cast(list[float], numbers.tolist())


def float_rows(numbers: Numbers) -> list[list[float]]:
    """Return a tensor (A, B) as rows."""
    return cast(list[list[float]], numbers.tolist())


def float_blocks(numbers: Numbers) -> list[list[list[float]]]:
    """Return a tensor (A, B, C) as rows of rows."""
    return cast(list[list[list[float]]], numbers.tolist())


def int_rows(numbers: Numbers) -> list[list[int]]:
    """Return whole numbers (A, B) as rows, whatever the dtype."""
    whole = numbers.long() if isinstance(numbers, Tensor) else numbers.astype(np.int64)
    return cast(list[list[int]], whole.tolist())


def bool_rows(numbers: Numbers) -> list[list[bool]]:
    """Return marks (A, B) as rows."""
    return cast(list[list[bool]], numbers.tolist())
