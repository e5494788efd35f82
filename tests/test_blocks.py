"""Method blocks: each is written and read back, and what is wrong in one is said in a sentence."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from math import inf, nan
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.consistency_blocks import MAX_ENTRIES, MAX_LAYERS
from core.consistency_common import LARGEST, MAX_NODES
from core.extras import (
    DySpecExtras,
    Extras,
    LayersExtras,
    OptTreeExtras,
    PoolExtras,
    SelectionExtras,
    StaticExtras,
    SvipExtras,
    TransportExtras,
)
from core.trace import Round, Trace
from core.trace_io import dumps, loads
from core.validate import TraceError, validate, validate_round
from tests.block_places import COLUMNS, PLACES, Spot, altered, spots
from tests.made_blocks import MAKERS
from tests.traces import random_trace

KINDS = pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
seeds = st.integers(0, 2**32)


def one_block(kind: type[Extras], seed: int) -> tuple[Trace, Extras]:
    """Return a trace of one round, and its block."""
    trace = random_trace(Random(seed), rounds=1, kinds=(kind,))
    (block,) = trace.rounds[0].extras
    return trace, block


def refusal(trace: Trace, *blocks: object) -> str:
    """Return the sentence with which the trace's round is refused, with these blocks in it."""
    with pytest.raises(TraceError) as caught:
        validate_round(replace(trace.rounds[0], extras=list(blocks)), trace.vocabulary)
    sentence = f"Round 0, {caught.value}"
    assert is_sentence(sentence)
    return sentence


def is_sentence(text: str) -> bool:
    return len(text) < 400 and text.endswith(".") and text[0].isupper() and "\n" not in text


def some(block: Extras, seed: int, wanted: Callable[[Spot], bool]) -> list[Spot]:
    """Return a few of the places in a block for which `wanted` holds."""
    found = [spot for spot in spots(block) if wanted(spot)]
    return Random(seed).sample(found, min(4, len(found)))


def is_column(spot: Spot) -> bool:
    is_whole = spot.path[-1] == spot.field and isinstance(spot.value, list)
    return is_whole and spot.field in COLUMNS.get(spot.owner, ())


def is_place(spot: Spot) -> bool:
    return isinstance(spot.value, int) and spot.field in PLACES.get(spot.owner, ())


def longer_or_shorter(spot: Spot) -> list[object]:
    assert isinstance(spot.value, list)
    return [spot.value * 2 or [0], spot.value[:-1]] if spot.value else [[0]]


def test_every_block_has_a_maker() -> None:
    """A new member of the union must be made up here, so that all tests below hold for it."""
    assert set(MAKERS) == set(get_args(Extras))
    seen = {
        type(block)
        for seed in range(60)
        for r in random_trace(Random(seed)).rounds
        for block in r.extras
    }
    assert seen == set(MAKERS)


@KINDS
@settings(max_examples=40)
@given(seed=seeds)
def test_a_block_is_valid_and_read_back(kind: type[Extras], seed: int) -> None:
    trace, _ = one_block(kind, seed)
    validate(trace)
    assert loads(dumps(trace)) == trace


@KINDS
@settings(max_examples=40)
@given(seed=seeds)
def test_numbers_are_finite_and_bounded(kind: type[Extras], seed: int) -> None:
    trace, block = one_block(kind, seed)
    for spot in some(block, seed, lambda spot: isinstance(spot.value, float)):
        for bad in (nan, inf, -inf, 10 * LARGEST):
            assert "numbers there are" in refusal(trace, altered(block, spot.path, bad))


@KINDS
@settings(max_examples=40)
@given(seed=seeds)
def test_columns_have_one_length(kind: type[Extras], seed: int) -> None:
    trace, block = one_block(kind, seed)
    for spot in some(block, seed, is_column):
        for bad in longer_or_shorter(spot):
            refusal(trace, altered(block, spot.path, bad))


@KINDS
@settings(max_examples=40)
@given(seed=seeds)
def test_what_a_block_names_is_there(kind: type[Extras], seed: int) -> None:
    trace, block = one_block(kind, seed)
    for spot in some(block, seed, is_place):
        for bad in (10**6, 2**53 - 1):
            refusal(trace, altered(block, spot.path, bad))


def test_lists_are_bounded() -> None:
    trace, block = one_block(LayersExtras, 1)
    long = replace(block, skipped_mlp=[0] * (MAX_ENTRIES + 1))
    assert f"{MAX_ENTRIES:,} are allowed" in refusal(trace, long)
    assert f"{MAX_LAYERS:,} are allowed" in refusal(trace, replace(block, total=MAX_LAYERS + 1))


def test_a_round_has_one_block_of_a_kind() -> None:
    trace, block = one_block(SvipExtras, 1)
    assert "one of each" in refusal(trace, block, block)


Wanted = Callable[[Round, Extras], bool]


def first(kind: type[Extras], wanted: Wanted) -> tuple[Trace, Extras]:
    """Return the first made-up block for which `wanted` holds."""
    made = (one_block(kind, seed) for seed in range(1000))
    return next((trace, block) for trace, block in made if wanted(trace.rounds[0], block))


def drafted(r: Round, block: Extras) -> bool:
    return len(r.nodes.token) > 2


