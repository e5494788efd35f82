"""The types that the record's blocks are built from."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Index = Annotated[int, Meta(ge=0, le=2**53 - 1)]  # up to what a browser's numbers hold exactly
Probability = Annotated[float, Meta(ge=0, le=1)]
Cosine = Annotated[float, Meta(ge=-1, le=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Milliseconds = Annotated[float, Meta(ge=0, le=1e12)]


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every block: immutable, strict about unknown fields."""
