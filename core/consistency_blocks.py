"""What must hold inside a round's method blocks: one of a kind, bounded, of the round that they
are in.

Larger kinds have a module of their own: trees, plans, rules, bounds, drafters, heads that look
ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from core.consistency_ahead import ahead_problems
from core.consistency_bounds import bound_problems
from core.consistency_common import LARGEST, MAX_NODES, equal, known
from core.consistency_drafters import MAX_LAYERS, drafter_problems
from core.consistency_plans import plan_problems
from core.consistency_rules import rule_problems
from core.consistency_trees import tree_problems
from core.extras import (
    DecisionExtras,
    Extras,
    FeatureExtras,
    LayersExtras,
    LevelsExtras,
    LookupExtras,
    TypicalExtras,
    tokens_of,
)
from core.trace import Round

MAX_ENTRIES = MAX_NODES  # of a list


def block_problems(r: Round, vocabulary: Mapping[int, bytes]) -> Iterator[str]:
    """Yield what is wrong with the blocks of a round. Only the first problem counts."""
    kinds = [type(extra) for extra in r.extras]
    if len(set(kinds)) < len(kinds):
        yield "extras: two blocks are of one kind; a round has one of each at most."
    for extra in r.extras:
        yield from _bounded("extras", extra)
        yield from tree_problems(extra, r.nodes)
        yield from plan_problems(extra, r.nodes)
        yield from rule_problems(extra, r.nodes)
        yield from bound_problems(extra, r.nodes)
        yield from ahead_problems(extra, r.nodes)
        yield from drafter_problems(extra, r)
        yield from _small(extra, r)
        yield from known("extras", tokens_of(extra), vocabulary)


def _bounded(where: str, value: object) -> Iterator[str]:
    """Yield a problem for each number inside `value`, however deep, that is not finite or huge, and
    for each long list.
    """
    if isinstance(value, float) and not abs(value) <= LARGEST:
        yield f"{where}: it holds {value:g}; numbers there are finite, {LARGEST:g} at most."
    elif isinstance(value, Struct):
        for name, part in asdict(value).items():
            yield from _bounded(f"{where}, {name}", part)
    elif isinstance(value, (list, tuple)):
        parts = cast(Sequence[object], value)
        if len(parts) > MAX_ENTRIES:
            yield f"{where}: it has {len(parts):,} entries; {MAX_ENTRIES:,} are allowed."
        for part in parts:
            yield from _bounded(where, part)


def _small(extra: Extras, r: Round) -> Iterator[str]:
    size = len(r.nodes.token)
    if isinstance(extra, LayersExtras):
        yield from _layers(extra)
    elif isinstance(extra, LookupExtras):
        yield from _spans(extra, r.prefix_length)
    elif isinstance(extra, LevelsExtras) and len(extra.widths) < r.max_depth:
        yield f"extras: there are {len(extra.widths)} widths for a draft {r.max_depth} levels deep."
    elif isinstance(extra, TypicalExtras):
        columns = {"entropy": extra.entropy, "passed": extra.passed}
        yield from equal("extras", columns, size, "nodes")
    elif isinstance(extra, FeatureExtras):
        yield from _features(extra, r)
    elif isinstance(extra, DecisionExtras):
        yield from equal("extras", {"score": extra.score}, size, "nodes")


def _layers(extra: LayersExtras) -> Iterator[str]:
    if extra.total > MAX_LAYERS:
        yield f"extras: there are {extra.total:,} layers; {MAX_LAYERS:,} are allowed."
    skipped = [*extra.skipped_attention, *extra.skipped_mlp]
    if any(layer >= extra.total for layer in skipped):
        yield f"extras: a skipped layer is outside 0 to {extra.total - 1}."
    if max(extra.exit_layer or 0, extra.shared) > extra.total:
        yield f"extras: exit_layer and shared may be at most {extra.total}, the layers in all."


def _features(extra: FeatureExtras, r: Round) -> Iterator[str]:
    columns = {"cosine": extra.cosine, "length": extra.length}
    yield from equal("extras, features", columns, len(extra.node), "nodes")
    nodes = [-1, *extra.node, len(r.nodes.token)]
    if any(after <= before for before, after in pairwise(nodes)):
        yield "extras, features: its nodes are no nodes of the round in their order."
    if any(not -1 <= value <= 1 for value in extra.cosine):
        yield "extras, features: a cosine is outside -1 to 1."
    if max(extra.layers, *extra.taps, 0) > min(extra.layers, MAX_LAYERS):
        yield f"extras, features: a target has at most {MAX_LAYERS:,} layers, its taps among them."
    if extra.settled > r.prefix_length:
        yield f"extras, features: {extra.settled:,} pairs ran of {r.prefix_length:,} tokens."


def _spans(extra: LookupExtras, end: int) -> Iterator[str]:
    """Yield a problem for what was matched or copied from outside the `end` tokens of the text."""
    spans = ((extra.match_start, extra.ngram), (extra.copy_start, extra.copy_length))
    for start, length in spans:
        if (start is not None and start >= end) or (start or 0) + length > end:
            yield f"extras: a lookup position is outside the text, 0 to {end - 1}."
