"""Every number of the record is the number of the whole laws, and every verdict has its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import torch

from core.decode import Decoder, decode, start
from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.laws import Law
from core.models.base import Scores
from core.models.toy import ToyModel
from core.record import Recorded, record
from core.registry import Models, get
from core.shapes.levels import Levels
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.validate import validate_round
from core.verify.base import Context, Outcome, Table
from core.verify.rejection import RecursiveRejection
from tests import slow_record
from tests.drafts import Replaced
from tests.slow_record import Decided
from tests.toys import broad

PROMPT = [0, 1, 2, 0, 1]
LAWS = {
    "T=0": Law(0),
    "T=0.7": Law(0.7),
    "T=1": Law(1),
    "top-k": Law(1, top_k=4),
    "top-p": Law(0.7, top_p=0.8),
}
EOS = 3


@dataclass(frozen=True)
class Kept:
    """A round, and all that it knew."""

    round: Round
    known: Decided


def models(size: int) -> Models:
    return Models(ToyModel(broad(size, 31, 3.0), size), ToyModel(broad(size, 32, 3.0), size))


def rounds_of(decoder: Decoder, target: ToyModel, law: Law, new: int = 14) -> list[Kept]:
    def keep(
        draft: Draft,
        scores: Scores,
        table: Table,
        outcome: Outcome,
        context: Context,
        eos: int | None,
    ) -> Recorded:
        known.append(Decided(draft, scores, outcome, context))
        return record(draft, scores, table, outcome, context, eos)

    known: list[Decided] = []
    state = start(PROMPT, target, decoder, law, new, eos=EOS, recorder=keep)
    made = list(decode(state, SeededDice(5), lambda: 0.0))
    return [Kept(*pair) for pair in zip(made, known, strict=True)]


def chains(size: int, law: Law) -> list[Kept]:
    own = models(size)
    return rounds_of(get("speculative_sampling").build({"drafter": "model"}, own), own.target, law)


def trees(size: int, law: Law) -> list[Kept]:
    own = models(size)
    return rounds_of(get("rsd").build({"drafter": "model", "tree": [3, 2]}, own), own.target, law)


def lookups(size: int, law: Law) -> list[Kept]:
    own = models(size)
    return rounds_of(get("prompt_lookup").build({"ngram": 1, "length": 4}, own), own.target, law)


def replaced(size: int, law: Law) -> list[Kept]:
    own = models(size)
    drafter = ModelDrafter(lambda prompt, _: own.draft.open(prompt), Replaced((3, 2)), "toy")
    return rounds_of(Decoder(drafter, RecursiveRejection()), own.target, law)


Maker = Callable[[int, Law], list[Kept]]
MAKERS: list[Maker] = [chains, trees, lookups, replaced]
CASES = [(maker, size, name) for maker in MAKERS for size in (7, 50) for name in LAWS]
cases = pytest.mark.parametrize(("maker", "size", "law"), CASES)


def close(ours: float | None, theirs: float | None) -> bool:
    """Six digits are kept; a difference that small counts as none."""
    if ours is None or theirs is None:
        return ours is theirs
    return ours == pytest.approx(theirs, rel=5.1e-6, abs=1e-9)


@cache
def made_by(maker: Maker, size: int, law: str) -> list[Kept]:
    return maker(size, LAWS[law])


@cases
def test_scalars_are_those_of_the_whole_laws(maker: Maker, size: int, law: str) -> None:
    for kept in made_by(maker, size, law):
        known, tree, scalars = kept.known, kept.known.draft.tree, kept.round.scalars
        for node in range(len(tree)):
            p, raw = known.p(node), known.p_raw(node)
            assert close(scalars.entropy_p[node], slow_record.entropy(raw))
            assert close(scalars.h3[node], slow_record.h3(raw))
            assert close(scalars.p_max[node], float(raw.max()))
            assert close(scalars.p_eos[node], float(raw[EOS]))
            logits = known.scores.logits[node].tolist()
            assert close(scalars.top2_gap[node], slow_record.gap(logits))
            q, q_raw = known.q(node), known.q_raw(node)
            if q is None or q_raw is None:
                columns = (
                    scalars.entropy_q,
                    scalars.overlap,
                    scalars.tv,
                    scalars.kl_qp,
                    scalars.kl_pq,
                )
                assert all(column[node] is None for column in columns)
                assert scalars.target_rank_in_q[node] is None
                continue
            assert close(scalars.entropy_q[node], slow_record.entropy(q_raw))
            overlap = float(np.minimum(p, q).sum())
            assert close(scalars.overlap[node], overlap)
            assert scalars.tv[node] == pytest.approx(1 - overlap, abs=1.1e-6)
            assert close(scalars.kl_qp[node], slow_record.divergence(q, p))
            assert close(scalars.kl_pq[node], slow_record.divergence(p, q))
            assert scalars.target_rank_in_q[node] == slow_record.rank(q_raw, int(raw.argmax()))


@cases
def test_nodes_carry_the_numbers_of_their_own_token(maker: Maker, size: int, law: str) -> None:
    for kept in made_by(maker, size, law):
        known, tree, nodes = kept.known, kept.known.draft.tree, kept.round.nodes
        assert (nodes.token, nodes.parent) == (list(tree.tokens), list(tree.parents))
        assert kept.round.scalars.rank_in_p[0] is None
        assert nodes.p[0] is nodes.p_raw[0] is nodes.q[0] is nodes.q_raw[0] is None
        for node in range(1, len(tree)):
            token, parent = tree.tokens[node], tree.parents[node]
            assert close(nodes.p[node], float(known.p(parent)[token]))
            assert close(nodes.p_raw[node], float(known.p_raw(parent)[token]))
            rank = slow_record.rank(known.p_raw(parent), token)
            assert kept.round.scalars.rank_in_p[node] == rank
            assert nodes.rank[node] == tree.children(parent).index(node)
            q, q_raw = known.q(parent), known.q_raw(parent)
            assert close(nodes.q_before_siblings[node], None if q is None else float(q[token]))
            assert close(nodes.q_raw[node], None if q_raw is None else float(q_raw[token]))
            assert close(nodes.q[node], law_drawn_from(known, node))


def law_drawn_from(known: Decided, node: int) -> float | None:
    """Return q of a node's token under the law that it was drawn from: earlier siblings removed."""
    tree, parent = known.draft.tree, known.draft.tree.parents[node]
    sampling, q = known.draft.sampling_at(parent), known.q(parent)
    if sampling is Sampling.DETERMINISTIC or q is None:
        return None
    earlier = [tree.tokens[s] for s in tree.children(parent)[: tree.ranks[node]]]
    spent = float(q[earlier].sum()) if sampling is Sampling.DISTINCT else 0.0
    return float(q[tree.tokens[node]]) / (1 - spent)


