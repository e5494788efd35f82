"""DySpec's tree: the sheet's traces and expectations, values that never rise, and a law unbent."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from core.dice import Dice, SeededDice
from core.extras import DySpecExtras
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.parts import shapes
from core.registry import get
from core.shapes.base import Grower, Grown, Growth, TreePolicy
from core.shapes.dyspec import DySpec, _Filling
from core.tree import Draft, Sampling
from core.verify.rejection import RecursiveRejection
from tests import exact
from tests.drafts import Plain
from tests.exactness import TOLERANCE, error, first_round
from tests.sheet import decoder
from tests.slow_trees import PROMPT, A, B, fixture_world, paths_of, proposed_by
from tests.toys import WORLDS, Text, World

pytestmark = pytest.mark.matrix

HARM = 1e-3
RULE = RecursiveRejection()
SHEET = fixture_world()


def propose(
    shape: TreePolicy, model: ToyModel, law: Law, dice: Dice, limit: int = 20
) -> tuple[Draft, DySpecExtras]:
    """Return one draft of `model` after the prompt, and its record."""
    draft = proposed_by(model, shape, law, limit, dice)
    (extras,) = draft.extras
    assert isinstance(extras, DySpecExtras)
    return draft, extras


def test_the_likeliest_tokens_fill_slots_as_in_the_sheet() -> None:
    draft, extras = propose(DySpec(6), SHEET.models()[1], Law(0), SeededDice(0))
    assert paths_of(draft) == [(A,), (A, A), (A, A, A), (B,), (A, A, A, A), (B, A)]
    assert extras.value == pytest.approx([1.0, 0.6, 0.42, 0.4, 0.336, 0.3], abs=1e-12)
    assert draft.sampling is Sampling.DETERMINISTIC
    assert (extras.parent[3], extras.rank[3]) == (0, 1)


@pytest.mark.parametrize(
    ("budget", "histories", "accepted"), [(1, 3, 9 / 10), (2, 7, 27 / 20), (3, 15, 81 / 50)]
)
def test_all_random_trees_and_what_is_accepted_of_them(
    budget: int, histories: int, accepted: float
) -> None:
    draft_model = SHEET.models()[1]

    def run(dice: Dice) -> tuple[Text, Text]:
        tree = propose(DySpec(budget), draft_model, Law(1), dice)[0].tree
        return tree.tokens, tree.parents

    assert len(exact.law(run)) == histories
    outcomes = first_round(decoder(DySpec(budget), RULE), SHEET)
    found = math.fsum(chance * len(outcome.accepted) for outcome, chance in outcomes)
    assert found == pytest.approx(accepted, abs=1e-12)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_sheet_s_target_writes_as_if_alone(budget: int) -> None:
    assert error(decoder(DySpec(budget), RULE), SHEET, Law(1), rounds=1) < TOLERANCE


LAWS = [Law(1), Law(0.7), Law(1, top_k=2), Law(1, top_p=0.75), Law(0)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("shape", [DySpec(3), DySpec(4, 0.3)], ids=["heap", "threshold"])
def test_the_law_is_the_target_s(shape: DySpec, toy: str, law: Law) -> None:
    assert error(decoder(shape, RULE), WORLDS[toy](3), law, rounds=1) < TOLERANCE


@pytest.mark.parametrize("shape", [DySpec(2), DySpec(2, 0.4)], ids=["heap", "threshold"])
def test_the_law_stays_the_target_s_in_the_second_round(shape: DySpec) -> None:
    assert error(decoder(shape, RULE), WORLDS["different laws"](2), Law(1), rounds=2) < TOLERANCE


class ValueAfterTheDraw(Plain):
    """A token is drawn, and dropped where its value is below `least`: too late to ask."""

    def __init__(self, least: float) -> None:
        self.least = least

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        (node,) = grown.frontier
        law = grown.q[grown.rows[node]]
        token = int(dice.at(node).draw(law[None]))
        if grown.depth == grown.limit or not self.keeps(float(law[token])):
            return Growth()
        deeper = grown.depth < 1 and float(law[token]) >= self.least
        return Growth([node], [token], expand=[len(grown.tree)] if deeper else [])

    def keeps(self, value: float) -> bool:
        return value >= self.least


class ValueBeforeTheDraw(ValueAfterTheDraw):
    """The same, but the token that fell below stays: only what would follow is not drafted."""

    def keeps(self, value: float) -> bool:
        return True


@pytest.mark.parametrize("toy", [SHEET, WORLDS["one token overrated"](3)], ids=["sheet", "hashed"])
def test_a_value_that_is_tested_after_the_draw_is_caught(toy: World) -> None:
    assert error(decoder(ValueAfterTheDraw(0.35), RULE), toy, Law(1), rounds=1) > HARM
    assert error(decoder(ValueBeforeTheDraw(0.35), RULE), toy, Law(1), rounds=1) < TOLERANCE


class Peeking(DySpec):
    """The heap, but a sibling's slot is worth what its token turns out to be worth."""

    def begin(self, greedy: bool) -> Grower:
        return _Peeking(self.budget, self.threshold, greedy)


