"""Greedy draft sampling: exact, as good as any rule could be with such drafts, equal to a slow walk
number by number; and what bends the law when the drawn child is taken for another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.bounds.ladder import ladder
from core.bounds.pair import laws, pair
from core.bounds.prefix import top_and_one
from core.bounds.record import Visit, visited_bounds
from core.consistency import round_problems
from core.decode import Decoder, start, step
from core.dice import Dice, SeededDice
from core.extras import PrefixExtras
from core.laws import Law
from core.models.base import Scores
from core.parts import rules, shapes
from core.registry import Models, get
from core.shapes.base import Grown
from core.shapes.top_and_one import TopAndOne
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.greedy_draft import GreedyDraft
from core.verify.rejection import RecursiveRejection
from tests import optimum
from tests.drafts import Plain, Replaced
from tests.exactness import TOLERANCE, error, first_round
from tests.sheet import P, Q, acceptance, constant, decoder, emitted
from tests.toys import WORLDS, normed, slow_law

pytestmark = pytest.mark.matrix

DRAWN, FIXED = Sampling.TOP_AND_ONE, Sampling.DETERMINISTIC
HARM = 1e-3  # a caught bug is far from rounding

SHEET = [
    ("F1", 1, 0.7),
    ("F2", 1, 0.5),
    ("F3", 1, 1),
    ("F4", 1, 0.5),
    ("F6", 1, 5 / 6),
    ("F1", 2, 0.9),
    ("F2", 2, 1),
    ("F3", 2, 1),
    ("F4", 2, 0.65),
    ("F6", 2, 1),
    ("F1", 3, 1),
    ("F2", 3, 1),
    ("F3", 3, 1),
    ("F4", 3, 0.9),
    ("F6", 3, 1),
]


@pytest.mark.parametrize(("name", "count", "expected"), SHEET)
def test_acceptance_is_the_sheet_s(name: str, count: int, expected: float) -> None:
    build = decoder(TopAndOne(count, 1), GreedyDraft())
    assert acceptance(build, P[name], Q[name]) == pytest.approx(expected, abs=1e-12)
    assert emitted(build, P[name], Q[name]) == pytest.approx(P[name], abs=1e-12)


LAWS = {
    "T=0": Law(0),
    "T=0.7": Law(0.7),
    "T=1": Law(1),
    "T=1, top-k": Law(1, top_k=2),
    "T=1, top-p": Law(1, top_p=0.75),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("toy", WORLDS)
@pytest.mark.parametrize(("count", "depth", "size"), [(1, 2, 3), (2, 2, 3), (3, 1, 4), (4, 1, 3)])
def test_the_text_keeps_the_target_s_law(
    toy: str, law: str, count: int, depth: int, size: int
) -> None:
    build = decoder(TopAndOne(count, depth), GreedyDraft())
    assert error(build, WORLDS[toy](size), LAWS[law], rounds=1) < TOLERANCE


@pytest.mark.parametrize("temperature", [0.0, 0.4, 2.0])
def test_a_drafter_of_another_temperature_changes_no_law(temperature: float) -> None:
    build = decoder(TopAndOne(2, 2), GreedyDraft(), temperature)
    for law in (Law(0), Law(1)):
        assert error(build, WORLDS["different laws"](3), law, rounds=1) < TOLERANCE


@pytest.mark.parametrize("favourite", range(4))
@pytest.mark.parametrize("count", [2, 3])
def test_a_certain_target_is_met_by_the_likeliest_or_as_often_as_it_is_drawn(
    favourite: int, count: int
) -> None:
    """The sheet, for p one-hot on g: 1 if g is in T, else q'(g)."""
    p, q = [float(token == favourite) for token in range(4)], Q["F4"]
    top = optimum.likeliest(q, count - 1)
    expected = 1.0 if favourite in top else optimum.rest_of(q, top)[favourite]
    build = decoder(TopAndOne(count, 1), GreedyDraft())
    assert acceptance(build, p, q) == pytest.approx(expected, abs=1e-12)
    assert emitted(build, p, q) == pytest.approx(p, abs=1e-12)


def test_two_rounds_keep_the_law() -> None:
    build = decoder(TopAndOne(2, 1), GreedyDraft())
    assert error(build, WORLDS["zeros in both laws"](3), Law(1), rounds=2) < TOLERANCE


def grown(q: Sequence[float], limit: int = 9) -> Grown:
    """Return a draft of which only the root was scored."""
    law = torch.tensor([q], dtype=torch.float64)
    return Grown(DraftTree.root(0), law, law.log(), {0: 0}, [0], limit)


