"""What must hold inside the records of drafters: early layers with an adapter, a trimmed head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from core.consistency_common import equal
from core.extras import AdapterExtras, Extras, TrimExtras
from core.trace import Round

MAX_LAYERS = 4096  # of a model
MAX_VOCABULARY = 2**24


def drafter_problems(extra: Extras, r: Round) -> Iterator[str]:
    """Yield what is wrong with such a block; nothing for other blocks."""
    if isinstance(extra, AdapterExtras):
        yield from _adapter(extra, r)
    elif isinstance(extra, TrimExtras):
        yield from _trim(extra, r)


def _adapter(extra: AdapterExtras, r: Round) -> Iterator[str]:
    where = "extras, adapter"
    if not extra.exit_layer < extra.layers <= MAX_LAYERS:
        yield f"{where}: the exit lies before the last of at most {MAX_LAYERS:,} layers."
    if extra.taken > r.prefix_length:
        yield f"{where}: {extra.taken:,} tokens were taken in of {r.prefix_length:,}."
    yield from _in_order(where, extra.node, len(r.nodes.token))


def _trim(extra: TrimExtras, r: Round) -> Iterator[str]:
    where = "extras, trim"
    yield from equal(where, {"lost": extra.lost}, len(extra.node), "nodes")
    yield from equal(where, {"outside": extra.outside}, len(r.outcome.emitted), "emitted tokens")
    columns = {"count": extra.count, "share": extra.share}
    yield from equal(where, columns, len(extra.rank), "ranks")
    if extra.node != [0, *r.outcome.accepted]:
        yield f"{where}: its nodes are not those that the walk came by."
    if not extra.kept <= extra.size <= MAX_VOCABULARY:
        yield f"{where}: {extra.kept:,} tokens are kept of {extra.size:,}."
    if any(after <= before for before, after in pairwise([0, *extra.rank, extra.size + 1])):
        yield f"{where}: its ranks do not rise from 1 to {extra.size:,}."
    if any(after > before for before, after in pairwise([extra.counted, *extra.count])):
        yield f"{where}: its counts do not fall, or the first is more than was counted."
    if any(after < before for before, after in pairwise(extra.share)):
        yield f"{where}: its shares do not rise."


def _in_order(where: str, nodes: Sequence[int], size: int) -> Iterator[str]:
    if any(after <= before for before, after in pairwise([-1, *nodes, size])):
        yield f"{where}: its nodes are no nodes of the round in their order."
