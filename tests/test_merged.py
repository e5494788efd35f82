"""Sequences of several drafters in one tree: the text keeps the target's law whatever the drafters
are, each draft is tested against its own law, and what is wrong with that is caught.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
import torch

from core.consistency import round_problems
from core.decode import Decoder, decode, start
from core.dice import Dice, SeededDice
from core.drafters.merged import MergedDrafter
from core.laws import Law
from core.methods.specinfer import OWN_LAWS
from core.models.base import Scores
from core.models.toy import Table, hashed
from core.parts import rules
from core.registry import Models, get
from core.shapes.levels import MAX_NODES
from core.tree import Apart, Draft, Sampling
from core.verify.base import Context, check_fit
from core.verify.rejection import RecursiveRejection
from tests import sheet
from tests.exactness import TOLERANCE, Builder, error
from tests.merged import OTHER, SIX, recorded, sequences
from tests.tiny import tiny, wrapped
from tests.toys import WORLDS, World, sparse, spiked

pytestmark = pytest.mark.matrix

HARM = 1e-3  # a caught bug is far from rounding
SEPARATE, FIXED = Sampling.SEPARATE, Sampling.DETERMINISTIC
OTHERS: Mapping[str, Table] = {
    "one more": hashed(3, 12, 3.0),
    "one with zeros": sparse(3, 14),
    "a certain one": spiked(3, 16),
}


def merging(
    toy: World, tables: Sequence[Table], length: int = 1, temperature: float | None = None
) -> Builder:
    """Return a builder: the world's own drafter and those of `tables`."""
    return lambda models: Decoder(
        sequences([toy.draft, *tables], toy.size, length, temperature), OWN_LAWS
    )


def constant(laws: Sequence[sheet.Row]) -> Builder:
    """Return a builder: a drafter for each law, whatever the text is."""
    tables: list[Table] = [lambda _, law=law: law for law in laws]
    return lambda _: Decoder(sequences(tables, len(laws[0])), OWN_LAWS)


LAWS = {
    "T=0": Law(0),
    "T=0.7": Law(0.7),
    "T=1": Law(1),
    "top-k": Law(1, 2),
    "top-p": Law(1, 0, 0.8),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("toy", WORLDS)
def test_one_place_has_the_target_s_law(toy: str, other: str, law: str) -> None:
    world = WORLDS[toy](3)
    assert error(merging(world, [OTHERS[other]]), world, LAWS[law], rounds=1) < TOLERANCE


@pytest.mark.parametrize("toy", ["different laws", "zeros in both laws"])
def test_sequences_of_two_tokens_and_three_drafters_have_it(toy: str) -> None:
    world = WORLDS[toy](2)
    two, three = hashed(2, 12, 3.0), hashed(2, 13, 2.0)
    assert error(merging(world, [two], 2), world, Law(0.7), rounds=1) < TOLERANCE
    assert error(merging(world, [two, three], 1), world, Law(1), rounds=1) < TOLERANCE


@pytest.mark.parametrize("law", ["T=0", "T=1"])
def test_two_rounds_have_it(law: str) -> None:
    world = WORLDS["different laws"](2)
    build = merging(world, [hashed(2, 12, 3.0)])
    assert error(build, world, LAWS[law], rounds=2) < TOLERANCE


@pytest.mark.parametrize("temperature", [0.0, 1.6])
def test_drafters_of_another_temperature_change_no_law(temperature: float) -> None:
    world = WORLDS["one token overrated"](3)
    build = merging(world, [OTHERS["one more"]], 1, temperature)
    for law in LAWS.values():
        assert error(build, world, law, rounds=1) < TOLERANCE


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [("F1", 2, 0.76), ("F2", 2, 0.75), ("F4", 2, 0.55), ("F1", 3, 0.808), ("F4", 3, 0.595)],
)
def test_drafters_that_are_alike_accept_as_draws_with_replacement_do(
    name: str, count: int, expected: float
) -> None:
    p, q = sheet.P[name], sheet.Q[name]
    build = constant([q] * count)
    assert sheet.acceptance(build, p, q) == pytest.approx(expected, abs=1e-12)
    assert sheet.emitted(build, p, q) == pytest.approx(p, abs=1e-12)