class TestSentences:
    """What holds in one kind only."""

    def test_a_budget_is_at_least_one(self) -> None:
        trace, block = one_block(DySpecExtras, 3)
        assert "budget is 0" in refusal(trace, replace(block, budget=0))

    def test_a_slot_is_filled_once(self) -> None:
        trace, block = first(DySpecExtras, drafted)
        node, parent = block.node, block.parent
        twice = replace(block, node=[node[0], *node[:-1]], parent=[parent[0], *parent[:-1]])
        assert "two slots" in refusal(trace, twice)

    def test_a_given_tree_has_the_places_that_it_fills(self) -> None:
        trace, block = first(StaticExtras, drafted)
        few = replace(block, planned=1)
        assert "1 nodes were planned" in refusal(trace, few)
        flat = replace(block, ranks=[[] for _ in block.ranks])
        assert "do not go on" in refusal(trace, flat)

    def test_a_pool_saw_what_it_lists(self) -> None:
        trace, block = first(PoolExtras, drafted)
        assert "than were seen" in refusal(trace, replace(block, sizes=[0] * len(block.sizes)))
        trace, block = first(PoolExtras, lambda r, b: b.step[-1] > 0)
        aside = replace(block, parent=[*block.parent[:-1], None])
        assert "not of the step before" in refusal(trace, aside)

    def test_every_layer_but_a_vain_one_has_a_value(self) -> None:
        trace, block = first(OptTreeExtras, lambda r, b: len(b.layers) == 2 and not b.lags)
        for expected in ([], [1.0], [1.0] * 3):
            sentence = refusal(trace, replace(block, expected=expected))
            assert f"{len(expected)} values of E(A) for 2 layers" in sentence
        late = replace(trace.rounds[0], extras=[replace(block, expected=[1.0], lags=True)])
        validate_round(late, trace.vocabulary)

    def test_values_stay_within_the_budget(self) -> None:
        trace, block = one_block(OptTreeExtras, 1)
        for bad in (
            replace(block, budget=MAX_NODES + 1),
            replace(block, threshold=block.budget + 1.0),
            replace(block, expected=[block.budget + 1.0] * len(block.expected)),
        ):
            assert "budget" in refusal(trace, bad)

    def test_a_selection_has_the_laws_of_its_candidates(self) -> None:
        trace, block = first(SelectionExtras, lambda r, b: b.picks)
        pick = block.picks[0]
        other = [token for token in trace.vocabulary if token not in pick.token]
        tokens = [other[0], *pick.token[1:]]
        sentence = refusal(trace, replace(block, picks=[replace(pick, token=tokens)]))
        assert "not among those with laws" in sentence

    def test_a_plan_is_no_larger_than_a_picture(self) -> None:
        trace, block = one_block(TransportExtras, 1)
        plan = block.nodes[0]
        wide = replace(plan, sets=plan.sets * 65)
        assert "1 to 64 are allowed" in refusal(trace, replace(block, nodes=[wide]))
        unnamed = replace(plan, token=[[] for _ in plan.token])
        assert "names no token" in refusal(trace, replace(block, nodes=[unnamed]))


class TestFiles:
    """Files from a stranger, with something wrong inside a block."""

    def text(self) -> bytes:
        trace, _ = first(PoolExtras, drafted)
        return gzip.decompress(dumps(trace))

    def refused(self, old: bytes, new: bytes) -> str:
        text = self.text()
        assert text.count(old) == 1
        with pytest.raises(TraceError) as caught:
            loads(text.replace(old, new))
        assert is_sentence(str(caught.value))
        return str(caught.value)

    @pytest.mark.parametrize(
        ("new", "part"),
        [
            (b'"kind":"pool","width":NaN,', "NaN"),
            (b'"kind":"pool","width":-1,', ">= 0"),
            (b'"kind":"pool","width":1.5,', "Expected int"),
            (b'"kind":"pool","width":' + b"9" * 400 + b",", "The file"),
            (b'"kind":"pool","width":' + b"[" * 40 + b"]" * 40 + b",", "32 levels"),
            (b'"kind":"pool","width":2,"width":2,', "twice"),
            (b'"kind":"pool","kind":"pool","width":2,', "twice"),
            (b'"kind":"nothing","width":2,', "Invalid value"),
            (b'"kind":7,"width":2,', "Expected"),
            (b'"width":2,', "kind"),
            (b'"kind":"pool","width":2,"wide":2,', "unknown field wide"),
            (b'"kind":"lookup","width":2,', "The file is no trace"),
        ],
    )
    def test_a_block_is_of_its_kind(self, new: bytes, part: str) -> None:
        kind = b'"kind":"pool",'
        begin = self.text().index(kind)
        old = self.text()[begin : self.text().index(b",", begin + len(kind)) + 1]
        assert part in self.refused(old, new)

    def test_a_huge_column_is_refused_for_its_length(self) -> None:
        text = self.text()
        begin = text.index(b'"sizes":[') + len(b'"sizes":[')
        bomb = gzip.compress(text[:begin] + b"1," * 2_000_000 + text[begin:])
        assert len(bomb) < 50_000
        with pytest.raises(TraceError, match="200 times its own size"):
            loads(bomb)
        with pytest.raises(TraceError, match="entries; 4,096 are allowed"):
            loads(text[:begin] + b"1," * 2_000_000 + text[begin:])
