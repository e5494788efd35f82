"""The X-ray's trees are those that the methods draft, its numbers are what the rule does on
average, and one luck for all trees is as exact as a luck for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.lab.drafting import SHAPES
from core.lab.growing import DraftScores, Path, grow
from core.lab.luck import SharedLuck
from core.lab.xray import Drafted, Xray, believed, reach, xray
from core.laws import Law
from core.models.base import Scores
from core.parts import shapes
from core.registry import get
from core.run import Engine, Request, Run
from core.shapes.base import Finished, Grower, Grown, Growth, Steady, TreePolicy
from core.trace import Trace
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.rejection import RecursiveRejection
from tests import exact
from tests.app.engines import ToyText, toy_engine
from tests.exactness import TOLERANCE, error
from tests.sheet import P, Q, constant, decoder
from tests.toys import WORLDS

pytestmark = pytest.mark.matrix

RULE = RecursiveRejection(uniform_fallback=True)
CLOSE = 1e-9
METHOD = "dyspec"


@cache
def engine() -> Engine:
    return toy_engine()


@cache
def trace(temperature: float, method: str = METHOD, seed: int = 3, **config: object) -> Trace:
    request = Request("ab", get(method), config, False, temperature, seed=seed, max_new_tokens=24)
    run = Run(request, engine(), lambda: 0.0, "2026-01-01T00:00:00+00:00")
    for _ in run:
        pass
    return run.trace()


def recorded(temperature: float) -> Trace:
    return trace(temperature, drafter="model")


@cache
def seen(temperature: float, budget: int, index: int = 2) -> Xray:
    return xray(engine(), recorded(temperature), index, budget)


def text_of(made: Trace, index: int) -> tuple[int, ...]:
    emitted = [token for r in made.rounds[:index] for token in r.outcome.emitted]
    return (*made.prompt.token_ids, *emitted)


def path(found: Xray, node: int) -> Path:
    tokens: list[int] = []
    while node >= 0:
        tokens.append(found.nodes[node].token)
        node = found.nodes[node].parent
    return tuple(reversed(tokens))


def target_law(context: Path, law: Law) -> list[float]:
    model = engine().target
    logits = model.open(context[:-1]).score(DraftTree.root(context[-1])).logits
    return law(logits)[0].tolist()


def draft_law(context: Path, law: Law) -> list[float]:
    model = engine().draft
    assert model is not None
    logits = model.open(context[:-1]).score(DraftTree.root(context[-1])).logits
    return law(logits)[0].tolist()


@pytest.mark.parametrize("budget", [4, 5, 16, 33, 64])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_no_tree_has_more_nodes_than_the_budget(temperature: float, budget: int) -> None:
    found = seen(temperature, budget)
    assert [tree.shape for tree in found.trees] == list(SHAPES)
    for tree in found.trees:
        assert 1 <= len(tree.nodes) <= budget
        assert tree.width == len(tree.nodes) + 1
        assert 1 <= tree.forwards <= tree.width
        assert len(set(tree.nodes)) == len(tree.nodes)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_node_is_one_node_for_all_trees_and_stands_behind_its_parent(temperature: float) -> None:
    found = seen(temperature, 33)
    paths = [path(found, node) for node in range(len(found.nodes))]
    assert len(set(paths)) == len(paths)
    assert all(node.parent < place for place, node in enumerate(found.nodes))
    for tree in found.trees:
        known = {-1, *tree.nodes}
        assert all(found.nodes[node].parent in known for node in tree.nodes)
        assert {*tree.accepted, *tree.rejected} <= known


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_p_and_q_are_those_of_the_models(temperature: float) -> None:
    found, text = seen(temperature, 16), text_of(recorded(temperature), 2)
    law = Law(temperature or 1.0)
    for place, node in enumerate(found.nodes):
        before = (*text, *path(found, place)[:-1])
        assert node.p == pytest.approx(target_law(before, law)[node.token], abs=CLOSE)
        if node.q is not None:
            assert node.q == pytest.approx(draft_law(before, law)[node.token], abs=CLOSE)


def first_chain(found: Xray, tree: Drafted) -> int:
    """Return how many nodes follow each other as the first child, from the root on."""
    below, length, node = children(found, tree), 0, -1
    while node in below:
        length, node = length + 1, below[node][0]
    return length


def products(found: Xray, tree: Drafted, of: str) -> float:
    product: dict[int, float] = {-1: 1.0}
    for place in tree.nodes:
        node = found.nodes[place]
        value: float = getattr(node, of)
        product[place] = product[node.parent] * value
    return math.fsum(product.values()) - 1.0


@pytest.mark.parametrize("budget", [4, 16, 64])
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_the_draft_believes_in_path_products_where_nodes_are_fixed_and_in_first_draws_elsewhere(
    temperature: float, budget: int
) -> None:
    found = seen(temperature, budget)
    for tree in found.trees:
        if tree.sampling is Sampling.DETERMINISTIC:
            assert tree.believed == pytest.approx(products(found, tree, "q"), abs=CLOSE)
        elif tree.sampling is Sampling.DISTINCT:
            assert tree.believed == pytest.approx(first_chain(found, tree), abs=1e-6)


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_a_tree_of_fixed_nodes_is_worth_the_target_s_path_products(temperature: float) -> None:
    found = seen(temperature, 16)
    fixed = [tree for tree in found.trees if tree.sampling is Sampling.DETERMINISTIC]
    assert {tree.shape for tree in fixed} == {"eagle2", "opt_tree"}
    for tree in fixed:
        assert tree.expected == pytest.approx(products(found, tree, "p"), abs=CLOSE)
    drawn = [tree for tree in found.trees if tree.sampling is not Sampling.DETERMINISTIC]
    assert any(abs(t.expected - products(found, t, "p")) > 1e-3 for t in drawn)


def test_at_temperature_0_what_is_expected_is_what_happens() -> None:
    made = recorded(0)
    for index in range(1, len(made.rounds)):
        for tree in seen(0, 16, index).trees:
            assert tree.expected == len(tree.accepted)
            text = [*text_of(made, index)]
            for node in tree.accepted:
                row = target_law(tuple(text), Law(0))
                assert row[seen(0, 16, index).nodes[node].token] == 1
                text.append(seen(0, 16, index).nodes[node].token)
            assert target_law(tuple(text), Law(0))[tree.final] == 1


def grown(shape: TreePolicy, toy: str, seed: int, law: Law, dice: Dice | None = None):
    world = WORLDS[toy](4)
    target, draft = world.models()
    scores = DraftScores(draft.open(world.prompt[:-1]), world.prompt[-1], law)
    tree = grow(shape, scores, 4, dice or SharedLuck(SeededDice(seed)))
    logits = target.open(world.prompt[:-1]).score(tree.draft.tree).logits
    context = Context(world.prompt, law)
    return tree, RULE.prepare(tree.draft, Scores(logits), context), len(world.prompt)


@pytest.mark.parametrize("key", SHAPES)
@settings(max_examples=12, deadline=None)
@given(
    toy=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 1000),
    budget=st.integers(1, 6),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_reach_is_what_the_walk_does_over_every_way_the_dice_can_fall(
    key: str, toy: str, seed: int, budget: int, temperature: float
) -> None:
    """Given the tree, the chances to be accepted are exact, node by node."""
    tree, table, position = grown(shapes()[key].make(budget), toy, seed, Law(temperature))
    paths = exact.law(lambda dice: table.walk(dice, position).path)
    found = reach(tree.draft.tree, table.tries)
    for node in range(1, len(tree.draft.tree)):
        slow = math.fsum(chance for way, chance in paths.items() if node in way)
        assert found[node] == pytest.approx(slow, abs=1e-12)
    average = math.fsum(chance * len(way) for way, chance in paths.items())
    assert math.fsum(found[1:]) == pytest.approx(average, abs=1e-12)


@pytest.mark.parametrize("key", SHAPES)
@settings(max_examples=12, deadline=None)
@given(
    toy=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 1000),
    budget=st.integers(1, 6),
    temperature=st.sampled_from([0.7, 1.0]),
)
def test_the_belief_is_what_the_rule_accepts_of_a_target_that_is_the_drafter(
    key: str, toy: str, seed: int, budget: int, temperature: float
) -> None:
    world, law = WORLDS[toy](4), Law(temperature)
    draft = world.models()[1]
    scores = DraftScores(draft.open(world.prompt[:-1]), world.prompt[-1], law)
    tree = grow(shapes()[key].make(budget), scores, 4, SharedLuck(SeededDice(seed)))
    logits = draft.open(world.prompt[:-1]).score(tree.draft.tree).logits
    table = RULE.prepare(tree.draft, Scores(logits), Context(world.prompt, law))
    paths = exact.law(lambda dice: table.walk(dice, len(world.prompt)).path)
    average = math.fsum(chance * len(way) for way, chance in paths.items())
    assert believed(tree, scores) == pytest.approx(average, abs=1e-9)


ENDS = frozenset({2, 3})  # of eight tokens, so that many drafts run beyond one


@cache
def ended(temperature: float, index: int) -> Xray:
    made = recorded(temperature)
    text = ToyText(ends=ENDS)
    return xray(toy_engine(text=text), made, index, 33)


def is_past(found: Xray, node: int) -> bool:
    """Tell whether an end token stands above a node."""
    return bool(ENDS & {*path(found, node)[:-1]})


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_nothing_is_accepted_expected_or_told_beyond_the_end_of_the_text(
    temperature: float,
) -> None:
    beyond = over = 0
    for index in range(1, 6):
        found = ended(temperature, index)
        tokens = [found.nodes[node].token for node in found.oracle]
        assert not ENDS & {*tokens[:-1]}
        for tree in found.trees:
            past = [node for node in tree.nodes if is_past(found, node)]
            beyond += len(past)
            reached = dict(zip(tree.nodes, tree.reach, strict=True))
            assert all(reached[node] == 0 for node in past)
            assert not {*past} & {*tree.accepted, *tree.rejected}
            assert tree.expected == pytest.approx(math.fsum(tree.reach), abs=CLOSE)
            ends = bool(tree.accepted) and found.nodes[tree.accepted[-1]].token in ENDS
            assert (tree.final is None) == ends
            over += ends
    assert beyond > 5
    assert over > 2


def test_no_belief_goes_beyond_the_end_of_the_text() -> None:
    found, smaller = ended(1.0, 2), 0
    for tree in found.trees:
        if tree.sampling is Sampling.DETERMINISTIC:
            kept = [node for node in tree.nodes if not is_past(found, node)]
            value = products(found, replace(tree, nodes=tuple(kept)), "q")
            assert tree.believed == pytest.approx(value, abs=CLOSE)
            smaller += len(kept) < len(tree.nodes)
    assert smaller


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("toy", ["different laws", "zeros in both laws"])
@pytest.mark.parametrize("key", SHAPES)
def test_a_shape_grows_as_the_drafter_of_the_methods_grows_it(
    key: str, toy: str, temperature: float
) -> None:
    world, law = WORLDS[toy](4), Law(temperature)
    target, draft = world.models()
    shape = shapes()[key].make(9)
    drafter = ModelDrafter(lambda prompt, _: draft.open(prompt), shape, "toy")
    drafter.begin(world.prompt, target.open(world.prompt[:-1]))
    theirs = drafter.propose(Context(world.prompt, law), 4, SeededDice(5))
    dice = SeededDice(5).at("draft", len(world.prompt))
    ours = grown(shape, toy, 0, law, dice)[0].draft
    assert ours.tree == theirs.tree
    assert ours.rows.keys() == theirs.rows.keys()
    assert ours.q is not None
    assert theirs.q is not None
    for node, row in ours.rows.items():
        assert ours.q[row].equal(theirs.q[theirs.rows[node]])
    assert ours.work.forwards == theirs.work.forwards
    assert (ours.sampling, ours.mixed) == (theirs.sampling, theirs.mixed)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_tree_is_the_same_whatever_was_grown_before_it(temperature: float) -> None:
    world = WORLDS["different laws"](4)
    scores = DraftScores(world.models()[1].open(world.prompt[:-1]), 0, Law(temperature))
    for key in SHAPES:
        shape = shapes()[key].make(12)
        after = grow(shape, scores, 4, SharedLuck(SeededDice(1)))
        alone = grown(shape, "different laws", 1, Law(temperature))[0]
        assert after.paths == alone.paths
        assert after.draft.work == alone.draft.work


def children(found: Xray, tree: Drafted) -> Mapping[int, list[int]]:
    below: dict[int, list[int]] = {}
    for node in tree.nodes:
        below.setdefault(found.nodes[node].parent, []).append(node)
    return below


@pytest.mark.parametrize("index", [1, 2, 3])
def test_one_node_draws_the_same_tokens_in_every_tree(index: int) -> None:
    found = seen(1.0, 33, index)
    drawn = [children(found, tree) for tree in found.trees if tree.sampling is Sampling.DISTINCT]
    assert len(drawn) == 3
    shared = 0
    for one in drawn:
        for other in drawn:
            for node in one.keys() & other.keys():
                length = min(len(one[node]), len(other[node]))
                assert one[node][:length] == other[node][:length]
                shared += one is not other
    assert shared > 10


@dataclass(frozen=True)
class Lucky(Steady):
    """A shape that draws with one luck; `again`: asks for it anew at every node, which is wrong."""

    inner: TreePolicy
    again: bool = False

    @property
    def branches(self) -> bool:
        return self.inner.branches

    def sampling(self, greedy: bool) -> Sampling:
        return self.inner.sampling(greedy)

    def begin(self, greedy: bool) -> Grower:
        return _Lucky(self.inner.begin(greedy), self.again)


@dataclass
class _Lucky:
    inner: Grower
    again: bool
    luck: list[SharedLuck] = field(default_factory=list)

    def grow(self, grown: Grown, dice: Dice) -> Growth:
        if self.again or not self.luck:
            self.luck[:] = [SharedLuck(dice)]
        return self.inner.grow(grown, self.luck[0])

    def finish(self, grown: Grown) -> Finished:
        return self.inner.finish(grown)


@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize("key", ["sequoia", "static", "dyspec", "expansion"])
def test_one_luck_for_all_trees_bends_no_law(key: str, toy: str) -> None:
    shape = Lucky(shapes()[key].make(2))
    assert error(decoder(shape, RULE), WORLDS[toy](3), Law(1), rounds=1) < TOLERANCE


def test_nodes_with_one_law_have_lucks_of_their_own() -> None:
    """A law that stands everywhere is the trap: its draws must not repeat down the tree."""
    world = constant((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
    shape = shapes()["chain"].make(2)
    assert error(decoder(Lucky(shape), RULE), world, Law(1), rounds=1) < TOLERANCE
    with pytest.raises(exact.BadChanceError, match="twice"):
        error(decoder(Lucky(shape, again=True), RULE), world, Law(1), rounds=1)


def test_the_oracle_is_what_the_target_writes_greedily() -> None:
    for temperature in (0.0, 1.0):
        found, text = seen(temperature, 16), [*text_of(recorded(temperature), 2)]
        assert len(found.oracle) >= 4
        for node in found.oracle:
            row = target_law(tuple(text), Law(1))
            assert found.nodes[node].token == row.index(max(row))
            text.append(found.nodes[node].token)
        assert path(found, found.oracle[-1]) == tuple(text[-len(found.oracle) :])


@pytest.mark.parametrize(
    ("method", "sizes"),
    [("eagle2", {"nodes": 9}), ("opt_tree", {"nodes": 8}), ("dyspec", {"budget": 8})],
)
def test_at_temperature_0_the_method_s_own_tree_is_the_recorded_one(
    method: str, sizes: dict[str, int]
) -> None:
    made = trace(0, method, drafter="model", **sizes)
    for index in range(1, 4):
        found = xray(engine(), made, index, 8)
        tree = next(tree for tree in found.trees if tree.shape == method)
        nodes = made.rounds[index].nodes
        offered = [n for n, state in enumerate(nodes.state) if n and state != "pruned"]
        recorded_paths = set[Path]()
        for node in offered:
            tokens = list[int]()
            while node:
                tokens.append(nodes.token[node])
                node = nodes.parent[node]
            recorded_paths.add(tuple(reversed(tokens)))
        assert {path(found, node) for node in tree.nodes} == recorded_paths
        assert len(tree.accepted) == len(made.rounds[index].outcome.accepted)


def test_every_token_is_spelled() -> None:
    found = seen(1.0, 64)
    tokens = {found.root, *(node.token for node in found.nodes), *(t.final for t in found.trees)}
    assert tokens == found.named.keys()


def test_a_method_without_a_model_behind_its_drafts_gets_a_drafter() -> None:
    made = trace(0.7, "prompt_lookup")
    found = xray(engine(), made, 2, 8)
    assert not found.drafter.is_own
    assert found.drafter.name == "model"
    assert seen(1.0, 16).drafter.is_own


@pytest.mark.parametrize(
    ("index", "budget", "words"),
    [(1, 3, "4 to 64"), (1, 65, "4 to 64"), (99, 16, "Round 99 does not exist")],
)
def test_what_cannot_be_asked_is_told(index: int, budget: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        xray(engine(), recorded(1.0), index, budget)


def test_without_the_trace_s_draft_model_it_is_named() -> None:
    alone = toy_engine(with_draft=False)
    with pytest.raises(ValueError, match="draft model"):
        xray(alone, recorded(1.0), 1, 16)


@pytest.mark.parametrize(
    ("sampling", "tokens", "offers", "expected"),
    [
        (Sampling.DETERMINISTIC, (2, 0), {}, [0.2, 0.5]),  # p itself
        (Sampling.DISTINCT, (2, 0), {}, [0.4, 0.6]),  # .2 / .5; then all that remains is on 0
        (Sampling.INDEPENDENT, (2, 0), {}, [0.4, 0.6]),
        (Sampling.INDEPENDENT, (1,), {0: (1, 1)}, [1.0]),  # p = q: kept at the first try
        (Sampling.INDEPENDENT, (2,), {0: (1, 1)}, [0.4]),  # nothing remains for the second try
        (Sampling.DISTINCT, (0, 1), {}, [1.0, 0.0]),
    ],
)
def test_trees_made_by_hand_have_the_sheet_s_chances(
    sampling: Sampling,
    tokens: tuple[int, ...],
    offers: dict[int, tuple[int, ...]],
    expected: list[float],
) -> None:
    """p = (.5, .3, .2) and q = (.2, .3, .5), fixture F1 of the sheet."""
    p, q = (torch.tensor([row], dtype=torch.float64) for row in (P["F1"], Q["F1"]))
    tree = DraftTree((0, *tokens), (-1, *(0 for _ in tokens)), offers=offers)
    draft = Draft(tree, sampling, q=q, logits=q.log(), rows={0: 0})
    logits = p.log().expand(len(tree), -1)
    table = RULE.prepare(draft, Scores(logits), Context((0,), Law(1)))
    assert reach(tree, table.tries) == pytest.approx([1.0, *expected], abs=1e-12)