def slow_acceptance(p: sheet.Row, laws: Sequence[sheet.Row]) -> float:
    """Return how often a draft is kept, over every order of the drafters and all that they draw."""
    orders = list(permutations(laws))
    accepted = 0.0
    for order in orders:
        for drafts in product(range(len(p)), repeat=len(laws)):
            chance, remains = 1 / len(orders), list(p)
            for law, token in zip(order, drafts, strict=True):
                chance *= law[token]
            for law, token in zip(order, drafts, strict=True):
                if not law[token]:
                    break
                keep = min(1.0, remains[token] / law[token])
                accepted += chance * keep
                chance *= 1 - keep
                rest = [max(r - q, 0.0) for r, q in zip(remains, law, strict=True)]
                remains = [r / sum(rest) for r in rest] if any(rest) else remains
    return accepted


@pytest.mark.parametrize("other", [(0.7, 0.2, 0.1), (0.0, 0.5, 0.5), (0.3, 0.4, 0.3)])
def test_each_draft_is_tested_against_its_own_law_in_random_order(other: sheet.Row) -> None:
    p, q = sheet.P["F1"], sheet.Q["F1"]
    build = constant([q, other])
    expected = slow_acceptance(p, [q, other])
    assert sheet.acceptance(build, p, q) == pytest.approx(expected, abs=1e-12)
    assert sheet.emitted(build, p, q) == pytest.approx(p, abs=1e-12)


class OneLaw(MergedDrafter):
    """All drafts are tested against the law of the first one tried."""

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = super().propose(context, limit, dice)
        if made.apart is None:
            return made
        tries = {n: [rows[0]] * len(rows) for n, rows in made.apart.tries.items()}
        return replace(made, apart=Apart(made.apart.nodes, tries))


class Swapped(MergedDrafter):
    """Each draft is tested against the law of another drafter."""

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = super().propose(context, limit, dice)
        if made.apart is None:
            return made
        tries = {n: list(rows)[::-1] for n, rows in made.apart.tries.items()}
        return replace(made, apart=Apart(made.apart.nodes, tries))


class SurestFirst(MergedDrafter):
    """The order of the drafts depends on what they are."""

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = super().propose(context, limit, dice)
        if made.apart is None or made.q is None:
            return made
        offers, tries = dict(made.tree.offers), dict(made.apart.tries)
        for node, rows in made.apart.tries.items():
            drawn = list(zip(rows, made.tree.tries(node), strict=True))
            drawn.sort(key=lambda pair: made.tree.tokens[pair[1]])
            tries[node] = [row for row, _ in drawn]
            offers[node] = tuple(child for _, child in drawn)
        return replace(
            made, tree=replace(made.tree, offers=offers), apart=Apart(made.apart.nodes, tries)
        )


@pytest.mark.parametrize("bug", [OneLaw, Swapped, SurestFirst], ids=lambda bug: bug.__name__)
def test_a_wrong_law_or_order_bends_the_text(bug: type[MergedDrafter]) -> None:
    world = WORLDS["one token overrated"](3)
    sound = merging(world, [OTHERS["one more"]])

    def build(models: Models) -> Decoder:
        drafter = sequences([world.draft, OTHERS["one more"]], world.size)
        return Decoder(bug(drafter._drafters), OWN_LAWS)

    assert error(sound, world, Law(1), rounds=1) < TOLERANCE
    assert error(build, world, Law(1), rounds=1) > HARM


def drafts_of(law: Law, seeds: int = 30, length: int = 2) -> list[Draft]:
    """Return drafts of two toy drafters with six tokens."""
    found: list[Draft] = []
    for seed in range(seeds):
        drafter = sequences([SIX.draft, OTHER], 6, length)
        drafter.begin(SIX.prompt, SIX.models()[0].open(SIX.prompt[:-1]))
        found.append(drafter.propose(Context(SIX.prompt, law), 9, SeededDice(seed)))
    return found


def test_what_sequences_have_in_common_is_one_path() -> None:
    seen: set[tuple[str, ...]] = set()
    for draft in drafts_of(Law(1)):
        tree, own = draft.tree, draft.apart
        assert own is not None
        assert draft.sampling is SEPARATE
        assert len(own.nodes) == len(draft.q if draft.q is not None else ()) == 4
        assert draft.scored == list(own.nodes)
        assert sum(len(rows) for rows in own.tries.values()) == 4
        assert all(len(own.tries[n]) == len(tree.tries(n)) for n in own.tries)
        assert 2 <= tree.drafted <= 4
        for node in range(1, len(tree)):
            both = set(draft.sources[node].split("+")) == {"a", "b"}
            assert both == (tree.counts[node] == 2)
        seen.add(tuple(draft.sources[1:3]))
    assert {("a", "b"), ("b", "a"), ("a+b", "a"), ("a+b", "b")} & seen > {("a", "b")}


