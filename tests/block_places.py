"""Where things are in a method block: which columns go together, which numbers name a place.

Keyed by struct, nested ones included, since a block is checked struct by struct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from core.extras import (
    AccuracyTreeExtras,
    AdapterExtras,
    BlockExtras,
    DecisionExtras,
    Duel,
    DySpecExtras,
    FeatureExtras,
    Glance,
    Hidden,
    KSeqNode,
    LayersExtras,
    LookupExtras,
    OptLayer,
    Pick,
    PoolExtras,
    PrefixLine,
    PrefixNode,
    PrefixWay,
    SequoiaExtras,
    StaticExtras,
    TransportNode,
    TrimExtras,
    TypicalExtras,
)

Path: TypeAlias = "tuple[str | int, ...]"

COLUMNS: Mapping[type[Struct], Sequence[str]] = {
    AccuracyTreeExtras: ("tree_parent", "tree_rank", "value"),
    BlockExtras: ("node", "ratio", "joint", "left", "stays"),
    DecisionExtras: ("score",),
    DySpecExtras: (
        *("node", "parent", "rank", "value", "forward"),
        *("open_parent", "open_rank", "open_value"),
    ),
    FeatureExtras: ("node", "cosine", "length"),
    Glance: ("token", "q"),
    Hidden: ("token", "q"),
    KSeqNode: ("grid", "reach", "spent"),
    OptLayer: ("token", "parent", "value", "node"),
    Pick: ("chance", "token", "p", "picked", "q"),
    PoolExtras: ("token", "parent", "step", "score", "frontier", "node"),
    PrefixLine: ("mass", "target", "token", "begin", "end"),
    PrefixWay: ("inside",),
    SequoiaExtras: ("tree_parent", "tree_rank"),
    StaticExtras: ("ranks",),
    TransportNode: ("token", "size", "p", "q", "sets", "mass", "by_plan", "by_k_seq"),
    TrimExtras: ("rank", "count", "share", "node", "lost", "outside"),
    TypicalExtras: ("entropy", "passed"),
}
PLACES: Mapping[type[Struct], Sequence[str]] = {  # and what a view counts up to
    AccuracyTreeExtras: ("tree_parent", "tree_rank"),
    AdapterExtras: ("layers", "exit_layer", "taken", "node"),
    BlockExtras: ("node", "kept", "kept_alone"),
    Duel: ("held", "new"),
    DySpecExtras: ("node", "parent", "open_parent"),
    FeatureExtras: ("node", "taps", "layers", "settled"),
    Glance: ("token",),
    Hidden: ("node", "token"),
    KSeqNode: ("node", "drafts"),
    LayersExtras: ("total", "skipped_attention", "skipped_mlp", "exit_layer", "shared"),
    LookupExtras: ("match_start", "copy_start", "copy_length"),
    OptLayer: ("parent", "node", "token"),
    Pick: ("node", "candidates", "selected", "used", "free", "token"),
    PoolExtras: ("parent", "step", "node", "token"),
    PrefixLine: ("token",),
    PrefixNode: ("node", "drafts", "fixed"),
    PrefixWay: ("widest",),
    SequoiaExtras: ("tree_parent", "tree_rank"),
    TransportNode: ("node", "drafts", "token", "free", "sets", "drawn"),
    TrimExtras: ("kept", "rank", "node"),
}


@dataclass(frozen=True)
class Spot:
    """A value inside a block: its struct, the field, the way there."""

    owner: type[Struct]
    field: str
    path: Path
    value: object


def spots(block: Struct, path: Path = ()) -> Iterator[Spot]:
    """Yield every field of a block and of the structs in it, and every entry of their lists."""
    for name, value in asdict(block).items():
        yield from _inside(type(block), name, (*path, name), value)


def _inside(owner: type[Struct], field: str, path: Path, value: object) -> Iterator[Spot]:
    yield Spot(owner, field, path, value)
    if isinstance(value, list):
        for place, part in enumerate(value):
            if isinstance(part, Struct):
                yield from spots(part, (*path, place))
            else:
                yield from _inside(owner, field, (*path, place), part)


def altered(value: object, path: Path, new: object) -> object:
    """Return a copy of a block, or of a list in it, with the value at `path` replaced."""
    if not path:
        return new
    step, *rest = path
    if isinstance(step, str):
        return replace(value, **{step: altered(getattr(value, step), tuple(rest), new)})
    assert isinstance(value, list)
    return [altered(x, tuple(rest), new) if i == step else x for i, x in enumerate(value)]