def test_all_children_but_the_last_are_the_likeliest_and_the_last_is_another() -> None:
    q, seen = (0.1, 0.4, 0.2, 0.3), set[int]()
    for throw in range(40):
        found = TopAndOne(3, 1).begin(False).grow(grown(q), SeededDice(throw))
        assert list(found.tokens[:2]) == [1, 3]
        seen.add(found.tokens[2])
    assert seen == {0, 2}


def test_where_the_likeliest_are_all_that_can_be_drawn_the_children_are_fixed() -> None:
    q = (0.0, 0.6, 0.4)
    grower = TopAndOne(3, 1).begin(False)
    before = grown(q)
    found = grower.grow(before, SeededDice(0))
    assert list(found.tokens) == [1, 2]
    tree = before.tree.extended(found.parents, found.tokens)
    assert grower.finish(Grown(tree, before.q, before.logits, {0: 0}, [0], 9)).mixed == {0: FIXED}


def test_at_temperature_zero_the_children_are_the_likeliest_and_none_is_drawn() -> None:
    shape = TopAndOne(3, 1)
    assert shape.sampling(greedy=True) is FIXED
    found = shape.begin(True).grow(grown((0.1, 0.4, 0.2, 0.3)), SeededDice(0))
    assert list(found.tokens) == [1, 3, 2]


@pytest.mark.parametrize(
    ("budget", "count", "depth"),
    [(1, 1, 1), (2, 2, 1), (3, 3, 1), (11, 3, 1), (12, 3, 2), (39, 3, 3)],
)
def test_the_shape_fits_its_budget(budget: int, count: int, depth: int) -> None:
    assert shapes()["top_and_one"].make(budget) == TopAndOne(count, depth)


def test_the_rule_is_a_part_of_its_own_and_takes_fixed_children_too() -> None:
    made = rules()["greedy_draft"].make()
    assert made.samplings == {DRAWN, FIXED}
    assert not made.chain_only


@dataclass(frozen=True)
class Slow:
    """The rule at one node in plain Python, from rows (V,); steps are methods, to plant bugs."""

    fixed: bool = False

    def tests(
        self, p: Sequence[float], q: Sequence[float], tokens: Sequence[int]
    ) -> list[tuple[int, float, list[float]]]:
        """Return (place of the child, chance to stay, law after a miss) in the order of tests."""
        top, rest = (tokens, list(p)) if self.fixed else (tokens[:-1], list(p))
        found: list[tuple[int, float, list[float]]] = []
        if not self.fixed:
            drawn = normed([0.0 if x in top else mass for x, mass in enumerate(q)])
            less = [max(a - b, 0.0) for a, b in zip(p, drawn, strict=True)]
            y = tokens[-1]
            rest = normed(less) if any(less) else rest
            found.append((len(top), min(1.0, p[y] / drawn[y]), rest))
        for place, x in enumerate(top):
            keep, less = rest[x], [0.0 if t == x else mass for t, mass in enumerate(rest)]
            rest = normed(less) if any(less) else rest
            found.append((place, keep, rest))
        return found


def random_round(seed: int, size: int, parents: int) -> tuple[Draft, Tensor]:
    """Return a draft of up to `parents` nodes with children, drawn or fixed, and target logits."""
    rng = np.random.default_rng(seed)

    def law() -> np.ndarray:
        weights = rng.random(size) ** 3 * (rng.random(size) > 0.25)
        weights[rng.integers(size)] += 0.05
        return weights / weights.sum()

    tree, kinds, rows = DraftTree.root(0), dict[int, Sampling](), list[np.ndarray]()
    for parent in range(parents):
        if parent >= len(tree):
            break
        q = law()
        top = np.argsort(-q, kind="stable")[: rng.integers(0, size)].tolist()
        rest = np.where(np.isin(np.arange(size), top), 0.0, q)
        kinds[parent] = DRAWN if rest.any() and rng.random() < 0.8 else FIXED
        if kinds[parent] is DRAWN:
            top = [*top, int(rng.choice(size, p=rest / rest.sum()))]
        tree = tree.extended([parent] * len(top), top)
        rows.append(q)
    logits = np.stack([law() for _ in range(len(tree))])
    with np.errstate(divide="ignore"):
        scores = torch.tensor(np.log(logits))
    index = {node: node for node in range(len(rows))}
    return Draft(tree, DRAWN, kinds, q=torch.tensor(np.stack(rows)), rows=index), scores


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 6),
    parents=st.integers(1, 4),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_every_test_is_the_slow_rule_s(
    seed: int, size: int, parents: int, temperature: float
) -> None:
    draft, logits = random_round(seed, size, parents)
    law = Law(temperature)
    table = GreedyDraft().prepare(draft, Scores(logits), Context((0,), law))
    for node in range(len(draft.tree)):
        children = draft.tree.children(node)
        tests = table.tries.get(node, [])
        assert len(tests) == len(children)
        if not children:
            continue
        p = slow_law(normed(logits[node].exp().tolist()), law)
        q = draft.q[draft.rows[node]].tolist() if draft.q is not None else []
        slow = Slow(draft.sampling_at(node) is FIXED)
        expected = slow.tests(p, q, [draft.tree.tokens[child] for child in children])
        for found, (place, keep, rest) in zip(tests, expected, strict=True):
            assert found.node == children[place]
            assert found.accept == pytest.approx(keep, abs=1e-12)
            assert found.remains.tolist() == pytest.approx(rest, abs=1e-12)
            assert (found.drawn is None) == (slow.fixed or place < len(children) - 1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 6))
