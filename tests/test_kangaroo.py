"""Kangaroo on real sessions: its cache is a recomputation, its drafts leave the target's text as it
is, and no layer runs twice on a token.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.decode import Decoder, State, decode, start
from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.extras import AdapterExtras
from core.heads.kangaroo import Adapter, Kangaroo, KangarooSession
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.base import FINAL, Scores
from core.models.hf import HFModel
from core.registry import Models, get
from core.shapes.base import TreePolicy
from core.shapes.eagle2 import ExpandRerank
from core.shapes.levels import Levels
from core.shapes.stops import Confidence
from core.trace import Round
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Table
from core.verify.rejection import RecursiveRejection
from tests.test_following import _Cut
from tests.test_model_drafter import Half
from tests.tiny import VOCABULARY, slow_logits, tiny, wrapped
from tests.toy_heads import shaken

EXIT, LAYERS = 2, 5
TEXT = [5, 9, 2, 7, 5]
TOLERANCE = 2e-5
TRIMMED = DraftVocabulary.of(torch.arange(0, VOCABULARY, 2), VOCABULARY)
SHAPES: dict[str, TreePolicy] = {
    "a chain": Levels((1, 1, 1, 1)),
    "one token": Levels((1,)),
    "a tree": Levels((3, 2, 1)),
    "half of a tree": Half(),
    "expand and rerank": ExpandRerank(3, 9, 2),
}


def kangaroo(
    model: PreTrainedModel, exit_layer: int = EXIT, vocabulary: DraftVocabulary = TRIMMED
) -> Kangaroo:
    target = TargetWeights.of(wrapped(model))
    adapter = Adapter(target.shape)
    shaken(adapter, 4, 0.4)
    return Kangaroo.of(adapter, exit_layer, target, vocabulary)


@torch.inference_mode()
def early(model: PreTrainedModel, text: Sequence[int], exit_layer: int = EXIT) -> Tensor:
    """Return the states (T, D) after the early layers of one plain pass."""
    out = model.model(torch.tensor([list(text)]), use_cache=False, output_hidden_states=True)
    return out.hidden_states[exit_layer][0]


@torch.inference_mode()
def slow_draft(model: PreTrainedModel, head: Kangaroo, text: Sequence[int]) -> Tensor:
    """Return logits (V,) after a text, everything computed anew."""
    states = early(model, text, head.exit_layer)[None]
    outputs = head.adapter(states, torch.arange(len(text))[None])
    return head.vocabulary.spread(outputs[:, -1] @ head.rows.T)[0]


@torch.inference_mode()
def slow_keys(model: PreTrainedModel, head: Kangaroo, text: Sequence[int]) -> Tensor:
    """Return the adapter's keys (1, G, T, d) of a text, computed anew."""
    inner = Adapter(head.adapter.shape).to(head.rows.dtype)
    inner.load_state_dict(head.adapter.state_dict())
    kept: list[Tensor] = []
    mix = inner.layers[0].self_attn.mix
    inner.layers[0].self_attn.mix = lambda q, k, v, mask: (kept.append(k), mix(q, k, v, mask))[1]
    inner(early(model, text, head.exit_layer)[None], torch.arange(len(text))[None])
    return kept[0]


@dataclass
class Watch:
    """A rule that checks every law of the draft, and the adapter's rows, before it decides."""

    model: PreTrainedModel
    head: Kangaroo
    drafter: ModelDrafter
    keeps_back: bool = False
    samplings: frozenset[Sampling] = frozenset(Sampling)
    name: str = "Watch"
    chain_only: bool = False
    seen: list[Draft] = field(default_factory=list)

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> Table:
        for node, row in draft.rows.items():
            path = [draft.tree.tokens[n] for n in draft.tree.path(node)[1:]]
            slow = slow_draft(self.model, self.head, [*context.tokens, *path])
            assert draft.logits is not None
            torch.testing.assert_close(draft.logits[row], slow, rtol=0, atol=TOLERANCE)
        if draft.rows:
            self.check_rows(context.tokens[:-1])
        self.seen.append(draft)
        table = RecursiveRejection().prepare(draft, scores, context)
        return _Cut(table) if self.keeps_back else table

    def check_rows(self, text: Sequence[int]) -> None:
        session = self.drafter._session
        assert isinstance(session, KangarooSession)
        assert session._settled == len(text) == session.length
        ours = session._cache._keys[0][:, :, : len(text)]
        torch.testing.assert_close(
            ours, slow_keys(self.model, self.head, text), rtol=0, atol=TOLERANCE
        )


