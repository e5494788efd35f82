"""The session of heads over pairs says at every node what a recomputation from nothing says: after
each of several rounds, on chains and trees, whatever was accepted before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from core.decode import Decoder, State, decode, start, step
from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.drafters.source import Follower, Source
from core.extras import FeatureExtras
from core.heads.eagle import TAPS, EagleHead, eagle
from core.heads.eagle3 import Eagle3Head, default_taps, eagle3
from core.heads.following import Autoregressive
from core.heads.pairs import Pairs
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.base import FINAL, LanguageModel, Scores
from core.models.toy import ToyModel, hashed
from core.shapes.base import TreePolicy
from core.shapes.eagle2 import ExpandRerank
from core.shapes.levels import Levels
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Outcome, Table
from core.verify.rejection import RecursiveRejection
from tests.slow_eagle import Row, SlowHead
from tests.test_model_drafter import Half
from tests.tiny import slow_logits, tiny, wrapped
from tests.toy_heads import BUILDERS, shaken, some_rows

TOLERANCE = 1e-4  # rotations are computed in float32
SIZE = 5
KINDS = pytest.mark.parametrize("kind", ["eagle", "eagle3"])
SHAPES: dict[str, TreePolicy] = {
    "a chain": Levels((1, 1, 1, 1)),
    "a tree": Levels((3, 2, 1)),
    "one level": Levels((2,)),
    "half of a tree": Half(),
    "expand and rerank": ExpandRerank(3, 9, 2),
}

States = Callable[[Sequence[int]], Sequence[Row]]  # text -> its last position's states, by tap


@dataclass
class Watch:
    """A rule that checks every law of the draft before it decides."""

    head: SlowHead
    states: States
    leaves_out_final: bool = False
    samplings: frozenset[Sampling] = frozenset(Sampling) - {Sampling.TOP_AND_ONE}
    name: str = "Watch"
    chain_only: bool = False
    seen: list[Draft] = field(default_factory=list)

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> Table:
        text = context.tokens
        known = self.head.read(fused(self.head, self.states, text), text[1:])
        for node, row in draft.rows.items():
            path = [draft.tree.tokens[n] for n in draft.tree.path(node)[1:]]
            slow = self.head.logits(self.head.draft(known, path))
            assert draft.logits is not None
            torch.testing.assert_close(
                draft.logits[row].double(), torch.tensor(slow), rtol=TOLERANCE, atol=TOLERANCE
            )
        self.seen.append(draft)
        table = RecursiveRejection().prepare(draft, scores, context)
        return _Cut(table) if self.leaves_out_final else table


def fused(head: SlowHead, states: States, text: Sequence[int]) -> list[Row]:
    """Return the true features of all positions but the last token's."""
    return [head.fused(states(text[: n + 1])) for n in range(len(text) - 1)]