def test_the_acceptance_is_the_optimum_for_such_drafts(seed: int, size: int) -> None:
    draft, logits = random_round(seed, size, 1)
    table = GreedyDraft().prepare(draft, Scores(logits), Context((0,), Law(1)))
    children = [draft.tree.tokens[child] for child in draft.tree.children(0)]
    if not children or draft.sampling_at(0) is FIXED or draft.q is None:
        return
    p, q = laws(logits[0].exp(), draft.q[0])
    top = children[:-1]
    kept = 0.0
    drawn = np.where(np.isin(np.arange(size), top), 0.0, q)
    for y in np.flatnonzero(drawn):
        tokens = [*top, int(y)]
        tree = DraftTree.root(0).extended([0] * len(tokens), tokens)
        one = Draft(tree, DRAWN, q=draft.q[:1], rows={0: 0})
        scores = Scores(logits[:1].expand(len(tree), -1))
        table = GreedyDraft().prepare(one, scores, Context((0,), Law(1)))
        fails = math.prod(1 - test.accept for test in table.tries[0])
        kept += float(drawn[y] / drawn.sum()) * (1 - fails)
    assert kept == pytest.approx(top_and_one(pair(p, q), p, q, top).optimum().value, abs=1e-9)


class DrawnFirst(Plain):
    """The drawn child stands first, where the rule takes it for one of the likeliest."""

    def sampling(self, greedy: bool) -> Sampling:
        return DRAWN

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> object:
        found = TopAndOne(2, 1).begin(False).grow(grown, dice)
        return type(found)(found.parents, list(found.tokens)[::-1], expand=())


class EvenlyDrawn(Replaced):
    """The drawn child comes from all others alike, whatever q gives them."""

    def sampling(self, greedy: bool) -> Sampling:
        return DRAWN

    def choose(self, laws: Tensor, width: int, dice: Dice) -> Tensor:
        top = laws.argmax(dim=1, keepdim=True)
        return torch.cat([top, dice.draw(torch.ones_like(laws).scatter(1, top, 0.0))], dim=1)


@pytest.mark.parametrize("shape", [DrawnFirst(), EvenlyDrawn((2,))], ids=lambda s: type(s).__name__)
def test_children_other_than_declared_bend_the_law(shape: Plain) -> None:
    toy = WORLDS["one token overrated"](3)
    assert error(decoder(TopAndOne(2, 1), GreedyDraft()), toy, Law(1), rounds=1) < TOLERANCE
    assert error(decoder(shape, GreedyDraft()), toy, Law(1), rounds=1) > HARM


@pytest.mark.parametrize("kind", [Sampling.INDEPENDENT, Sampling.DISTINCT])
def test_drafts_of_another_kind_are_refused(kind: Sampling) -> None:
    draft = Draft(
        DraftTree.root(0).extended([0], [1]), kind, q=torch.full((1, 3), 1 / 3), rows={0: 0}
    )
    with pytest.raises(ValueError, match="of which one is drawn"):
        GreedyDraft().prepare(draft, Scores(torch.zeros((2, 3))), Context((0,), Law(1)))


def test_the_drafts_are_refused_by_rules_that_would_bend_their_law() -> None:
    draft = Draft(
        DraftTree.root(0).extended([0], [1]), DRAWN, q=torch.full((1, 3), 1 / 3), rows={0: 0}
    )
    with pytest.raises(ValueError, match="of which one is drawn"):
        RecursiveRejection().prepare(draft, Scores(torch.zeros((2, 3))), Context((0,), Law(1)))