def run(
    model: PreTrainedModel,
    head: Kangaroo,
    policy: TreePolicy,
    law: Law,
    new: int = 24,
    threshold: float = 0.0,
    keeps_back: bool = False,
) -> tuple[State, list[Round], Watch]:
    stops = [Confidence(threshold)] if threshold else []
    drafter = ModelDrafter(head.open, policy, "kangaroo", stops, taps=head.taps)
    watch = Watch(model, head, drafter, keeps_back)
    state = start(TEXT, wrapped(model), Decoder(drafter, watch), law, new)
    return state, list(decode(state, SeededDice(3), lambda: 0.0)), watch


def greedy_text(model: PreTrainedModel, length: int) -> list[int]:
    text = list(TEXT)
    while len(text) < length:
        text.append(int(slow_logits(model, text)[-1].argmax()))
    return text


@pytest.mark.parametrize("keeps_back", [False, True], ids=["", "the root scored again"])
@pytest.mark.parametrize("policy", SHAPES)
def test_every_law_and_every_row_is_that_of_a_recomputation(policy: str, keeps_back: bool) -> None:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    _, rounds, watch = run(model, head, SHAPES[policy], Law(2), 40, keeps_back=keeps_back)
    assert sum(made.drafted > 0 for made in rounds) > 4
    assert any(made.outcome.accepted for made in rounds)
    assert len(watch.seen) == len(rounds)


@pytest.mark.parametrize("threshold", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("exit_layer", [1, 3])
def test_a_greedy_text_is_the_target_s_own(exit_layer: int, threshold: float) -> None:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model, exit_layer, DraftVocabulary.whole(VOCABULARY))
    state, rounds, _ = run(model, head, Levels((1,) * 6), Law(0), 36, threshold)
    assert state.tokens == greedy_text(model, len(state.tokens))
    assert len(state.tokens) == len(TEXT) + 36
    assert all(made.drafted <= 6 for made in rounds)


def perfect() -> tuple[PreTrainedModel, Kangaroo]:
    """Return a target whose only layer after the exit is an attention, and that layer as adapter:
    it must be right every time, unless a row, a position or a token is off by one.
    """
    model = copy.deepcopy(tiny("llama", layers=3, seed=2))
    last = model.model.layers[2]
    nn.init.zeros_(last.mlp.down_proj.weight)
    target = TargetWeights.of(wrapped(model))
    adapter = Adapter(target.shape)
    parts = {f"self_attn.{x}_proj.weight": f"{x}_proj" for x in "qkvo"}
    state = {f"layers.0.{key}": getattr(last.self_attn, name).weight for key, name in parts.items()}
    state["layers.0.input_layernorm.weight"] = last.input_layernorm.weight
    adapter.load_state_dict({**state, "norm.weight": model.model.norm.weight})
    whole = DraftVocabulary.whole(VOCABULARY)
    return model, Kangaroo.of(adapter, 2, target, whole)


@pytest.mark.parametrize("law", [Law(0), Law(1), Law(0.7, top_k=5)], ids=["T=0", "T=1", "top-k"])
def test_an_adapter_that_is_perfect_is_accepted_to_the_last_token(law: Law) -> None:
    model, head = perfect()
    _, rounds, watch = run(model, head, Levels((1, 1, 1)), law, 30)
    drafted = [made for made in rounds if made.drafted]
    assert len(drafted) > 5
    assert all(len(made.outcome.accepted) == made.drafted for made in drafted)
    taken = [e.taken for made in drafted for e in made.extras if isinstance(e, AdapterExtras)]
    assert taken == [len(TEXT), *[1] * (len(drafted) - 1)]  # the last token of a draft that stayed
    assert watch.seen


@pytest.mark.parametrize("moved", [-1, 1])
def test_a_position_off_by_one_would_show(moved: int) -> None:
    model, head = perfect()

    class Moved(Adapter):
        def forward(self, states, positions, mask=None, cache=None):
            drafts = positions.shape[1] == 1
            return super().forward(states, positions + moved * drafts, mask, cache)

    other = Moved(head.adapter.shape)
    other.load_state_dict(head.adapter.state_dict())
    wrong = Kangaroo(other.eval(), head.exit_layer, head.rows, head.vocabulary)
    with pytest.raises(AssertionError, match="not close"):
        run(model, wrong, Levels((1, 1, 1)), Law(1), 30)