def test_fixed_tokens_are_tried_once_in_the_order_of_the_drafters() -> None:
    for draft in drafts_of(Law(0), seeds=3):
        tree = draft.tree
        assert draft.sampling is FIXED
        assert not tree.offers
        assert draft.sources[1] in ("a", "a+b")
        assert max(tree.counts) == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_record_has_each_token_under_its_own_law(temperature: float) -> None:
    vocabulary = dict.fromkeys(range(6), b"x")
    rounds, text = recorded(temperature), list(SIX.prompt)
    for made in rounds:
        assert list(round_problems(made, vocabulary)) == []
        nodes = made.nodes
        for node in range(1, len(nodes.token)):
            path = [node]
            while path[-1]:
                path.append(nodes.parent[path[-1]])
            context = (*text, *(nodes.token[step] for step in path[-2:0:-1]))
            table = SIX.draft if nodes.source[node].startswith("a") else OTHER
            law = table(context)
            scaled = law[nodes.token[node]] / sum(law)
            assert nodes.q_raw[node] == pytest.approx(scaled, rel=1e-5)
        text += made.outcome.emitted
    assert any(max(made.nodes.count) > 1 for made in rounds) == (temperature > 0)


def test_other_rules_refuse_such_drafts() -> None:
    offer = sequences([hashed(3, 1), hashed(3, 2)], 3).offer(greedy=False)
    assert offer.samplings == {SEPARATE}
    check_fit(OWN_LAWS, offer)
    for key, part in rules().items():
        if key != "membership":  # which draws from p whatever was drafted
            with pytest.raises(ValueError, match=r"a law of its own|a single path"):
                check_fit(part.make(), offer)
    scores, context = Scores(torch.zeros((3, 6))), Context((0,), Law(1))
    with pytest.raises(ValueError, match="not valid for siblings drawn each from a law of its own"):
        RecursiveRejection().prepare(drafts_of(Law(1), 1)[0], scores, context)


PARTS_OF_TARGET: list[dict[str, object]] = [
    {"drafter": "skip", "skip_layers": [1], "others": ["exit-2"], "length": 3},
    {"drafter": "model", "others": ["exit-1", "skip-0-2"], "length": 2},
]


@pytest.mark.parametrize("settings", PARTS_OF_TARGET, ids=str)
def test_parts_of_a_target_draft_side_by_side_and_write_its_greedy_text(
    settings: dict[str, object],
) -> None:
    models = Models(wrapped(tiny("llama")), wrapped(tiny("gpt2", seed=1)))

    def text(key: str, values: dict[str, object]) -> tuple[list[int], int]:
        state = start([3, 1, 4], models.target, get(key).build(values, models), Law(0), 30)
        drafted = sum(made.drafted for made in decode(state, SeededDice(0), lambda: 0.0))
        return state.tokens, drafted

    merged, drafted = text("specinfer", {"construction": "merge", **settings})
    assert drafted > 20
    assert merged == text("plain", {})[0]


def test_settings_of_the_merge() -> None:
    method = get("specinfer")
    merge = {"construction": "merge", "others": ["exit-28", "skip-4-20"], "length": 6}
    config = method.configure(merge)
    assert config.most_nodes() == 18
    assert {"others", "length"} <= set(config.applied())
    assert "tree" not in config.applied()
    idle = method.configure({})
    assert "others" not in idle.applied()
    assert idle.most_nodes() == 20
    for name in ("exit", "exit-x", "exit-1-2", "skip", "skip-", "head-3", "model"):
        with pytest.raises(ValueError, match="is no part of the target; write skip-12-18 or"):
            method.configure({"others": [name]})
    most = {"construction": "merge", "others": ["exit-3"] * 7, "length": 32}
    assert method.configure(most).most_nodes() == MAX_NODES
    with pytest.raises(ValueError, match="at most 7"):
        method.configure({"others": ["exit-3"] * 8})
