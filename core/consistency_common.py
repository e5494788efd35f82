"""What the checks of a round's blocks share: limits, columns of one length, masses and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite

MAX_NODES = 4096  # per round
LARGEST = 1e100  # of any number: sums and products of two stay finite
MASS_TOLERANCE = 1e-3  # laws hold rounded numbers

Column = Sequence[float | None]


def in_range(where: str, column: Column, low: float = 0, high: float = inf) -> Iterator[str]:
    """Yield a problem for each number outside `low` to `high`, not finite or huge; None is fine."""
    for value in column:
        if value is not None and not (low <= value <= high and abs(value) <= LARGEST):
            limits = "finite" if low == -inf else f"{low:g} or more" if high == inf else "in 0 to 1"
            huge = f", {LARGEST:g} at most" if isfinite(value) and abs(value) > LARGEST else ""
            yield f"{where}: it holds {value:g}; numbers there are {limits}{huge}."


def known(where: str, tokens: Iterable[int], vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    """Yield a problem when the vocabulary lacks one of `tokens`."""
    missing = set(tokens) - vocabulary.keys()
    if missing:
        yield f"{where}: token {min(missing)} is missing from the vocabulary of the trace."


def once(where: str, tokens: Sequence[int]) -> Iterator[str]:
    """Yield a problem when a token stands there twice."""
    if len(set(tokens)) < len(tokens):
        yield f"{where}: a token stands there twice."


def equal(where: str, columns: Mapping[str, Sequence[object]], size: int, of: str) -> Iterator[str]:
    """Yield a problem for each column that has not one entry per node, token ..."""
    for name, column in columns.items():
        if len(column) != size:
            yield f"{where}: {name} has {len(column)} entries for {size} {of}."


def masses(
    where: str, tokens: Sequence[int], column: Sequence[float], rest: float
) -> Iterator[str]:
    """Yield what keeps the masses of `tokens`, and `rest` for all others, from being a law."""
    yield from equal(where, {"it": column}, len(tokens), "tokens")
    yield from in_range(where, [*column, rest], high=1)
    if sum(column) + rest > 1 + MASS_TOLERANCE:
        yield f"{where}: the mass adds up to {sum(column) + rest:.4g}; at most 1 is allowed."