@contextmanager
def counted(model: HFModel, found: Counter[int]) -> Iterator[None]:
    """Count the rows that each layer runs."""
    pieces = model._anatomy
    assert pieces is not None
    attend: Callable[..., Tensor] = pieces.attend

    def counting(layer: int, hidden: Tensor, shared: object) -> Tensor:
        found[layer] += hidden.shape[1]
        return attend(layer, hidden, shared)

    pieces.attend = counting
    try:
        yield
    finally:
        del pieces.attend


def test_no_layer_runs_twice_on_a_token() -> None:
    model = tiny("llama", layers=LAYERS)
    target, head = wrapped(model), kangaroo(model)
    session = target.open(TEXT[:-1])
    first = session.score(DraftTree.root(TEXT[-1]), 0, head.taps)
    session.keep((0,))
    drafter = head.open(TEXT, session)
    assert isinstance(drafter, KangarooSession)
    drafter.learn(first.features, [*TEXT[1:], 3])
    chain = DraftTree((3, 8, 4, 6), (-1, 0, 1, 2))
    found = Counter[int]()
    with counted(target, found):
        for length in (
            1,
            2,
            3,
        ):  # the fourth token is the last drafted: nobody asks what follows it
            scores = drafter.score(chain.pruned(length - 1), length - 1)
            assert (scores.ran, scores.reused) == (2 * EXIT + 1, 0)
        assert found == dict.fromkeys(range(EXIT), 3)
        verified = session.score(chain, 0, head.taps, drafter.resume())
    assert found == dict.fromkeys(range(LAYERS), 4)
    assert verified.reused == 2 * EXIT
    torch.testing.assert_close(
        verified.logits, slow_logits(model, [*TEXT, *chain.tokens])[-4:], rtol=0, atol=TOLERANCE
    )


def test_the_last_token_of_a_draft_that_stays_enters_with_the_next_one() -> None:
    model = tiny("llama", layers=LAYERS)
    session, head = wrapped(model).open(TEXT[:-1]), kangaroo(model)
    first = session.score(DraftTree.root(TEXT[-1]), 0, head.taps)
    session.keep((0,))
    drafter = head.open(TEXT, session)
    assert isinstance(drafter, KangarooSession)
    drafter.learn(first.features, [*TEXT[1:], 3])
    text, kept, behind = [*TEXT, 3], list[int](), list[int]()
    for path in ((0, 1, 2), (0, 1), (0,), (0, 1, 2)):
        chain = DraftTree((text[-1], 8, 4), (-1, 0, 1))
        drafter.score(chain.pruned(0))
        drafter.score(chain.pruned(1), 1)
        found = drafter.review({}, {0: 0, 1: 1})
        assert isinstance(found, AdapterExtras)
        behind.append(found.taken)
        scores = session.score(chain, 0, head.taps, drafter.resume())
        session.keep(path)
        drafter.keep([node for node in path if node < 2])
        text += [chain.tokens[node] for node in path[1:]] + [7]
        drafter.learn({EXIT: scores.features[EXIT][list(path)]}, text[-len(path) :])
        kept.append(session.length)
        assert drafter.length == len(text) - 1 == session.length
    assert behind == [len(TEXT), 1, 0, 0]
    assert kept == sorted(kept)


def test_a_token_below_the_threshold_is_checked_and_the_last_one() -> None:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    _, rounds, _ = run(model, head, Levels((1,) * 6), Law(1), 42, threshold=0.12)
    stopped = [made for made in rounds if made.stop and made.stop.reason == "confidence"]
    assert stopped
    assert any(made.drafted > 1 for made in stopped)
    for made in stopped:
        assert made.stop is not None
        given = made.nodes.q
        assert given[-1] == pytest.approx(made.stop.value, rel=1e-5)
        assert given[-1] < 0.12
        assert all(q is not None and q >= 0.12 for q in given[1:-1])
        (extra,) = (e for e in made.extras if isinstance(e, AdapterExtras))
        assert extra.node == list(range(made.drafted))  # all but the last token drafted
        assert (extra.layers, extra.exit_layer) == (LAYERS, EXIT)
        assert made.cost.sublayers_reused == 2 * EXIT