class _Cut:
    """A table that keeps back the target's own token after an accepted path: the last token of the
    path is then scored again, as the next root.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def walk(self, dice: Dice, position: int) -> Outcome:
        outcome = self._table.walk(dice, position)
        return replace(outcome, final=None, origin="none") if outcome.path else outcome


def run(
    target: LanguageModel,
    head: Pairs,
    watch: Watch,
    policy: TreePolicy,
    prompt: Sequence[int] = (1, 4, 0, 2),
    new: int = 16,
    temperature: float = 1.0,
) -> tuple[State, list[Round]]:
    drafter = ModelDrafter(head.open, policy, "head", taps=head.taps)
    state = start(prompt, target, Decoder(drafter, watch), Law(temperature), new)
    rounds: list[Round] = []
    while state.finished is None:
        rounds += step([state], SeededDice(3), lambda: 0.0)
    return state, rounds


def toy(kind: str, size: int = SIZE, context: int = 64) -> tuple[ToyModel, Pairs, States]:
    table = hashed(size, 1, 2.0)
    head = BUILDERS[kind](size)
    assert isinstance(head, Pairs)

    def states(text: Sequence[int]) -> Sequence[Row]:
        return [np.array(table(tuple(text)))] * len(head.taps)

    return ToyModel(table, size, context), head, states


@pytest.mark.parametrize("again", [False, True], ids=["", "the root scored again"])
@pytest.mark.parametrize("policy", SHAPES)
@KINDS
def test_every_law_is_that_of_a_recomputation(kind: str, policy: str, again: bool) -> None:
    target, head, states = toy(kind)
    watch = Watch(SlowHead(head), states, again)
    _, rounds = run(target, head, watch, SHAPES[policy])
    assert any(made.outcome.accepted for made in rounds)
    assert sum(len(draft.rows) > 1 for draft in watch.seen) > 2 or policy == "one level"


@KINDS
def test_a_text_longer_than_the_first_buffer_is_followed_to_its_end(kind: str) -> None:
    target, head, states = toy(kind, context=300)
    watch = Watch(SlowHead(head), states)
    prompt = [place * place % SIZE for place in range(248)]
    state, rounds = run(target, head, watch, Levels((2, 1, 1)), prompt, 18)
    assert len(state.tokens) == 266
    assert len(rounds) > 5


@KINDS
def test_so_it_is_with_a_real_target_s_hidden_states(kind: str) -> None:
    model = tiny("llama", layers=6)
    target = wrapped(model)
    weights = TargetWeights.of(target)
    head = made(kind, weights, trimmed=True)
    assert head.taps == ((FINAL,) if kind == "eagle" else (2, 3, 3))

    @torch.inference_mode()
    def states(text: Sequence[int]) -> Sequence[Row]:
        found = model(torch.tensor([list(text)]), output_hidden_states=True).hidden_states
        rows = {FINAL: found[-1], **dict(enumerate(found[:-1]))}
        return [rows[tap][0, -1].double().numpy() for tap in head.taps]

    watch = Watch(SlowHead(head), states)
    _, rounds = run(target, head, watch, Levels((3, 2, 1)), [5, 9, 2, 7, 5], 20)
    assert sum(made.drafted for made in rounds) > 20
    greedy, _ = run(target, head, watch, ExpandRerank(3, 9, 2), [5, 9, 2, 7, 5], 14, 0.0)
    text = greedy.tokens
    for place in range(5, len(text)):
        assert text[place] == int(slow_logits(model, text[:place])[-1].argmax())


def made(kind: str, target: TargetWeights, trimmed: bool) -> Pairs:
    ids = torch.arange(1, target.vocabulary_size, 2 if trimmed else 1)
    vocabulary = DraftVocabulary.of(ids, target.vocabulary_size)
    if kind == "eagle":
        module = EagleHead(target.shape, bias=False)
        shaken(module, 4, 0.3)
        return eagle(module, target, vocabulary)
    module3 = Eagle3Head(target.shape)
    shaken(module3, 4, 0.3)
    rows = some_rows(len(ids), target.shape.hidden, 5)
    return eagle3(module3, rows, default_taps(target.layers), target, vocabulary)


@KINDS
def test_a_session_opened_inside_a_text_goes_on_like_one_that_followed_it(kind: str) -> None:
    target, head, states = toy(kind)
    text, root = [1, 4, 0, 2, 3], 4
    source = Source(head.open, "head", head.taps)
    rows = [torch.tensor(states(text[: n + 1])[0]) for n in range(len(text))]
    fast = source.opened(text, root, target.open(text), dict.fromkeys(head.taps, torch.stack(rows)))
    slow = SlowHead(head)
    known = slow.read(fused(slow, states, [*text, root]), [*text[1:], root])
    tree = DraftTree((root, 2, 3, 1, 0), (-1, 0, 0, 1, 3))
    found = fast.score(tree).logits
    for node in range(len(tree)):
        path = [tree.tokens[n] for n in tree.path(node)[1:]]
        expected = slow.logits(slow.draft(known, path))
        torch.testing.assert_close(
            found[node], torch.tensor(expected), rtol=TOLERANCE, atol=TOLERANCE
        )


def opened(kind: str = "eagle") -> tuple[Autoregressive, Pairs]:
    target, head, states = toy(kind)
    session = head.open([1, 4], target.open([1, 4]))
    assert isinstance(session, Autoregressive)
    assert isinstance(session, Follower)
    rows = torch.tensor(np.stack([states([1])[0], states([1, 4])[0]]))
    session.learn(dict.fromkeys(head.taps, rows), [4, 0])
    return session, head


def test_a_draft_begins_where_the_text_ends_and_its_nodes_are_scored_in_order() -> None:
    session, _ = opened()
    with pytest.raises(ValueError, match="token that ends the text"):
        session.score(DraftTree.root(3))
    tree = DraftTree((0, 1, 2), (-1, 0, 1))
    with pytest.raises(ValueError, match="nodes before 1 were not scored"):
        session.score(tree, 1)
    session.score(tree.selected([0]))
    with pytest.raises(ValueError, match="nodes before 2 were not scored"):
        session.score(tree, 2)


def test_nodes_may_be_scored_again_and_forwards_are_counted_once() -> None:
    session, _ = opened()
    tree = DraftTree((0, 1, 2), (-1, 0, 1))
    first = session.score(tree)
    assert (first.forwards, first.ran) == (3, 6)
    again = session.score(DraftTree((0, 1, 4), (-1, 0, 1)), 2)
    assert again.forwards == 1
    third = session.score(tree, 1)
    assert third.forwards == 2
    torch.testing.assert_close(third.logits, first.logits[1:])
    root = session.score(DraftTree.root(0))
    assert (root.forwards, root.ran) == (0, 0)
    torch.testing.assert_close(root.logits, first.logits[:1])


def test_final_states_are_the_outputs_and_those_of_the_text_come_first() -> None:
    session, _ = opened()
    tree = DraftTree((0, 1), (-1, 0))
    both = session.score(tree.selected([0]), taps=(FINAL,)).features[FINAL]
    assert both.shape == (2, SIZE)
    more = session.score(tree, 1, (FINAL,)).features[FINAL]
    assert more.shape == (1, SIZE)
    again = session.score(tree, 0, (FINAL,)).features[FINAL]
    torch.testing.assert_close(again, torch.cat([both[1:], more]))
    assert session.score(tree).features == {}


@KINDS
def test_the_record_compares_outputs_with_the_target_s_features(kind: str) -> None:
    target, head, states = toy(kind)
    watch = Watch(SlowHead(head), states)
    state, rounds = run(target, head, watch, Levels((2, 1)))
    slow, compared, prompt = SlowHead(head), 0, 4
    tokens = list(state.tokens[:prompt])
    for made in rounds:
        text = tokens
        tokens = [*tokens, *made.outcome.emitted]
        found = [each for each in made.extras if isinstance(each, FeatureExtras)]
        assert bool(found) == bool(made.drafted)
        if not found:
            continue
        known = slow.read(fused(slow, states, text), text[1:])
        tree = DraftTree(tuple(made.nodes.token), tuple(made.nodes.parent))
        for node, cosine, length in zip(
            found[0].node, found[0].cosine, found[0].length, strict=True
        ):
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            own = slow.draft(known, path)
            theirs = slow.fused(states([*text, *path]))
            sizes = float(np.linalg.norm(own)), float(np.linalg.norm(theirs))
            assert cosine == pytest.approx(own @ theirs / sizes[0] / sizes[1], abs=1e-4)
            assert length == pytest.approx(sizes[0] / sizes[1], rel=1e-4)
            compared += 1
        assert found[0].settled >= 1
        assert found[0].taps == ([] if kind == "eagle" else [2, 3, 3])
    assert compared > 8


@dataclass
class Planted:
    """A head with one fault in how its session treats it."""

    head: Pairs
    fault: str

    def __getattr__(self, name: str) -> object:
        return getattr(self.head, name)

    def run(self, features: Tensor, tokens: Tensor, positions: Tensor, mask, cache) -> Tensor:
        if self.fault == "positions off by one for drafts" and len(tokens) == 1:
            positions = positions + 1
        if self.fault == "drafts keep their rows" and mask is not None:
            mask = torch.ones_like(mask)
        if self.fault == "no features" and len(tokens) > 1:
            features = torch.zeros_like(features)
        return self.head.run(features, tokens, positions, mask, cache)


@pytest.mark.parametrize(
    "fault", ["positions off by one for drafts", "drafts keep their rows", "no features"]
)
def test_the_watch_sees_planted_faults(fault: str) -> None:
    target, head, states = toy("eagle")
    watch = Watch(SlowHead(head), states)
    broken = Planted(head, fault)
    drafter = ModelDrafter(
        lambda text, session: Autoregressive(session, broken, torch.device("cpu")),
        Levels((3, 2, 1)) if "rows" in fault else Levels((1, 1, 1)),
        "head",
        taps=TAPS,
    )
    state = start((1, 4, 0, 2), target, Decoder(drafter, watch), Law(1), 16)
    with pytest.raises(AssertionError):
        list(decode(state, SeededDice(3), lambda: 0.0))