class _Peeking(_Filling):
    def _offer(self, node: int, rank: int, value: float, limit: int) -> None:
        row = self.drawn._rows.get(node)
        if row is not None and rank < len(row.q):
            value *= row.q[rank] / self.drawn.left(node, rank)
        super()._offer(node, rank, value, limit)


def test_a_slot_whose_value_knows_its_token_is_caught() -> None:
    toy = WORLDS["different laws"](5)  # few tokens hide it: too little is left of p
    assert error(decoder(DySpec(2), RULE), toy, Law(1), rounds=1) < TOLERANCE
    assert error(decoder(Peeking(2), RULE), toy, Law(1), rounds=1) > HARM


def slow_heap(rows: Callable[[Text], Sequence[float]], budget: int) -> list[tuple[Text, float]]:
    """Fill slots with the likeliest tokens as the paper's pseudocode does: path and value each."""
    heap: list[tuple[float, Text, list[float]]] = [(1.0, (), list(rows(())))]
    found: list[tuple[Text, float]] = []
    while len(found) < budget and heap:
        best = max(range(len(heap)), key=lambda place: heap[place][0])
        value, parent, remains = heap.pop(best)
        token = max(range(len(remains)), key=lambda t: remains[t])
        share = remains[token]
        found.append(((*parent, token), value))
        left = [0.0 if t == token else w for t, w in enumerate(remains)]
        if any(left):
            heap.append((value * (1 - share), parent, [w / sum(left) for w in left]))
        heap.append((value * share, (*parent, token), list(rows((*parent, token)))))
    return found


@given(seed=st.integers(0, 500), size=st.integers(2, 6), budget=st.integers(1, 24))
def test_the_heap_is_that_of_the_paper(seed: int, size: int, budget: int) -> None:
    table = hashed(size, seed, 2.0)
    draft, extras = propose(DySpec(budget), ToyModel(table, size), Law(0), SeededDice(0))
    expected = slow_heap(lambda path: table(PROMPT + path), budget)
    assert paths_of(draft) == [path for path, _ in expected]
    assert extras.value == pytest.approx([value for _, value in expected], rel=1e-5)


class Wide(ToyModel):
    """A model over a real vocabulary: single-precision logits from a seed per context."""

    def law(self, context: tuple[int, ...]) -> Tensor:
        digest = hashlib.blake2b(repr(context).encode(), digest_size=6).digest()
        noise = torch.Generator().manual_seed(int.from_bytes(digest, "big"))
        return (12 * torch.randn(self.size, generator=noise)).softmax(dim=0)


MODELS = {"toy": ToyModel(hashed(5, 3, 2.0), 5), "real vocabulary": Wide(lambda _: [], 20_000)}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
every_law = pytest.mark.parametrize("law", [Law(0), Law(0.6), Law(1, top_p=0.9)], ids=repr)


@every_model
@every_law
@pytest.mark.parametrize("seed", range(3))
def test_values_never_rise(model: ToyModel, law: Law, seed: int) -> None:
    draft, heap = propose(DySpec(24), model, law, SeededDice(seed))
    assert heap.value == sorted(heap.value, reverse=True)
    assert heap.open_value == sorted(heap.open_value, reverse=True)
    assert not heap.open_value or heap.open_value[0] <= heap.value[-1]
    draft, layered = propose(DySpec(24, 1 / 24), model, law, SeededDice(seed))
    layers: dict[int, list[float]] = defaultdict(list)
    for node, value in zip(layered.node, layered.value, strict=True):
        layers[draft.tree.depths[node]].append(value)
    assert all(values == sorted(values, reverse=True) for values in layers.values())