@cases
def test_kept_laws_hold_both_top_sets_what_was_offered_and_the_mass_of_all_others(
    maker: Maker, size: int, law: str
) -> None:
    for kept in made_by(maker, size, law):
        known, tree = kept.known, kept.known.draft.tree
        assert [entry.node for entry in kept.round.laws] == list(range(len(tree)))
        for entry in kept.round.laws:
            p, raw, q_raw = known.p(entry.node), known.p_raw(entry.node), known.q_raw(entry.node)
            assert len(set(entry.token)) == len(entry.token)
            count = known.listed(entry.node)
            wanted = set(np.argsort(-raw)[:count].tolist())
            wanted |= {tree.tokens[child] for child in tree.children(entry.node)}
            wanted |= set() if q_raw is None else set(np.argsort(-q_raw)[:count].tolist())
            assert wanted <= set(entry.token)
            assert len(entry.token) <= len(wanted) + 1  # the final token
            columns = [(entry.p, entry.p_rest, p), (entry.p_raw, entry.p_raw_rest, raw)]
            if q_raw is None:
                assert entry.q is entry.q_raw is entry.q_rest is entry.q_raw_rest is None
            else:
                columns += [(entry.q, entry.q_rest, known.q(entry.node))]
                columns += [(entry.q_raw, entry.q_raw_rest, q_raw)]
            for column, rest, whole in columns:
                assert all(
                    close(x, float(whole[t])) for t, x in zip(entry.token, column, strict=True)
                )
                others = 1 - float(whole[entry.token].sum())
                assert rest == pytest.approx(others, abs=4e-6)
        if kept.known.outcome.final is not None:
            end = kept.round.laws[kept.known.outcome.end]
            assert kept.known.outcome.final in end.token