def test_too_large_a_tree_is_refused_in_one_sentence() -> None:
    method = get("greedy_multidraft")
    with pytest.raises(ValueError, match=r"Depth is 6: .* 1,092 nodes, and 256 are allowed"):
        method.configure({"drafts": 3, "depth": 6})
    with pytest.raises(ValueError, match="272 nodes"):
        method.configure({"drafts": 16})
    assert method.configure({"drafts": 16, "depth": 1}).most_nodes() == 16


def large(size: int = 20_000) -> tuple[Draft, Tensor]:
    """Return a draft of three children per node, two levels deep, with laws like a model's."""
    luck = torch.Generator().manual_seed(3)
    p = torch.randn((13, size), generator=luck) * 3
    q = (p + torch.randn((13, size), generator=luck)).softmax(dim=1)[:4]
    tree = DraftTree.root(0)
    for parent in range(4):
        top = q[parent].topk(2).indices
        y = torch.multinomial(q[parent].index_fill(0, top, 0.0), 1, generator=luck)
        tree = tree.extended([parent] * 3, [*top.tolist(), int(y)])
    return Draft(tree, DRAWN, q=q, rows={node: node for node in range(4)}), p


def test_a_real_vocabulary_in_single_precision_is_decided_as_in_double() -> None:
    draft, logits = large()
    assert draft.q is not None
    context = Context((0,), Law(1))
    table = GreedyDraft().prepare(draft, Scores(logits), context)
    wide = logits.double().softmax(dim=1)
    for node in range(4):
        tokens = [draft.tree.tokens[child] for child in draft.tree.children(node)]
        expected = Slow().tests(wide[node].tolist(), draft.q[node].double().tolist(), tokens)
        for found, (_, keep, rest) in zip(table.tries[node], expected, strict=True):
            assert found.accept == pytest.approx(keep, rel=1e-4, abs=1e-6)
            assert torch.isfinite(found.remains).all()
            assert float(found.remains.double().sum()) == pytest.approx(1, abs=1e-5)
            assert float((found.remains - torch.tensor(rest)).abs().max()) < 1e-5


def test_the_record_holds_bounds_of_the_nodes_visited() -> None:
    draft, logits = large()
    table = GreedyDraft().prepare(draft, Scores(logits), Context((0,), Law(1)))
    for throw in range(6):
        outcome = table.walk(SeededDice(throw), 1)
        (block,) = table.extras(outcome)
        assert isinstance(block, PrefixExtras)
        visited = [node for node in (0, *outcome.path) if draft.tree.children(node)]
        assert [node.node for node in block.nodes] == visited
        assert sum(bool(node.rungs) for node in block.nodes) == 1
        for kept in block.nodes:
            assert draft.q is not None
            tokens = [draft.tree.tokens[child] for child in draft.tree.children(kept.node)]
            whole = ladder(logits[kept.node].softmax(0), draft.q[kept.node], 3, tokens[:-1])
            assert (kept.drafts, kept.fixed) == (3, 2)
            for rung in kept.rungs:
                near = 1e-4 + (rung.margin or 0)
                assert rung.value == pytest.approx(whole[rung.name].value, abs=near), rung.name
            drawn = bool(kept.rungs)
            assert [len(line.ways) for line in kept.lines] == ([2, 1] if drawn else [1])
            assert kept.lines[-1].ways[0].way == "top_and_one"
            for line in kept.lines:
                assert len(line.mass) <= (64 if drawn else 1)
                assert len(line.token) <= (20 if drawn else 0)
                for way in line.ways:
                    best = whole[f"{way.way}/optimum"].value
                    assert way.optimum == pytest.approx(best, abs=1e-4)
                    gap = way.inside[way.widest] - line.target[way.widest]
                    assert 1 - gap == pytest.approx(best, abs=2e-4)


def test_a_node_whose_children_were_not_tested_before_the_text_ended_is_not_recorded() -> None:
    draft, logits = large()
    table = GreedyDraft().prepare(draft, Scores(logits), Context((0,), Law(1)))
    walks = (table.walk(SeededDice(throw), 1) for throw in range(30))
    outcome = next(walk for walk in walks if len(walk.path) == 2)
    (block,) = table.extras(outcome.cut(1))
    assert isinstance(block, PrefixExtras)
    assert [node.node for node in block.nodes] == [0]
    assert table.extras(outcome.cut(0)) == ()


