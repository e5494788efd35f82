"""Medusa's and Hydra's trainers: what a head learns from, and that it learns it in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from core.decode import start, step
from core.dice import SeededDice
from core.heads.accuracy import read_accuracy
from core.heads.base import Head
from core.heads.hydra_layouts import read_hydra
from core.heads.medusa_layouts import read_medusa
from core.heads.target import Shape, TargetWeights
from core.laws import Law
from core.models.base import FINAL
from core.models.toy import ToyModel
from core.registry import Models, get
from core.train.data import DTYPE, Features, Text
from core.train.hydra import HydraTask
from core.train.lookahead import LookaheadTask, batches, places
from core.train.loop import train
from core.train.medusa import MedusaTask
from core.train.report import Plan
from tests.exactness import unrecorded

SIZE = 11
NEXT = (4, 7, 1, 9, 2, 10, 0, 3, 6, 5, 8)  # x_{t+1} by x_t: one cycle of 11
TASKS = {"medusa": MedusaTask, "hydra": HydraTask}
READERS = {"medusa": read_medusa, "hydra": read_hydra}
EACH = pytest.mark.parametrize("kind", TASKS)


def law(text: tuple[int, ...]) -> list[float]:
    return [float(token == NEXT[text[-1]]) for token in range(SIZE)]


def target(dtype: torch.dtype = torch.float32) -> TargetWeights:
    """Return a target whose state is one-hot at the next token, and whose head says so."""
    head = 12 * torch.eye(SIZE, dtype=dtype)
    embedding = torch.randn((SIZE, SIZE), generator=torch.Generator().manual_seed(0)).to(dtype)
    shape = Shape(SIZE, 1, 1, SIZE, SIZE, 1e-5, 1e4)
    return TargetWeights("toy", shape, 1, SIZE, embedding, head, lambda states: states)


def text(first: int, length: int, answer: int) -> Text:
    tokens = [first]
    while len(tokens) < length:
        tokens.append(NEXT[tokens[-1]])
    states = torch.tensor([law((token,)) for token in tokens], dtype=DTYPE)
    return Text(torch.tensor(tokens), answer, True, {FINAL: states})


def features(taps: tuple[int, ...] = (FINAL,)) -> Features:
    texts = [text(first, 12 + first % 3, 2 + first % 4) for first in range(SIZE)]
    counts = torch.arange(SIZE).flip(0)
    return Features(taps, texts * 4, texts, target(), counts, frozenset({SIZE - 1}))


def task(kind: str, vocabulary: int = SIZE) -> LookaheadTask:
    return TASKS[kind](features(), 3, 1, vocabulary, 4)


def test_rows_are_the_answers_and_what_made_them() -> None:
    batch = places([text(0, 6, 3), text(5, 4, 0)])
    assert batch.tokens.tolist() == [
        *text(0, 6, 3).tokens[3:].tolist(),
        *text(5, 4, 0).tokens[1:].tolist(),
    ]
    assert batch.left.tolist() == [2, 1, 0, 2, 1, 0]
    for row, token in enumerate(batch.tokens.tolist()):
        assert int(batch.states[row].argmax()) == token  # this toy's state knows the next token
    assert batch.seen_by(0).tolist() == [0, 1, 3, 4]
    assert batch.seen_by(1).tolist() == [0, 3]


def test_an_epoch_holds_every_answer_once_in_the_order_of_its_seed() -> None:
    texts = [*features().training, text(3, 5, 4)]  # the last has one token: nothing to guess
    made = [torch.cat([b.tokens for b in batches(texts, 4, seed)]) for seed in (1, 1, 2)]
    assert len(made[0]) == sum(len(t.tokens) - t.answer for t in texts[:-1])
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@EACH
def test_the_loss_is_the_weighted_cross_entropy_at_every_place(kind: str) -> None:
    made = task(kind, 6)
    shaken_ = torch.Generator().manual_seed(3)
    for parameter in made.module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=shaken_)
    texts = features().training[:3]
    ids, weight = made.vocabulary.ids, target().head[made.vocabulary.ids]
    sums = [list[Tensor]() for _ in range(3)]
    for each in texts:
        states = each.states[FINAL].float()
        for t in range(each.answer - 1, len(each.tokens) - 2):
            for head in range(3):
                if t + 2 + head >= len(each.tokens):
                    continue
                between = target().embedding[each.tokens[t + 1 : t + 2 + head]]
                module = made.module
                hidden = (
                    module.heads[head](states[t])
                    if kind == "medusa"
                    else module(head, states[t][None], between[None])[0]
                )
                wanted = (weight @ states[t + 1 + head]).softmax(0)
                sums[head].append(-(wanted * (weight @ hidden).log_softmax(0)).sum())
    means = [torch.stack(parts).mean() for parts in sums]
    expected = sum(0.8**head * mean for head, mean in enumerate(means)) / (1 + 0.8 + 0.64)
    torch.testing.assert_close(made.loss(places(texts)), expected)
    assert len(ids) == 6


@EACH
def test_a_trained_head_is_accepted_whole(kind: str, tmp_path: Path) -> None:
    """The text follows from any of its tokens; a head off by one could learn it, and would fail in
    the decoder, which has its own idea of places.
    """
    made = task(kind)
    with torch.no_grad():
        before = float(made.loss(places(features().training)))
    plan = Plan(epochs=60, rate=0.03, warmup=0.02)
    report = train(made, features(), plan, tmp_path / "run", every=1e9)
    assert report.held_out < 0.2 < before
    assert all(right == tried > 50 for right, tried in report.accepted)
    made.save(tmp_path / "head")
    head = READERS[kind](tmp_path / "head", target(torch.float64))
    measured = read_accuracy(tmp_path / "head", 3)
    assert measured is not None
    assert [row[0] for row in measured.hits] == measured.tried == [t for _, t in report.accepted]
    assert accepted(kind, head) == [3, 3, 3]


def accepted(kind: str, head: Head) -> list[int]:
    toy = ToyModel(law, SIZE)
    decoder = get(kind).build({"nodes": 3}, Models(toy, heads=lambda wanted, weights="": head))
    state = start((5, 10), toy, decoder, Law(0), 30, recorder=unrecorded)
    step([state], SeededDice(0), lambda: 0.0)
    return [len(step([state], SeededDice(0), lambda: 0.0)[0].outcome.accepted) for _ in range(3)]


@EACH
def test_acceptance_counts_what_follows_right_guesses_only(kind: str) -> None:
    """Random heads against a count place by place."""
    made = task(kind, 6)
    chance = torch.Generator().manual_seed(5)
    for parameter in made.module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=chance)
    texts = features().held
    found = made.accepted(texts)
    weight = target().head[made.vocabulary.ids]
    right, tried, hits = [0] * 3, [0] * 3, torch.zeros((3, 6), dtype=torch.long)
    for each in texts:
        one = places([each])
        for row in range(len(one.tokens)):
            sound = True
            for head in range(min(3, int(one.left[row]))):
                hidden = made.hidden(one, head, torch.tensor([row]))
                order = F.linear(hidden, weight)[0].argsort(descending=True)
                ranks = (made.vocabulary.ids[order] == one.tokens[row + 1 + head]).nonzero()
                if len(ranks):
                    hits[head, ranks[0]] += 1
                if sound:
                    tried[head] += 1
                    sound = len(ranks) > 0 and int(ranks[0]) == 0
                    right[head] += sound
    assert found == list(zip(right, tried, strict=True))
    assert made._accuracy is not None
    assert made._accuracy.hits == hits.tolist()


@EACH
def test_nothing_held_out_is_nothing_measured(kind: str, tmp_path: Path) -> None:
    made = task(kind)
    assert made.accepted([]) == [(0, 0)] * 3
    made.save(tmp_path)
    assert read_accuracy(tmp_path, 3) is None