def test_the_final_token_and_what_was_offered_are_kept_however_unlikely_they_were() -> None:
    size, seen = 400, 0
    flat = ToyModel(lambda _: [1 / size] * size, size)
    drafter = ModelDrafter(lambda prompt, _: flat.open(prompt), Levels((2, 1)), "toy")
    for kept in rounds_of(Decoder(drafter, RecursiveRejection()), flat, Law(1), new=30):
        outcome, tree = kept.known.outcome, kept.known.draft.tree
        assert outcome.final in kept.round.laws[outcome.end].token or outcome.final is None
        for node in range(1, len(tree)):
            assert tree.tokens[node] in kept.round.laws[tree.parents[node]].token
        seen += len(outcome.path) > 0 and outcome.final is not None
    assert seen > 3


@cases
def test_residuals_and_the_final_law_are_what_rejections_left(
    maker: Maker, size: int, law: str
) -> None:
    for kept in made_by(maker, size, law):
        known, residuals = kept.known, kept.round.residuals
        expected = known.rejected_laws()
        assert [r.after for r in residuals] == [child for child, _, _ in expected]
        for ours, (child, left, remains) in zip(residuals, expected, strict=True):
            assert ours.node == known.draft.tree.parents[child]
            assert close(ours.left, left)
            assert ours.mass == pytest.approx(slow_record.largest(remains), rel=5.1e-6, abs=1e-9)
            assert all(
                close(m, float(remains[t])) for t, m in zip(ours.token, ours.mass, strict=True)
            )
            assert ours.rest == pytest.approx(1 - sum(ours.mass), abs=2.1e-6)
        top = kept.round.outcome.final_top
        assert (top is None) == (known.outcome.final is None)
        if top is not None:
            assert top.mass == pytest.approx(
                slow_record.largest(known.final_law()), rel=5.1e-6, abs=1e-9
            )


@cases
def test_rounds_of_the_loop_are_valid_traces(maker: Maker, size: int, law: str) -> None:
    vocabulary = dict.fromkeys(range(size), b"x")
    for kept in made_by(maker, size, law):
        validate_round(kept.round, vocabulary)


@pytest.mark.parametrize("law", LAWS)
def test_in_single_precision_over_a_real_vocabulary_the_numbers_are_the_same(law: str) -> None:
    size, generator = 20_000, torch.Generator().manual_seed(0)
    logits = torch.randn((4, size), generator=generator) * 3
    mine = logits[:3] + torch.randn((3, size), generator=generator)
    tokens = (1, *(int(row.argmax()) for row in mine))
    used, tree = LAWS[law], DraftTree(tokens, (-1, 0, 1, 2))
    sampling = Sampling.DETERMINISTIC if used.is_greedy else Sampling.DISTINCT
    draft = Draft(tree, sampling, q=used(mine), logits=mine, rows={0: 0, 1: 1, 2: 2})
    scores, context = Scores(logits), Context((1,), used)
    table = RecursiveRejection().prepare(draft, scores, context)
    outcome = table.walk(SeededDice(0), 1)
    ours = record(draft, scores, table, outcome, context, EOS)
    known = Decided(draft, scores, outcome, context)
    near = {"rel": 1e-4, "abs": 1e-6}
    for node in range(3):
        p, q, raw, q_raw = known.p(node), known.q(node), known.p_raw(node), known.q_raw(node)
        assert q is not None
        assert q_raw is not None
        scalars = ours.scalars
        assert scalars.entropy_p[node] == pytest.approx(slow_record.entropy(raw), **near)
        assert scalars.entropy_q[node] == pytest.approx(slow_record.entropy(q_raw), **near)
        assert scalars.overlap[node] == pytest.approx(float(np.minimum(p, q).sum()), **near)
        for found, expected in (
            (scalars.kl_qp[node], slow_record.divergence(q, p)),
            (scalars.kl_pq[node], slow_record.divergence(p, q)),
        ):
            assert (found is None) == (expected is None)
            assert found is None or found == pytest.approx(expected, **near)
        assert scalars.target_rank_in_q[node] == slow_record.rank(q_raw, int(raw.argmax()))


