"""Kangaroo's trainer: what the adapter learns from, and that what it learns is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from core.decode import start, step
from core.dice import SeededDice
from core.heads.kangaroo import Kangaroo, read_kangaroo
from core.heads.target import Shape, TargetWeights
from core.laws import Law
from core.models.base import FINAL
from core.models.toy import ToyModel
from core.registry import Models, get
from core.train.data import DTYPE, Features, Text
from core.train.kangaroo import DEPTH, KangarooTask, after, begun, predicting
from core.train.loop import train
from core.train.report import Plan
from core.train.unrolled import rows
from tests.exactness import unrecorded
from tests.toy_heads import ToyKangaroo, shaken

SIZE, EXIT = 11, 2
NEXT = (4, 7, 1, 9, 2, 10, 0, 3, 6, 5, 8)  # x_{t+1} by x_t: one cycle of 11


def law(text: tuple[int, ...]) -> list[float]:
    return [float(token == NEXT[text[-1]]) for token in range(SIZE)]


def target(dtype: torch.dtype = torch.float32, head: Tensor | None = None) -> TargetWeights:
    head = 12 * torch.eye(SIZE) if head is None else head
    shape = Shape(SIZE, 1, 1, 2 * (SIZE // 2), SIZE, 1e-5, 1e4)
    return TargetWeights("toy", shape, 6, SIZE, head.to(dtype), head.to(dtype), lambda x: x)


def text(first: int, length: int, answer: int, seed: int | None = None) -> Text:
    """Return a text of the cycle, whose states are its laws; with a seed, one by chance."""
    if seed is not None:
        chance = torch.Generator().manual_seed(seed)
        tokens = torch.randint(SIZE, (length,), generator=chance)
        states = torch.randn((2, length, SIZE), generator=chance).to(DTYPE)
        return Text(tokens, answer, True, {EXIT: states[0], FINAL: states[1]})
    tokens = [first]
    while len(tokens) < length:
        tokens.append(NEXT[tokens[-1]])
    states = torch.tensor([law((token,)) for token in tokens], dtype=DTYPE)
    return Text(torch.tensor(tokens), answer, True, {EXIT: states, FINAL: states})


def features(texts: list[Text], weights: TargetWeights) -> Features:
    counts = torch.arange(SIZE).flip(0)
    return Features((EXIT, FINAL), texts * 4, texts, weights, counts, frozenset({SIZE - 1}))


def chance() -> tuple[KangarooTask, list[Text]]:
    """Return a shaken adapter with 6 tokens, and texts by chance of several lengths."""
    texts = [text(0, 9 + seed % 4, 2 + seed % 3, seed) for seed in range(7)]
    head = torch.randn((SIZE, SIZE), generator=torch.Generator().manual_seed(1))
    made = KangarooTask(features(texts, target(head=head)), EXIT, 6, 3)
    shaken(made.module, 3, 0.7)
    return made, texts


def outputs(made: KangarooTask, each: Text) -> Tensor:
    """Return the logits (T, k) after every token of one text, run alone."""
    states = each.states[EXIT].float()[None]
    hidden = made.module(states, torch.arange(len(each.tokens))[None])[0]
    return F.linear(hidden, made._weight)


def test_the_loss_is_the_cross_entropy_under_the_target_s_law_at_the_same_place() -> None:
    made, texts = chance()
    losses: list[Tensor] = []
    for each in texts[:3]:
        logits = outputs(made, each)
        for place in range(max(0, each.answer - 1), len(each.tokens) - 1):
            wanted = (made._weight @ each.states[FINAL][place].float()).softmax(0)
            losses.append(-(wanted * logits[place].log_softmax(0)).sum())
    torch.testing.assert_close(made.loss(rows(texts[:3])), torch.stack(losses).mean())


def test_acceptance_is_that_of_chains_from_every_token_of_an_answer() -> None:
    made, texts = chance()
    # tokens that the adapter gets right now and then: its own guesses, but for every third
    for each in texts:
        best = made.vocabulary.ids[outputs(made, each).argmax(-1)]
        kept = torch.arange(len(each.tokens) - 1) % 3 != 0
        each.tokens[1:][kept] = best[:-1][kept]
    right, tried = [0] * DEPTH, [0] * DEPTH
    for each in texts:
        best = made.vocabulary.ids[outputs(made, each).argmax(-1)]
        for root in range(each.answer, len(each.tokens) - 1):
            for depth in range(min(DEPTH, len(each.tokens) - 1 - root)):
                tried[depth] += 1
                if best[root + depth] != each.tokens[root + depth + 1]:
                    break
                right[depth] += 1
    assert made.accepted(texts) == list(zip(right, tried, strict=True))
    assert right[1] > 0


def test_places_are_those_of_the_answer() -> None:
    batch = rows([text(0, 6, 3), text(5, 4, 1)])
    assert predicting(batch).tolist() == [
        [False, False, True, True, True, False],
        [True, True, True, False, False, False],
    ]
    assert after(batch).tolist() == [
        [False, False, False, True, True, True],
        [False, True, True, True, True, True],
    ]


def test_an_adapter_begins_with_every_direction_as_large_as_in_the_last_states() -> None:
    """A direction of the early states that is a thousand times the others does not stay so."""
    texts = [text(0, 11, 3, seed) for seed in range(5)]
    for each in texts:
        cast("dict[int, Tensor]", each.states)[EXIT][:, 2] *= 1000
    adapter = begun(features(texts, target()), EXIT)
    early = torch.cat([each.states[EXIT][3:].float() for each in texts])
    late = torch.cat([each.states[FINAL][3:].float() for each in texts])
    made = adapter.norm.forward(early).detach()
    torch.testing.assert_close(made.square().mean(0), late.square().mean(0), rtol=1e-3, atol=1e-6)


def test_a_trained_adapter_is_accepted_whole(tmp_path: Path) -> None:
    """Any token of the cycle tells the next: an adapter off by one could learn it, and would fail
    in the decoder, which has its own idea of places.
    """
    texts = [text(first, 12 + first % 3, 2 + first % 4) for first in range(SIZE)]
    made = KangarooTask(features(texts, target()), EXIT, SIZE, 4)
    shaken(made.module, 5, 0.5)
    with torch.no_grad():
        before = float(made.loss(rows(texts)))
    report = train(
        made, features(texts, target()), Plan(epochs=30, rate=0.03), tmp_path / "run", every=1e9
    )
    assert report.held_out < 0.1 < before
    assert all(right == tried > 20 for right, tried in report.accepted)
    made.save(tmp_path / "head")
    head = read_kangaroo(tmp_path / "head", target(torch.float64))
    assert (head.exit_layer, len(head.vocabulary)) == (EXIT, SIZE)
    assert accepted(head) == [6, 6, 6]


def accepted(head: Kangaroo) -> list[int]:
    toy = ToyModel(law, SIZE)
    found = ToyKangaroo(head.adapter, head.exit_layer, head.rows, head.vocabulary)
    models = Models(toy, heads=lambda kind, weights="": found)
    decoder = get("kangaroo").build({"threshold": 0}, models)
    state = start((5, 10), toy, decoder, Law(0), 40, recorder=unrecorded)
    step([state], SeededDice(0), lambda: 0.0)
    return [len(step([state], SeededDice(0), lambda: 0.0)[0].outcome.accepted) for _ in range(3)]


@pytest.mark.parametrize("trimmed", [6, SIZE])
def test_what_is_saved_is_the_adapter_in_bfloat16(trimmed: int, tmp_path: Path) -> None:
    texts = [text(first, 12, 3) for first in range(SIZE)]
    made = KangarooTask(features(texts, target()), EXIT, trimmed, 4)
    shaken(made.module, 7)
    made.save(tmp_path)
    head = read_kangaroo(tmp_path, target())
    assert head.exit_layer == EXIT
    assert len(head.vocabulary) == trimmed
    for name, tensor in made.module.state_dict().items():
        assert torch.equal(head.adapter.state_dict()[name], tensor.bfloat16().float())
