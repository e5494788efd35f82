"""What single methods add to a round's record, one block per family, so that each method's own
picture can be drawn from the trace alone.

Columns that describe the nodes of a tree count as the round's nodes do, those not offered included.
A field called `token` holds token ids, however nested, and no other field does: the trace's
vocabulary is collected from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from core.fields import Index, Record


class LookupExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="lookup"):
    """Prompt lookup: the n-gram at the end of the text and where it was found; positions count all
    tokens of the text.
    """

    ngram: Index  # tokens matched, 0 when nothing was found
    match_start: Index | None
    copy_start: Index | None  # first copied position
    copy_length: Index


class LayersExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="layers"):
    """Drafting with a part of the target: which of its layers ran."""

    total: Index
    skipped_attention: list[Index]
    skipped_mlp: list[Index]
    exit_layer: Index | None  # layers run before the early exit
    shared: Index  # first layers whose keys, values and states the verify call takes over


Extras = LookupExtras | LayersExtras


def tokens_of(block: object) -> Iterator[int]:
    """Yield every token id that a block, or a list of blocks, names."""
    if isinstance(block, Struct):
        for name, part in asdict(block).items():
            yield from _ids(part) if name == "token" else tokens_of(part)
    elif isinstance(block, (list, tuple)):
        for part in cast(Sequence[object], block):
            yield from tokens_of(part)


def _ids(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in cast(Sequence[object], value):
            yield from _ids(part)