def reasons(kept: Kept) -> Mapping[int, tuple[str, str]]:
    """Return what the state and the reason of each node should be, in the words of the rule."""
    known = kept.known
    tree, path = known.draft.tree, known.outcome.path
    verdicts = {check.node: check.passed for check in known.outcome.checks}
    greedy = known.context.law.is_greedy
    expected: dict[int, tuple[str, str]] = {0: ("root", "")}
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        fixed = known.draft.sampling_at(parent) is Sampling.DETERMINISTIC
        words = (
            ("argmax", "not_argmax")
            if greedy
            else ("u<p", "u>=p")
            if fixed
            else ("u<p/q", "u>=p/q")
        )
        siblings = [s for s in tree.children(parent) if s in path]
        if node in verdicts:
            passed = verdicts[node]
            expected[node] = ("accepted", words[0]) if passed else ("rejected", words[1])
        elif expected[parent][0] in ("root", "accepted"):
            expected[node] = ("unreached", "sibling_accepted" if siblings else "text_ended")
        elif expected[parent][0] == "rejected":
            expected[node] = ("unreached", "parent_rejected")
        else:
            expected[node] = ("unreached", "parent_unreached")
    return expected


@cases
def test_every_node_has_its_state_and_its_reason(maker: Maker, size: int, law: str) -> None:
    for kept in made_by(maker, size, law):
        found = list(zip(kept.round.nodes.state, kept.round.nodes.reason, strict=True))
        assert found == [reasons(kept)[node] for node in range(len(found))]


def test_all_verdicts_and_reasons_occur_in_these_rounds() -> None:
    seen = {
        reason
        for maker, size, law in CASES
        for kept in made_by(maker, size, law)
        for reason in kept.round.nodes.reason
    }
    drawn = {"u<p/q", "u>=p/q", "sibling_accepted", "parent_rejected", "parent_unreached"}
    assert seen >= drawn | {"", "argmax", "not_argmax", "u<p", "u>=p"}


def test_a_probe_is_recorded_as_scored_and_not_offered() -> None:
    tree = DraftTree((1, 2, 3, 4), (-1, 0, 0, 2), roles=("draft", "draft", "probe", "probe"))
    logits = torch.randn((4, 7), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    draft, scores, context = Draft(tree), Scores(logits), Context((1,), Law(1))
    table = RecursiveRejection().prepare(draft, scores, context)
    outcome = table.walk(SeededDice(0), 1)
    found = record(draft, scores, table, outcome, context, None)
    assert found.nodes.state[2:] == ["probe", "probe"]
    assert len(found.laws) == len(found.scalars.entropy_p) == 4
    assert all(check.node == 1 for check in outcome.checks)


def test_without_an_end_token_there_is_no_number_for_it() -> None:
    scores, context = Scores(torch.zeros((1, 3))), Context((1,), Law(1))
    draft = Draft(DraftTree.root(1))
    table = RecursiveRejection().prepare(draft, scores, context)
    outcome = table.walk(SeededDice(0), 1)
    assert record(draft, scores, table, outcome, context, None).scalars.p_eos == [None]
    assert record(draft, scores, table, outcome, context, 2).scalars.p_eos == [0.333333]


def test_one_token_in_the_vocabulary_leaves_no_second_to_compare_with() -> None:
    target = ToyModel(lambda _: [1.0], 1)
    levels = ModelDrafter(lambda prompt, _: target.open(prompt), Levels((1, 1)), "toy")
    state = start([0], target, Decoder(levels, RecursiveRejection()), Law(1), 5, eos=0)
    for made in decode(state, SeededDice(0), lambda: 0.0):
        validate_round(made, {0: b"x"})
        assert made.scalars.top2_gap == [None] * len(made.nodes.token)
        assert made.scalars.p_max == [1.0] * len(made.nodes.token)
        assert made.scalars.entropy_p == [0.0] * len(made.nodes.token)