@every_model
@every_law
def test_a_value_is_the_mass_that_leads_to_the_slot(model: ToyModel, law: Law) -> None:
    draft, extras = propose(DySpec(24), model, law, SeededDice(5))
    tree = draft.tree
    assert draft.q is not None
    own = {  # of each node under the law that its siblings left none of
        node: float(
            (law(draft.logits) if law.temperature else Law(1)(draft.logits))[
                draft.rows[tree.parents[node]], tree.tokens[node]
            ]
        )
        for node in range(1, len(tree))
    }
    for node in range(1, len(tree)):
        way = math.prod(own[step] for step in tree.path(tree.parents[node])[1:])
        earlier = [n for n in tree.children(tree.parents[node]) if n < node]
        expected = way * (1 - sum(own[other] for other in earlier))
        assert draft.scores[node] == pytest.approx(expected, rel=1e-4, abs=1e-6)
        assert extras.value[node - 1] == pytest.approx(draft.scores[node], rel=1e-5)


@every_model
@every_law
def test_the_threshold_fills_every_slot_worth_it_and_no_other(model: ToyModel, law: Law) -> None:
    least = 0.05
    draft, extras = propose(DySpec(200, least), model, law, SeededDice(1))
    assert min(extras.value) >= least
    assert max(extras.open_value, default=0.0) < least
    assert draft.work.forwards <= draft.tree.max_depth + 1
    assert draft.stop is not None
    assert draft.stop.reason == "below_threshold"
    assert draft.stop.threshold == least


@every_model
def test_both_variants_build_one_tree_where_nothing_is_drawn(model: ToyModel) -> None:
    layered, _ = propose(DySpec(200, 0.04), model, Law(0), SeededDice(0))
    budget = len(layered.tree) - 1
    heap, _ = propose(DySpec(budget), model, Law(0), SeededDice(0))
    assert sorted(paths_of(heap)) == sorted(paths_of(layered))
    assert layered.work.forwards < heap.work.forwards


@every_law
@pytest.mark.parametrize("shape", [DySpec(20), DySpec(20, 0.01)], ids=["heap", "threshold"])
def test_budget_and_depth_bound_the_draft(shape: DySpec, law: Law) -> None:
    model = MODELS["toy"]
    draft, _ = propose(shape, model, law, SeededDice(2), limit=2)
    assert draft.tree.max_depth <= 2
    assert len(draft.tree) - 1 <= 20
    flat, extras = propose(shape, model, law, SeededDice(2), limit=1)
    support = int((law(flat.logits) > 0).sum()) if law.temperature else 5
    assert len(flat.tree) - 1 <= support  # no child once the support is used up
    assert flat.work.forwards == 1
    assert extras.node == list(range(1, len(flat.tree)))
    assert len({flat.tree.tokens[node] for node in extras.node}) == len(extras.node)


def test_more_siblings_than_are_drawn_at_once_are_all_different() -> None:
    model = ToyModel(lambda _: [1 / 30] * 30, 30)
    for law in (Law(0), Law(1)):
        draft, _ = propose(DySpec(25), model, law, SeededDice(0), limit=1)
        assert len(set(draft.tree.tokens[1:])) == 25


def test_a_node_is_scored_only_when_a_slot_below_it_is_the_best() -> None:
    draft, extras = propose(DySpec(6), SHEET.models()[1], Law(0), SeededDice(0))
    assert draft.work.forwards == 5  # the root, a, aa, aaa, b
    assert extras.forward == [1, 2, 3, 3, 4, 5]


def test_the_parts_take_their_budget() -> None:
    assert shapes()["dyspec"].make(7) == DySpec(7)
    assert shapes()["dyspec_threshold"].make(8) == DySpec(8, 1 / 8)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({"variant": "threshold"}, 1 / 16),
        ({"variant": "threshold", "threshold": 0.001}, 0.001),
        ({"variant": "heap", "threshold": 0.001}, None),
    ],
)
def test_the_threshold_is_one_over_the_budget_unless_given(
    values: dict[str, object], expected: float | None
) -> None:
    config = get("dyspec").configure(values)
    assert config.least == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize("values", [{"budget": 0}, {"threshold": 0}, {"variant": "beam"}])
def test_settings_out_of_range_are_refused_in_one_sentence(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        get("dyspec").configure(values)