def test_the_ladder_is_kept_where_the_drafts_failed_else_where_least_could_be_kept() -> None:
    draft, logits = large()
    table = GreedyDraft().prepare(draft, Scores(logits), Context((0,), Law(1)))
    seen = set[bool]()
    for throw in range(30):
        outcome = table.walk(SeededDice(throw), 1)
        (block,) = table.extras(outcome)
        assert isinstance(block, PrefixExtras)
        failed = bool(draft.tree.children(outcome.end))
        (shown,) = (node for node in block.nodes if node.rungs)
        best = {node.node: node.lines[-1].ways[0].optimum for node in block.nodes}
        assert shown.node == (outcome.end if failed else min(best, key=best.__getitem__))
        seen.add(failed)
    assert seen == {True, False}


def recorded(law: Law) -> list[Round]:
    """Return the rounds of a real run on a toy, with their records."""
    target, draft = WORLDS["different laws"](3).models()
    build = decoder(TopAndOne(2, 2), GreedyDraft())
    state = start((0, 1, 0), target, build(Models(target, draft)), law, 12)
    rounds: list[Round] = []
    while state.finished is None:
        rounds += step([state], SeededDice(4), lambda: 0.0)
    return rounds


VOCABULARY: Mapping[int, bytes] = {0: b"a", 1: b"b", 2: b"c"}


def test_recorded_rounds_are_consistent_and_name_the_reason_of_every_test() -> None:
    rounds = recorded(Law(1))
    assert any(isinstance(extra, PrefixExtras) for r in rounds for extra in r.extras)
    for r in rounds:
        assert list(round_problems(r, VOCABULARY)) == []
        for check in r.checks:
            verdict = "u<" if check.passed else "u>="
            assert r.nodes.reason[check.node] == verdict + ("p" if check.q is None else "p/q")


def test_at_temperature_zero_nothing_is_bounded_and_the_favourite_decides() -> None:
    rounds = recorded(Law(0))
    assert not any(isinstance(extra, PrefixExtras) for r in rounds for extra in r.extras)
    reasons = {r.nodes.reason[check.node] for r in rounds for check in r.checks}
    assert reasons <= {"argmax", "not_argmax"}


@pytest.mark.parametrize("seed", range(40))
def test_the_short_record_of_a_node_says_what_the_long_one_does(seed: int) -> None:
    draft, logits = random_round(seed, 6, 1)
    children = [draft.tree.tokens[child] for child in draft.tree.children(0)]
    if draft.q is None or not children:
        return
    fixed = children if draft.sampling_at(0) is FIXED else children[:-1]
    visit = Visit(0, logits[0].exp(), draft.q[0], len(children), fixed)
    short, long = visited_bounds([visit, visit], failed=True)
    assert (short.drafts, short.fixed) == (long.drafts, long.fixed) == (len(children), len(fixed))
    (line,), (_, whole) = short.lines, long.lines
    assert line.ways[0].optimum == pytest.approx(whole.ways[0].optimum, abs=2e-5)
    place = whole.ways[0].widest
    assert line.mass[0] == pytest.approx(whole.mass[place], abs=2e-4)
    assert line.target[0] == pytest.approx(whole.target[place], abs=2e-4)
    assert line.ways[0].inside[0] == pytest.approx(whole.ways[0].inside[place], abs=2e-4)


@pytest.mark.parametrize("name", ["F1", "F4"])
def test_trying_the_likeliest_first_would_keep_less(name: str) -> None:
    laws_of = [torch.tensor(law, dtype=torch.float64) for law in (P[name], Q[name])]
    found = ladder(laws_of[0], laws_of[1], 2)
    assert found["top_and_one/recursive"].value < found["top_and_one/optimum"].value - HARM


def test_a_round_may_accept_a_likeliest_child_after_the_drawn_one_missed() -> None:
    build = decoder(TopAndOne(2, 1), GreedyDraft())
    rounds = first_round(build, constant(P["F1"], Q["F1"]))
    assert {tuple(outcome.accepted) for outcome, _ in rounds} == {(1,), (2,), ()}


def test_the_registered_method_builds_its_parts() -> None:
    made = get("greedy_multidraft")
    target, draft = WORLDS["different laws"](3).models()
    built = made.build({"drafter": "model"}, Models(target, draft))
    assert isinstance(built, Decoder)
    assert isinstance(built.verifier, GreedyDraft)
    assert built.drafter.offer(False).samplings == {DRAWN}