def test_at_temperature_0_confidence_is_that_of_temperature_1() -> None:
    model = tiny("llama", layers=LAYERS)
    _, rounds, _ = run(model, kangaroo(model), Levels((1,) * 6), Law(0), 40, threshold=0.3)
    stopped = [made for made in rounds if made.stop and made.stop.reason == "confidence"]
    assert stopped
    for made in stopped:
        assert made.stop is not None
        assert made.nodes.q_raw[-1] == pytest.approx(made.stop.value, rel=1e-4)


def test_the_published_numbers_are_the_defaults() -> None:
    config = get("kangaroo").configure({})
    assert (config.length, config.threshold) == (6, 0.6)


def test_states_after_the_adapter_can_be_tapped() -> None:
    model = tiny("llama", layers=LAYERS)
    session, head = wrapped(model).open(TEXT[:-1]), kangaroo(model)
    first = session.score(DraftTree.root(TEXT[-1]), 0, head.taps)
    session.keep((0,))
    drafter = head.open(TEXT, session)
    drafter.learn(first.features, [*TEXT[1:], 3])
    scores = drafter.score(DraftTree.root(3), taps=(FINAL,))
    outputs = scores.features[FINAL]
    assert outputs.shape == (len(TEXT) + 1, 16)
    torch.testing.assert_close(
        scores.logits, head.vocabulary.spread(outputs[-1:] @ head.rows.T), rtol=0, atol=1e-6
    )


def test_nodes_may_be_scored_again_and_those_before_must_have_been() -> None:
    model = tiny("llama", layers=LAYERS)
    session, head = wrapped(model).open(TEXT[:-1]), kangaroo(model)
    first = session.score(DraftTree.root(TEXT[-1]), 0, head.taps)
    session.keep((0,))
    drafter = head.open(TEXT, session)
    assert isinstance(drafter, KangarooSession)
    drafter.learn(first.features, [*TEXT[1:], 3])
    tree, other = DraftTree((3, 8, 4), (-1, 0, 1)), DraftTree((3, 8, 6), (-1, 0, 1))
    with pytest.raises(ValueError, match="nodes before 1 were not scored"):
        drafter.score(tree, 1)
    drafter.score(tree)
    again = drafter.score(other, 2).logits[0]
    torch.testing.assert_close(
        again, slow_draft(model, head, [*TEXT, 3, 8, 6]), rtol=0, atol=TOLERANCE
    )
    resumed = session.score(other, 0, (), drafter.resume())
    torch.testing.assert_close(
        resumed.logits, slow_logits(model, [*TEXT, 3, 8, 6])[-3:], rtol=0, atol=TOLERANCE
    )


def test_a_target_without_layers_is_refused_in_a_sentence() -> None:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    with pytest.raises(ValueError, match="cannot draft with its own layers"):
        head.open(TEXT, wrapped(tiny("opt")).open(TEXT))


@pytest.mark.parametrize("exit_layer", [0, LAYERS])
def test_an_exit_that_the_target_lacks_is_refused(exit_layer: int) -> None:
    with pytest.raises(ValueError, match=f"has exits 1 to {LAYERS - 1}"):
        kangaroo(tiny("llama", layers=LAYERS), exit_layer)


def test_the_method_runs_with_the_head_that_is_found() -> None:
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    models = Models(wrapped(model), heads=lambda kind, weights="": head)
    state = start(TEXT, models.target, get("kangaroo").build({}, models), Law(0), 20)
    rounds = list(decode(state, SeededDice(0), lambda: 0.0))
    assert state.tokens == greedy_text(model, len(state.tokens))
    assert any(made.drafted for made in rounds)


OTHERS = {
    "merged with an early exit": ("specinfer", {"construction": "merge", "others": ["exit-3"]}),
    "an expansion": ("specinfer", {"tree": [2, 2, 1]}),
    "EAGLE-2's tree": ("eagle2", {}),
    "OPT-Tree": ("opt_tree", {}),
    "DySpec": ("dyspec", {}),
    "block verification": ("block_verification", {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_adapter_drafts_for_every_method(name: str) -> None:
    key, values = OTHERS[name]
    model = tiny("llama", layers=LAYERS)
    head = kangaroo(model)
    models = Models(wrapped(model), heads=lambda kind, weights="": head)
    decoder = get(key).build({**values, "drafter": "kangaroo"}, models)
    state = start(TEXT, models.target, decoder, Law(0), 24)
    rounds = list(decode(state, SeededDice(0), lambda: 0.0))
    assert state.tokens == greedy_text(model, len(state.tokens))
    assert any(made.drafted for made in rounds)
