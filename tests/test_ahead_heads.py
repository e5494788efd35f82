"""Heads that look ahead say what their formulas say, at the right place, round after round; and
their checkpoints are read in every published layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.decode import start, step
from core.dice import SeededDice
from core.extras import Glance, GroundedExtras, Hidden, LookaheadExtras
from core.heads.accuracy import Accuracy
from core.heads.base import Head
from core.heads.hydra import HydraBlocks, HydraHead, Reader, hydra
from core.heads.hydra_layouts import read_hydra
from core.heads.medusa import MedusaBlocks, MedusaHead, medusa
from core.heads.medusa_layouts import read_medusa
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.base import FINAL, LanguageModel
from core.models.toy import ToyModel
from core.registry import Models, get
from core.tree import DraftTree
from tests import ahead_checkpoints as made
from tests.exactness import unrecorded
from tests.tiny import slow_logits, tiny, wrapped
from tests.toy_heads import toy_heads

Reader_ = Callable[[Path, TargetWeights], MedusaHead | HydraHead]

MAP = torch.tensor([5, 2, 19, 11, 3, 8, 14])  # a token map need not ascend
ASCENDING = MAP.sort().values
TREE = DraftTree((7, 3, 8, 2, 9, 11), (-1, 0, 0, 1, 2, 3))
TEXT = (4, 1, 20, 3, 9, 9, 2, 15)

MEDUSA: Mapping[str, Callable[[PreTrainedModel], made.Checkpoint]] = {
    "heads, .pt": made.medusa_heads,
    "heads, .safetensors": lambda m: made.medusa_heads(m, file="medusa_lm_head.safetensors"),
    "blocks shared": lambda m: made.medusa_heads(m, blocks=2),
    "the target's reader": lambda m: made.medusa_heads(m, own=False),
    "the target's reader, some tokens": lambda m: made.medusa_heads(m, own=False, ids=ASCENDING),
    "whole model": lambda m: made.medusa_heads(m, before="medusa_head.", file="pytorch_model.bin"),
    "whole model, old": lambda m: made.medusa_heads(m, own=False, before="medusa_head."),
    "vLLM": made.medusa_vllm,
    "vLLM, bias, prefixed": lambda m: made.medusa_vllm(m, bias=True, before="medusa_heads."),
    "vLLM, some tokens": lambda m: made.medusa_vllm(m, MAP),
    "vLLM, some tokens, all rows": lambda m: made.medusa_vllm(m, MAP, whole=True),
    "vLLM, one reader": lambda m: made.medusa_vllm(m, one=True),
    "vLLM, one reader, some tokens": lambda m: made.medusa_vllm(m, MAP, one=True),
}
HYDRA: Mapping[str, Callable[[PreTrainedModel], made.Checkpoint]] = {
    "mlp": made.hydra_heads,
    "mlp, one block": lambda m: made.hydra_heads(m, blocks=1),
    "mlp, safetensors": lambda m: made.hydra_heads(m, file="model.safetensors"),
    "mlp, a layer before": lambda m: made.hydra_heads(m, offset=1),
    "the target's reader": lambda m: made.hydra_heads(m, own=False),
    "the target's reader, some tokens": lambda m: made.hydra_heads(m, own=False, ids=ASCENDING),
    "prefix-mlp": lambda m: made.hydra_heads(m, prefix=True),
    "prefix-mlp, four blocks": lambda m: made.hydra_heads(m, prefix=True, blocks=4),
}
CHAIN = Accuracy(tried=[10] * 3, hits=[[9, 0]] * 3)
CASES = [("medusa", read_medusa, name, make) for name, make in MEDUSA.items()]
CASES += [("hydra", read_hydra, name, make) for name, make in HYDRA.items()]
EVERY = pytest.mark.parametrize(
    ("kind", "read", "make"),
    [pytest.param(kind, read, make, id=f"{kind}: {name}") for kind, read, name, make in CASES],
)


@torch.inference_mode()
def states(model: PreTrainedModel, text: Sequence[int], tap: int) -> Tensor:
    """Return states (T, D) of one plain pass."""
    out = model.model(torch.tensor([list(text)]), use_cache=False, output_hidden_states=True)
    return out.last_hidden_state[0] if tap == FINAL else out.hidden_states[tap][0]


def expected(
    model: PreTrainedModel, checkpoint: made.Checkpoint, tap: int, text: Sequence[int]
) -> Tensor:
    """Return what the heads say of the nodes of TREE, node by node, by the raw tensors."""
    known, embedding = states(model, text, tap), model.get_input_embeddings().weight.detach()
    rows: list[Tensor] = []
    for node in range(len(TREE)):
        if TREE.depths[node] < made.HEADS:
            path = embedding[[TREE.tokens[step] for step in TREE.path(node)]]
            rows.append(checkpoint.says[TREE.depths[node]](known, path))
    return torch.stack(rows)


@EVERY
def test_a_checkpoint_says_what_its_tensors_say(
    kind: str, read: Reader_, make: Callable[[PreTrainedModel], made.Checkpoint], tmp_path: Path
) -> None:
    model = tiny("llama")
    checkpoint = make(model)
    head = read(checkpoint.write(tmp_path / "head"), TargetWeights.of(wrapped(model)))
    session = head.open(TEXT, wrapped(model).open(TEXT))
    (tap,) = head.taps
    for first, last in ((0, 5), (5, 6), (6, 8)):  # what three rounds would settle
        known = states(model, TEXT[:last], tap)[first:]
        follow = [*TEXT[first + 1 : last], TREE.tokens[0]]
        session.learn({tap: known}, follow)
        rows = [session.score(TREE.pruned(depth), start).logits for depth, start in STEPS]
        theirs = expected(model, checkpoint, tap, TEXT[:last])
        torch.testing.assert_close(torch.cat(rows)[: len(theirs)], theirs, atol=1e-4, rtol=1e-4)


STEPS = ((0, 0), (1, 1), (2, 3))  # levels as a policy asks for them: depth, first new node


@EVERY
def test_what_is_written_with_a_checkpoint_is_the_target_s_own_text(
    kind: str, read: Reader_, make: Callable[[PreTrainedModel], made.Checkpoint], tmp_path: Path
) -> None:
    model = tiny("llama")
    target = wrapped(model)
    head = read(make(model).write(tmp_path / "head"), TargetWeights.of(target))
    for nodes in (1, 9):
        written = greedy(target, kind, head, {"nodes": nodes}, rounds=4)
        text = list(TEXT)
        while len(text) < len(written):
            text.append(int(slow_logits(model, text)[-1].argmax()))
        assert written == text


@EVERY
def test_what_a_record_keeps_is_what_the_heads_said(
    kind: str, read: Reader_, make: Callable[[PreTrainedModel], made.Checkpoint], tmp_path: Path
) -> None:
    """Medusa: the likeliest of all heads. Hydra: what is said after a node whose embedding is 0."""
    model = tiny("llama")
    checkpoint = make(model)
    head = read(checkpoint.write(tmp_path / "head"), TargetWeights.of(wrapped(model)))
    session = head.open(TEXT, wrapped(model).open(TEXT))
    (tap,) = head.taps
    known = states(model, TEXT, tap)
    session.learn({tap: known}, [*TEXT[1:], TREE.tokens[0]])
    for depth, start_ in STEPS:
        session.score(TREE.pruned(depth), start_)
    places = {7: 1, 8: 4, 5: 0}  # node of the round -> place among those scored
    extra = session.review({}, places)
    embedding = model.get_input_embeddings().weight.detach()
    if isinstance(extra, LookaheadExtras):
        laws = [say(known, embedding[:1]).softmax(0) for say in checkpoint.says]
        assert_likely(laws, extra.heads, 5)
    else:
        assert isinstance(extra, GroundedExtras)
        assert [hidden.node for hidden in extra.nodes] == [5, 7, 8]
        laws = []
        for place in (0, 1, 4):
            path = embedding[[TREE.tokens[step] for step in TREE.path(place)]].clone()
            path[-1] = 0
            laws.append(checkpoint.says[TREE.depths[place]](known, path).softmax(0))
        assert_likely(laws, extra.nodes, 10)


def assert_likely(laws: Sequence[Tensor], told: Sequence[Glance | Hidden], count: int) -> None:
    for law, each in zip(laws, told, strict=True):
        best = law.topk(min(count, int((law > 0).sum())))
        assert each.token[: len(best.indices)] == best.indices.tolist()
        torch.testing.assert_close(
            torch.tensor(each.q[: len(best.values)]), best.values, atol=1e-4, rtol=1e-3
        )


def test_blind_heads_read_no_embedding() -> None:
    head = toy_heads(5)("hydra")
    assert isinstance(head, HydraHead)
    state, embedded = torch.randn((1, 5)).double(), torch.randn((1, 2, 5)).double()
    _, blind = head.blind().read(1, state, embedded)
    _, nothing = head.read(1, state, torch.zeros_like(embedded))
    _, seen = head.read(1, state, embedded)
    assert torch.equal(blind, nothing)
    assert not torch.allclose(blind, seen)


def test_a_session_refuses_what_it_cannot_know() -> None:
    target = ToyModel(lambda text: [0.2] * 5, 5)
    session = toy_heads(5)("medusa").open((1,), target.open((1,)))
    session.learn({FINAL: torch.rand((1, 5)).double()}, [3])
    assert session.context == session.length + 3  # the root and two tokens
    with pytest.raises(ValueError, match="does not begin with the token that ends the text"):
        session.score(DraftTree((2,)))
    with pytest.raises(ValueError, match="2 heads see 2 tokens ahead"):
        session.score(DraftTree((3, 0, 1), (-1, 0, 1)))


def greedy(
    target: LanguageModel, kind: str, head: Head, config: Mapping[str, object], rounds: int
) -> list[int]:
    models = Models(target, heads=lambda wanted, weights="": head)
    state = start(TEXT, target, get(kind).build(config, models), Law(0), 40, recorder=unrecorded)
    for _ in range(rounds):
        step([state], SeededDice(0), lambda: 0.0)
    return list(state.tokens)


class TestAlignment:
    """A head that knows a deterministic target is accepted whole: any shift by one shows."""

    SIZE = 7
    NEXT = (3, 0, 4, 5, 6, 1, 2)  # x_{t+1} by x_t: 0 3 5 1 | 2 4 6

    def target(self) -> ToyModel:
        return ToyModel(lambda text: [float(t == self.NEXT[text[-1]]) for t in range(7)], 7)

    def ahead(self, steps: int) -> Tensor:
        """Return rows (V, V) that read off a one-hot token the one so many steps on."""
        rows = torch.zeros((7, 7), dtype=torch.float64)
        for token in range(7):
            later = token
            for _ in range(steps):
                later = self.NEXT[later]
            rows[later, token] = 9.0
        return rows

    def accepted(self, kind: str, head: Head) -> list[int]:
        models = Models(self.target(), heads=lambda wanted, weights="": head)
        decoder = get(kind).build({"nodes": 3}, models)
        state = start((0, 3, 5), self.target(), decoder, Law(0), 30, recorder=unrecorded)
        step([state], SeededDice(0), lambda: 0.0)
        made_ = [step([state], SeededDice(0), lambda: 0.0)[0] for _ in range(3)]
        assert all(r.max_depth >= 1 for r in made_)
        return [len(r.outcome.accepted) for r in made_]

    @pytest.mark.parametrize("shift", [-1, 0, 1])
    def test_medusa(self, shift: int) -> None:
        """The toy's state s_n is the law of the root: one-hot there."""
        rows = [self.ahead(1 + head + shift) for head in range(3)]
        vocabulary = DraftVocabulary.whole(7)
        head = medusa(MedusaBlocks(7, 3).double(), rows, vocabulary, accuracy=CHAIN)
        assert self.accepted("medusa", head) == ([3, 3, 3] if shift == 0 else [0, 0, 0])

    @pytest.mark.parametrize("shift", [-1, 0, 1])
    @pytest.mark.parametrize("part", ["state", "root", "parent"])
    def test_hydra(self, part: str, shift: int) -> None:
        """Each head reads one of its inputs; all of them lead to the same token."""
        module = HydraBlocks(7, 3, blocks=1).double()
        readers: list[Reader] = []
        for head, block in enumerate(module.heads):
            place = {"state": 0, "root": 1, "parent": head + 1}[part]
            passing = torch.zeros((7, 7 * (head + 2)), dtype=torch.float64)
            passing[:, 7 * place : 7 * place + 7] = torch.eye(7)
            block[0].res_connection.weight.data = passing
            known = head + 1 if part == "parent" else 1  # tokens that were seen from the root on
            readers.append(Reader(self.ahead(head + 2 - known + shift)))
        embedding = torch.eye(7, dtype=torch.float64)
        whole = DraftVocabulary.whole(7)
        head_ = hydra(module, readers, whole, embedding, accuracy=CHAIN)
        assert self.accepted("hydra", head_) == ([3, 3, 3] if shift == 0 else [0, 0, 0])
